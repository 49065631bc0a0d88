import { setTimeout as sleep } from "node:timers/promises";
import { Failure, TimeoutFailure } from "./failure.ts";

export type RetryPolicy = {
  /**
   * Waits before another try, longer each time.
   *
   * @throws {unknown} the error itself when it does not pass, or when the patience is at its end.
   */
  readonly wait: (error: unknown) => Promise<void>;
  /** Something went well: the patience is whole again. */
  readonly restore: () => void;
};

export type PatienceOptions = {
  /** How long to go on trying after the last success; for ever where infinite. */
  readonly forMs: number;
  /** Ends a wait early, without an error: whoever waits looks at it. */
  readonly signal?: AbortSignal;
};

/** Tells failures that pass from those that do not, and how long to try again. */
export function createPatience({ forMs, signal }: PatienceOptions): RetryPolicy {
  let since = performance.now();
  let tries = 0;
  let silences = 0;
  return {
    async wait(error) {
      if (!(error instanceof Failure) || error.kind !== "passing") throw error;
      const pauseMs = Math.min(firstPauseMs * 2 ** tries, longestPauseMs);
      if (error instanceof TimeoutFailure) {
        // It took its time already, which says nothing of the time that the way to the server is lost.
        silences += 1;
        since = performance.now();
        if (silences === maxSilences && forMs < Number.POSITIVE_INFINITY) throw error;
      }
      if (performance.now() + pauseMs - since >= forMs) throw error;
      tries += 1;
      await sleep(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    },
    restore() {
      since = performance.now();
      tries = 0;
      silences = 0;
    },
  };
}

/** How often nobody may answer before it is told. */
export const maxSilences = 2;

const firstPauseMs = 10;

/** So long that a cluster without a leader is not overrun, and so short that nobody waits for long once it has one. */
const longestPauseMs = 1_000;
