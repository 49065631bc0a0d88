import { kindOf, optionsOf, type ValueCheck } from "../../base/options.ts";

/** A timer that is set for longer fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * Checks a time limit. A waiting run writes nothing, and an owner that is silent for too long loses its run (rule: Run ownership).
 *
 * @throws {RangeError} if the limit is longer than `takeoverAfterMs`, or not positive.
 */
export function checkTimeLimit(what: string, timeoutMs: number, takeoverAfterMs: number): void {
  if (typeof timeoutMs !== "number")
    throw new RangeError(`the limit of ${what} is ${kindOf(timeoutMs)}: give milliseconds`);
  if (timeoutMs > takeoverAfterMs) {
    const limit = `${timeoutMs} ms, longer than takeoverAfterMs (${takeoverAfterMs})`;
    throw new RangeError(`the limit of ${what} is ${limit}: other processes would take over its run`);
  }
  if (timeoutMs >= 1 && timeoutMs <= maxTimerMs) return;
  throw new RangeError(`the limit of ${what} is ${timeoutMs} ms: give 1 to ${maxTimerMs} ms`);
}

/** How often the engine retries a failed request. */
export type RetryPolicy = {
  /** Retries of one step if the server provably did not act on the request; 2 by default, 0 for never. */
  readonly maxRetries: number;
  /**
   * Retries of one step if the server may have acted on the request: a 500, 502 or 504, a broken connection, a stream that was cut
   * off. You may pay for the work twice. 0 (never) by default.
   */
  readonly unknownOutcome: number;
  /**
   * The longest wait before a retry, in milliseconds; one minute by default. If a server asks for a longer wait, the step fails at
   * once.
   */
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
 * @throws {RangeError} if a number is invalid, or a wait is so long that other processes would take the run over.
 */
export function retryPolicy(given: Partial<RetryPolicy> = {}, takeoverAfterMs: number): RetryPolicy {
  retryOptions.check("createEngine's retry", given, "retry.");
  const { maxRetries = 2, unknownOutcome = 0, maxDelayMs = Math.min(60_000, takeoverAfterMs) } = given;
  if (maxDelayMs > 0) checkTimeLimit("a wait before a request is sent again", maxDelayMs, takeoverAfterMs);
  return { maxRetries, unknownOutcome, maxDelayMs };
}
