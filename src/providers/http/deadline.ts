import { innerSignal } from "../../base/abort.ts";
import type { JsonObject } from "../../base/json.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";

/** Ends the wait for an answer: when the caller aborts, or the time is up. */
export type Deadline = {
  /** Aborts in both cases. */
  readonly signal: AbortSignal;
  readonly caller: AbortSignal;
};

/** The deadline of one request. Disposing of it removes its timer and its listener on the caller's signal. */
export function createDeadline(caller: AbortSignal, timeoutMs: number): Deadline & Disposable {
  const { signal, end } = innerSignal(caller);
  const timer = setTimeout(() => end(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs).unref();
  return {
    caller,
    signal,
    [Symbol.dispose](): void {
      clearTimeout(timer);
      end(new Error("the request has ended"));
    },
  };
}

/** The error of an answer whose deadline has passed; null before. */
export function interruption({ signal, caller }: Deadline, partial: readonly JsonObject[] = []): ProviderError | null {
  if (!signal.aborted) return null;
  const cause: unknown = signal.reason;
  return caller.aborted
    ? new ProviderError("the request was aborted", { kind: "aborted", outcome: "unknown", partial, cause })
    : new ProviderError("the provider did not answer in time", {
        kind: "connection",
        outcome: "unknown",
        partial,
        cause,
      });
}

/** The error of a request that was cancelled before it was sent. */
export function abortedBeforeSending(signal: AbortSignal): ProviderError {
  const text = "the request was aborted before it was sent";
  return new ProviderError(text, { kind: "aborted", outcome: "rejected", cause: signal.reason });
}
