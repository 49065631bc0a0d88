import { setTimeout as sleep } from "node:timers/promises";

/** A monotonic clock, independent of the time of day, and waits measured by it. */
export type Time = {
  readonly nowMs: () => number;
  /** An abort ends the wait early, without an error. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
};

export const realTime: Time = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
};

/** The same time, with waits that do not keep the process alive. */
export const backgroundTime: Time = {
  ...realTime,
  wait: (ms, signal) =>
    sleep(ms, undefined, signal === undefined ? { ref: false } : { signal, ref: false }).catch(() => undefined),
};
