import { realTime, type Time } from "../time.ts";
import { isLocked, storeError } from "./errors.ts";

/** Does work on a database: refuses where it may not be used, waits for other processes' locks, and translates errors. */
export type Guarded = <T>(work: () => T) => Promise<T>;

export type GuardedOptions = {
  readonly path: string;
  /** How long the work waits for another process's lock. */
  readonly deadlineMs: number;
  readonly refuseIfClosed: () => void;
  /** Called after the work; what it throws stands for what came of the work. */
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

/** How long a call of SQLite stands still for another process's lock, and the event loop with it. */
export const standStillMs = 5;

const pauseMs = 20;

/**
 * Does work that another process's lock may keep from being done, and tries again until the time is over. The event loop
 * turns between two tries, so what the work finds there may have changed. What nothing is in the way of is done at once.
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
