import { CircuitState, ConsecutiveBreaker, circuitBreaker as createBreaker, handleWhen } from "cockatiel";
import { checkFunction, checkWhole, optionsOf } from "../../base/options.ts";
import { maxTimerMs } from "../../engine/ports/limits.ts";
import type { InferenceRequest, Provider } from "../../engine/ports/provider.ts";
import { callProvider } from "../../engine/ports/provider-call.ts";
import { type FailureKind, ProviderError } from "../../engine/ports/provider-error.ts";
import { around, checkWrapped, tell } from "./around.ts";

/** Options of `circuitBreaker`. */
export type CircuitBreakerOptions = {
  /** How many requests in a row have to fail before the circuit opens; 5 by default. */
  readonly failures?: number;
  /** How long an open circuit refuses requests before it lets one through as a test; thirty seconds by default. */
  readonly openMs?: number;
  /**
   * Whether a failure shows that the endpoint is in trouble. By default: a failed connection, a server's error (5xx), an answer that came
   * too late, paused too long or broke off, and an error that is not a `ProviderError`. Other failures count neither as that nor as a success.
   */
  readonly isFailure?: (error: unknown) => boolean;
  /** Called when the circuit changes its state. */
  readonly onState?: (state: CircuitStateName) => void;
};

/** `closed` sends every request, `open` sends none, `half-open` waits for the outcome of one test request. */
export type CircuitStateName = "closed" | "open" | "half-open";

const breakerOptions = optionsOf<CircuitBreakerOptions>({
  ...{ failures: checkWhole, openMs: checkWhole, isFailure: checkFunction, onState: checkFunction },
});

/**
 * The same provider, which stops asking an endpoint that keeps failing: after some failures in a row it refuses requests at once, for some
 * time, and then lets one through to see whether the endpoint has recovered. A refusal has the kind `circuit-open`: nothing was sent, the
 * engine does not wait for it, and a router or `fallback` asks another provider.
 *
 * The state belongs to the wrapped provider in this process. A run that is executed again takes refusals from its log.
 *
 * @example
 * const provider = circuitBreaker(openaiResponses({ model }), { failures: 3, openMs: 60_000 });
 * @throws {TypeError | RangeError} if the provider is not a provider, or an option is unknown or invalid.
 */
export function circuitBreaker<Given extends Provider>(provider: Given, options: CircuitBreakerOptions = {}): Given {
  checkWrapped("circuitBreaker", provider);
  breakerOptions.check("circuitBreaker", options);
  const { failures = 5, openMs = 30_000, isFailure = isOutage, onState } = options;
  let openedAt = 0;
  const counts = (error: unknown): boolean => {
    if (error instanceof Abandoned) return policy.state === CircuitState.HalfOpen;
    return isFailure(error);
  };
  const policy = createBreaker(handleWhen(counts), {
    halfOpenAfter: openMs,
    breaker: new ConsecutiveBreaker(failures),
  });
  policy.onStateChange((state) => {
    if (state === CircuitState.Open) openedAt = Date.now();
    tell("circuitBreaker: onState", onState, nameOf(state));
  });
  async function infer(request: InferenceRequest) {
    const { state } = policy;
    const leftMs = openedAt + openMs - Date.now();
    // Cockatiel has further requests wait for the test request, which may take minutes.
    if (state === CircuitState.HalfOpen || (state === CircuitState.Open && leftMs > 0))
      throw refusal(provider.name, { failures, leftMs: Math.max(0, leftMs) });
    try {
      return await policy.execute(() => asked(provider, request));
    } catch (error) {
      throw error instanceof Abandoned ? error.cause : error;
    }
  }
  return around(provider, { infer });
}

/** The caller gave up before the answer came, which says nothing about the endpoint. A test request that ends like this is repeated later. */
class Abandoned extends Error {
  override readonly name = "Abandoned";
}

/** A call that ignores its signal ends here soon after it, so that no circuit waits for its test request for ever. */
async function asked(provider: Provider, request: InferenceRequest) {
  try {
    const limits = { signal: request.signal, deadlineMs: maxTimerMs };
    return await callProvider(limits, () => provider.infer(request));
  } catch (error) {
    throw request.signal.aborted && !isTimeout(error) ? new Abandoned("the caller gave up", { cause: error }) : error;
  }
}

/** The engine aborts a call at its deadline, too. A provider that reports that as a timeout knows better than its signal. */
const isTimeout = (error: unknown): boolean => error instanceof ProviderError && error.kind === "timeout";

const outages: ReadonlySet<FailureKind> = new Set<FailureKind>([
  ...(["connection", "server-error", "timeout", "answer-stalled", "stream-cut", "provider-failed"] as const),
]);

const isOutage = (error: unknown): boolean =>
  !(error instanceof ProviderError) || outages.has(error.kind) || (error.status !== null && error.status >= 500);

const nameOf = (state: CircuitState): CircuitStateName =>
  state === CircuitState.Closed ? "closed" : state === CircuitState.Open ? "open" : "half-open";

// Without the text of the last failure: it may repeat what another conversation sent, and this error is recorded.
function refusal(name: string, { failures, leftMs }: { readonly failures: number; readonly leftMs: number }) {
  const again = leftMs > 0 ? `one is tried again in ${leftMs} ms` : "one is under way as a test";
  return new ProviderError(
    `the circuit of ${name} is open, because ${failures} requests in a row failed; nothing was sent; ${again}`,
    { kind: "circuit-open", outcome: "rejected", retryAfterMs: leftMs, shouldRetry: false },
  );
}
