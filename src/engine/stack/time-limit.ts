import { kindOf } from "../../base/options.ts";

/** A timer that is set for longer ends at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * While a run waits for something it writes nothing, and whoever is silent for too long loses the run (MODEL 8).
 *
 * @throws {RangeError} when something may take longer than that, or no time at all.
 */
export function checkTimeLimit(what: string, timeoutMs: number, takeoverAfterMs: number): void {
  if (typeof timeoutMs !== "number") throw new RangeError(`${what} may take ${kindOf(timeoutMs)}: give milliseconds`);
  if (timeoutMs > takeoverAfterMs) {
    const limit = `${timeoutMs} ms, longer than takeoverAfterMs (${takeoverAfterMs})`;
    throw new RangeError(`${what} may take ${limit}: others would take its run over`);
  }
  if (timeoutMs >= 1 && timeoutMs <= maxTimerMs) return;
  throw new RangeError(`${what} may take ${timeoutMs} ms: a limit is from 1 to ${maxTimerMs} ms`);
}
