import type { JsonObject } from "../base/json.ts";
import { ProviderError } from "../engine/ports/provider.ts";

/** How long an answer is waited for: until the caller aborts, or the time is up. */
export type Deadline = {
  /** Aborts for both reasons. */
  readonly signal: AbortSignal;
  readonly caller: AbortSignal;
};

export function createDeadline(caller: AbortSignal, timeoutMs: number): Deadline {
  return { caller, signal: AbortSignal.any([caller, AbortSignal.timeout(timeoutMs)]) };
}

/** The error of an answer that was waited for no longer; null while the deadline stands. */
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
