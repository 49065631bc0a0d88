import { anything, checkFunction, checkText, checkWhole, choiceOf, optionsOf, required } from "../../base/options.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { totalTokens, usageOf } from "../../projections/usage.ts";
import { around, checkWrapped } from "./around.ts";
import { checkLimiter, type RateLimiter, Reservations } from "./reservations.ts";

/** Options of `rateLimit`. */
export type RateLimitOptions = {
  /** A limiter of rate-limiter-flexible, or an object with the same methods. */
  readonly limiter: RateLimiter;
  /** The key under which the limiter counts; by default the provider's scope: its address, account and kind. */
  readonly key?: string;
  /**
   * How many tokens a request reserves, if the limiter counts tokens: a number, or a function of the request. After the answer the limiter
   * gets the difference to what the provider counted. Absent: the limiter counts requests.
   */
  readonly tokens?: number | ((request: LimitedRequest) => number);
  /** What happens to requests while the limiter fails or does not answer: they are sent (`allow`, the default) or refused. */
  readonly whenDown?: "allow" | "refuse";
  /** Called when the limiter begins to fail, with its error. By default turnlog emits a process warning. */
  readonly onDown?: (error: unknown) => void;
  /** How long a limiter may take for one answer; five seconds by default. A limiter that delays requests (`execEvenly`) needs longer. */
  readonly limiterTimeoutMs?: number;
};

/** What `tokens` may depend on. */
export type LimitedRequest = { readonly bodyText: string; readonly settings: Settings };

const limitOptions = optionsOf<RateLimitOptions>({
  limiter: required<RateLimiter>(anything),
  key: (what, given) => checkText(what, given, "the key under which the limiter counts"),
  tokens: (what, given) => (typeof given === "function" ? checkFunction(what, given) : checkWhole(what, given)),
  ...{ whenDown: choiceOf("allow", "refuse"), onDown: checkFunction, limiterTimeoutMs: checkWhole },
});

/**
 * The same provider, which asks a limiter before each request. A refusal has the kind `limit-reached`: nothing was sent, and the engine asks
 * again no sooner than the limiter says, as its `retry` allows; then a router or `fallback` asks another provider.
 *
 * A limiter that is shared, in Redis for example, limits all processes together. A run that is executed again asks no limiter.
 *
 * @example
 * const limiter = new RateLimiterMemory({ points: 60, duration: 60 });
 * const provider = rateLimit(openaiResponses({ model }), { limiter });
 * @throws {TypeError | RangeError} if the provider is not a provider, or an option is unknown or invalid.
 */
export function rateLimit<Given extends Provider>(provider: Given, options: RateLimitOptions): Given {
  checkWrapped("rateLimit", provider);
  limitOptions.check("rateLimit", options);
  const { limiter, key = provider.scope, tokens, whenDown = "allow", onDown, limiterTimeoutMs = 5_000 } = options;
  checkLimiter("rateLimit: limiter", limiter, { countsTokens: tokens !== undefined });
  const reservations = new Reservations(limiter, { key, timeoutMs: limiterTimeoutMs, onDown });
  async function infer(request: InferenceRequest): Promise<InferenceResponse> {
    const reserved = reservedFor(tokens, request);
    const asked = await reservations.reserve(reserved, request.signal);
    if (asked.how === "refused") throw limitReached(provider.name, reserved, asked);
    if (asked.how === "aborted") throw abandoned();
    if (asked.how === "down" && whenDown === "refuse") throw limiterDown(provider.name);
    const isReserved = asked.how === "reserved";
    let streamed = 0;
    try {
      const answer = await provider.infer({
        ...request,
        onDelta: (delta) => {
          if (delta.type === "usage") streamed = totalTokens(delta.usage);
          request.onDelta(delta);
        },
      });
      if (isReserved && tokens !== undefined)
        await reservations.correct(reserved, tokensOf(provider, request, answer) || streamed || reserved);
      return answer;
    } catch (error) {
      // A request that the server did not act on used nothing. Of an unknown outcome only a greater count is known.
      const used = error instanceof ProviderError && error.outcome === "rejected" ? 0 : Math.max(reserved, streamed);
      if (isReserved && tokens !== undefined) await reservations.correct(reserved, used);
      throw error;
    }
  }
  return around(provider, { infer });
}

/** @throws {ProviderError} if the caller's function gives no whole number: nothing was sent. */
function reservedFor(tokens: RateLimitOptions["tokens"], { bodyText, settings }: InferenceRequest): number {
  if (tokens === undefined) return 1;
  if (typeof tokens === "number") return tokens;
  try {
    return checkWhole("rateLimit: the result of tokens", tokens({ bodyText, settings }));
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : "rateLimit: tokens failed";
    throw new ProviderError(message, { kind: "provider-failed", outcome: "rejected", shouldRetry: false, cause });
  }
}

/** The tokens of an answer as its provider counted them; 0 if it did not, or the answer cannot be read. */
function tokensOf(
  { codec, capabilities }: Provider,
  { settings }: InferenceRequest,
  answer: InferenceResponse,
): number {
  try {
    const { usage } = codec.readAnswer(answer.response, { inferenceId: "inf_limited", settings, capabilities });
    return totalTokens({ ...usageOf(undefined), ...usage });
  } catch {
    return 0;
  }
}

function limitReached(
  name: string,
  reserved: number,
  { retryAfterMs, isNever }: { readonly retryAfterMs: number | null; readonly isNever: boolean },
): ProviderError {
  const why = isNever
    ? `the request needs ${reserved} points, more than the limiter ever gives`
    : `the limiter has fewer than ${reserved} points left`;
  const again = retryAfterMs === null ? "" : `; there are more in ${retryAfterMs} ms`;
  return new ProviderError(`the rate limit of ${name} is reached: ${why}; nothing was sent${again}`, {
    ...{ kind: "limit-reached", outcome: "rejected", retryAfterMs, shouldRetry: !isNever && retryAfterMs !== null },
  });
}

const limiterDown = (name: string): ProviderError =>
  new ProviderError(`the rate limiter of ${name} does not answer; nothing was sent`, {
    ...{ kind: "limiter-down", outcome: "rejected", shouldRetry: true },
  });

const abandoned = (): ProviderError =>
  new ProviderError("the request was aborted before it was sent", { kind: "aborted", outcome: "rejected" });
