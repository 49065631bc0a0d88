import { realTime, type Time } from "../time.ts";
import { isLocked, storeError } from "./errors.ts";

/** Does work on a database: rejects it if the database must not be used, waits for other processes' locks, and translates errors. */
export type Guarded = <T>(work: () => T) => Promise<T>;

export type GuardedOptions = {
  readonly path: string;
  /** How long the work waits for another process's lock. */
  readonly deadlineMs: number;
  readonly refuseIfClosed: () => void;
  /** Called after the work. If it throws, its error replaces the result. */
  readonly confirm?: () => void;
};

export function createGuarded(options: GuardedOptions): Guarded {
  const { path, deadlineMs, refuseIfClosed, confirm = () => undefined } = options;
  return async (work) => {
    try {
      return await patiently(deadlineMs, () => {
        refuseIfClosed();
        try {
          return work();
        } finally {
          confirm();
        }
      });
    } catch (error) {
      throw storeError(error, path);
    }
  };
}

/** How long a call of SQLite blocks on another process's lock, and blocks the event loop. */
export const standStillMs = 5;

const pauseMs = 20;

/**
 * Does work that another process's lock may prevent, and tries again until the time is over. The event loop runs between two
 * tries, so the state may have changed by then. Without a lock in the way, the work is done synchronously.
 */
export function patiently<T>(timeoutMs: number, work: () => T, time: Time = realTime): T | Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!isLocked(error) || timeoutMs <= 0) throw error;
    return tryAgain(time.nowMs() + timeoutMs, work, time);
  }
}

/** Repeats work that failed because another process holds the lock, until it succeeds or the clock reaches `until`. */
export async function tryAgain<T>(until: number, work: () => T, time: Time): Promise<T> {
  for (;;) {
    await time.wait(Math.min(pauseMs, Math.max(0, until - time.nowMs())));
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || time.nowMs() >= until) throw error;
    }
  }
}
