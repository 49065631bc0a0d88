import { realTime, type Time } from "../time.ts";
import { EsdbFailure, TimeoutFailure } from "./failure.ts";

/** How long one call of the store goes on trying, whatever it has to repeat: one deadline over all. */
export type Patience = {
  /**
   * Waits before another try, longer each time.
   *
   * @throws {unknown} the error itself when it does not pass, or when the time for it is over.
   */
  readonly wait: (error: unknown) => Promise<void>;
  /** Something went well: the time begins anew. */
  readonly restore: () => void;
  /** What is left of the time, for a try that may take as long as this; never less than nothing. */
  readonly leftMs: () => number;
};

export type PatienceOptions = {
  /** How long to go on trying after the last success; for ever where infinite. */
  readonly forMs: number;
  /** How long a server may show less than it did, where `forMs` is longer. */
  readonly behindMs: number;
  /** Ends a wait early, without an error: the waiting caller looks at it. */
  readonly signal?: AbortSignal;
  readonly time?: Time;
};

/** Tells failures that pass from those that do not, and how long to try again. */
export function createPatience({ forMs, behindMs, signal, time = realTime }: PatienceOptions): Patience {
  let since = time.nowMs();
  let behindSince: number | null = null;
  let tries = 0;
  let before: EsdbFailure | null = null;

  /** What is told when the time is over: of a last try that the deadline cut short there is nothing to tell. */
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
      // A server that was away for long may need its time when it is back.
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

/** The same time for a part of the work: its success begins nothing anew. */
export const forPart = (patience: Patience): Patience => ({ ...patience, restore: () => undefined });

const firstPauseMs = 10;

/** So long that a cluster without a leader is not overrun, and so short that nobody waits for long once it has one. */
const longestPauseMs = 1_000;
