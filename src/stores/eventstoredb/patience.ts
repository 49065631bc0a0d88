import { realTime, type Time } from "../time.ts";
import { EsdbFailure, TimeoutFailure } from "./failure.ts";

/** How long one call of the store keeps trying: one deadline for everything that it repeats. */
export type Patience = {
  /**
   * Waits before another try, longer each time.
   *
   * @throws {unknown} the error itself if it is permanent, or if the time is over.
   */
  readonly wait: (error: unknown) => Promise<void>;
  /** A try succeeded: the time starts again. */
  readonly restore: () => void;
  /** The remaining time, as a limit for one try; never negative. */
  readonly leftMs: () => number;
};

export type PatienceOptions = {
  /** How long to keep trying after the last success; may be infinite. */
  readonly forMs: number;
  /** How long a server may show less than it did, if `forMs` is longer. */
  readonly behindMs: number;
  /** Ends a wait early, without an error: the caller checks the signal. */
  readonly signal?: AbortSignal;
  readonly time?: Time;
};

/** Distinguishes temporary failures from permanent ones, and decides how long to try again. */
export function createPatience({ forMs, behindMs, signal, time = realTime }: PatienceOptions): Patience {
  let since = time.nowMs();
  let behindSince: number | null = null;
  let tries = 0;
  let before: EsdbFailure | null = null;

  /** The failure to report when the time is over: the one before, if the deadline cut the last try short. */
  const telling = (failure: EsdbFailure): EsdbFailure =>
    failure instanceof TimeoutFailure && failure.limitMs < forMs / 2 ? (before ?? failure) : failure;

  return {
    async wait(failure) {
      if (!(failure instanceof EsdbFailure) || !(failure.kind === "passing" || failure.kind === "behind"))
        throw failure;
      const error = telling(failure);
      before = error;
      const now = time.nowMs();
      const pauseMs = Math.min(firstPauseMs * 2 ** tries, longestPauseMs);
      // A server that was unreachable for long may need this time once it is back.
      behindSince = error.kind === "behind" ? (behindSince ?? now) : null;
      const isOver = now + pauseMs - since >= forMs;
      if (isOver || (behindSince !== null && now + pauseMs - behindSince >= behindMs)) throw error;
      tries += 1;
      await time.wait(pauseMs, signal);
    },
    restore() {
      since = time.nowMs();
      behindSince = null;
      before = null;
      tries = 0;
    },
    leftMs: () => Math.max(0, since + forMs - time.nowMs()),
  };
}

/** The same time for a part of the work, whose success does not restart it. */
export const forPart = (patience: Patience): Patience => ({ ...patience, restore: () => undefined });

const firstPauseMs = 10;

/** Long enough not to overload a cluster without a leader, and short enough to notice a new leader soon. */
const longestPauseMs = 1_000;
