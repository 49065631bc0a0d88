import { innerSignal } from "../../base/abort.ts";
import { maxTimerMs } from "./limits.ts";
import type { Provider } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/** One call of a provider. */
export type ProviderCall = {
  /** Aborts when the caller gives up, and at the deadline. */
  readonly signal: AbortSignal;
  /** Whether the engine still waits for it: what the provider reports afterwards is dropped. */
  readonly isOpen: () => boolean;
};

type CallLimits = { readonly signal: AbortSignal; readonly deadlineMs: number };

/** How long the engine waits for an aborted call to end. */
const graceMs = 5_000;

/** A provider that enforces its `timeoutMs` knows more of what came than the engine, so the engine lets it time out first. */
const headStartMs = 1_000;

/** When the engine ends a provider call that has not ended. */
export function deadlineOf({ timeoutMs }: Provider, { takeoverAfterMs }: { readonly takeoverAfterMs: number }): number {
  if (timeoutMs !== undefined) return timeoutMs + headStartMs;
  return Math.max(takeoverAfterMs - 60_000, takeoverAfterMs / 2);
}

/**
 * Calls a provider, and returns even if the provider heeds neither its signal nor a deadline: a call that did not end within `graceMs` of
 * its abort is abandoned, and its outcome is unknown.
 *
 * @throws {ProviderError} `timeout` after the deadline; `aborted` if the caller gave up and the call did not end.
 */
export async function callProvider<T>(
  { signal: caller, deadlineMs }: CallLimits,
  work: (call: ProviderCall) => Promise<T> | T,
): Promise<T> {
  const { signal, end } = innerSignal(caller);
  const state = { isOpen: true, isLate: false };
  const left = Promise.withResolvers<never>();
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, then: () => void): void => {
    timers.push(setTimeout(then, Math.min(ms, maxTimerMs)));
  };
  const leaveSoon = (): void => {
    if (state.isOpen)
      after(graceMs, () => left.reject(state.isLate ? tooLate(deadlineMs) : abortedCall(signal.reason)));
  };
  if (signal.aborted) leaveSoon();
  else signal.addEventListener("abort", leaveSoon, { once: true });
  after(deadlineMs, () => {
    if (signal.aborted) return;
    state.isLate = true;
    end(new Error(`no answer within ${deadlineMs} ms`));
  });
  try {
    // A user's provider may throw before it returns a promise.
    const working = (async () => work({ signal, isOpen: () => state.isOpen }))();
    return await Promise.race([working, left.promise]);
  } catch (error) {
    throw state.isLate ? tooLate(deadlineMs, error) : error;
  } finally {
    state.isOpen = false;
    for (const timer of timers) clearTimeout(timer);
    left.promise.catch(() => undefined);
    end(new Error("the call has ended"));
  }
}

/** Keeps what the provider reported of a call that the deadline ended. */
function tooLate(deadlineMs: number, cause?: unknown): ProviderError {
  if (cause instanceof ProviderError && cause.kind !== "aborted") return cause;
  const partial = cause instanceof ProviderError ? cause.partial : [];
  const message = `the provider did not answer within ${deadlineMs} ms; whether the server acted is unknown`;
  return new ProviderError(message, { kind: "timeout", outcome: "unknown", partial, cause });
}

const abortedCall = (cause: unknown): ProviderError =>
  new ProviderError(`the request was aborted, and the provider did not end it within ${graceMs} ms`, {
    kind: "aborted",
    outcome: "unknown",
    cause,
  });
