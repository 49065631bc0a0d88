import { checkOptions } from "../../base/options.ts";
import { checkTimeLimit } from "./time-limit.ts";

/** What becomes of a request that the server provably did not act on. */
export type RetryPolicy = {
  /** How often one step is sent again; 2 when absent, 0 for never. */
  readonly maxRetries: number;
  /** The longest wait before that, in milliseconds: a server that asks for a longer one fails the step at once. A minute. */
  readonly maxDelayMs: number;
};

const retriesLimit = 100;

/**
 * The policy with its defaults.
 *
 * @throws {RangeError} for numbers that are none, and for a wait after which others would have taken the run over.
 */
export function retryPolicy(given: Partial<RetryPolicy> = {}, takeoverAfterMs: number): RetryPolicy {
  checkOptions("createEngine's retry", given, { maxRetries: true, maxDelayMs: true });
  const { maxRetries = 2, maxDelayMs = Math.min(60_000, takeoverAfterMs) } = given;
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > retriesLimit) {
    throw new RangeError(`retry.maxRetries is ${maxRetries}: give a whole number from 0 to ${retriesLimit}`);
  }
  if (!(maxDelayMs >= 0)) throw new RangeError(`retry.maxDelayMs is ${maxDelayMs}: give milliseconds`);
  if (maxDelayMs > 0) checkTimeLimit("a wait before a request is sent again", maxDelayMs, takeoverAfterMs);
  return { maxRetries, maxDelayMs };
}
