import { kindOf, optionsOf, type ValueCheck } from "../../base/options.ts";

/** A timer that is set for longer ends at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * While a run waits for something it writes nothing, and an owner that is silent for too long loses the run (rule: Run ownership).
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

/** How often a failed request is sent again. */
export type RetryPolicy = {
  /** How often one step is sent again where the server provably did not act on it; 2 when absent, 0 for never. */
  readonly maxRetries: number;
  /**
   * How often one step is sent again where the server may have acted on it: a 500, 502 or 504, a connection that broke, a stream that
   * was cut off. What it did then may be paid for twice. 0 when absent, for never.
   */
  readonly unknownOutcome: number;
  /** The longest wait before that, in milliseconds: a server that asks for a longer one fails the step at once. A minute. */
  readonly maxDelayMs: number;
};

const retriesLimit = 100;

const retries: ValueCheck<number> = (what, given) => {
  if (typeof given === "number" && Number.isInteger(given) && given >= 0 && given <= retriesLimit) return given;
  throw new RangeError(`${what} is ${String(given)}: give a whole number from 0 to ${retriesLimit}`);
};

const retryOptions = optionsOf<RetryPolicy>({
  ...{ maxRetries: retries, unknownOutcome: retries },
  maxDelayMs(what, given) {
    if (Number(given) >= 0) return Number(given);
    throw new RangeError(`${what} is ${String(given)}: give milliseconds`);
  },
});

/**
 * The policy with its defaults.
 *
 * @throws {RangeError} for numbers that are none, and for a wait after which others would have taken the run over.
 */
export function retryPolicy(given: Partial<RetryPolicy> = {}, takeoverAfterMs: number): RetryPolicy {
  retryOptions.check("createEngine's retry", given, "retry.");
  const { maxRetries = 2, unknownOutcome = 0, maxDelayMs = Math.min(60_000, takeoverAfterMs) } = given;
  if (maxDelayMs > 0) checkTimeLimit("a wait before a request is sent again", maxDelayMs, takeoverAfterMs);
  return { maxRetries, unknownOutcome, maxDelayMs };
}
