import { createNotifier, type Notifier } from "../notifier.ts";

/** Wakes subscriptions: immediately after a write of this process, within one poll after a write of another. */
export type Watch = Notifier & {
  /** Starts polling for other processes' writes while there are subscriptions; call this before the first read. */
  readonly begin: () => void;
  readonly end: () => void;
  /** Stops polling, because the database is being closed. */
  readonly stop: () => void;
};

/** `dataVersion` changes exactly when another connection has committed. */
export function createWatch(dataVersion: () => unknown, pollMs: number): Watch {
  const wake = createNotifier();
  let watchers = 0;
  let timer: NodeJS.Timeout | undefined;
  let seen: unknown;

  function poll(): void {
    try {
      const version = dataVersion();
      if (version === seen) return;
      seen = version;
    } catch {
      // The woken reader reads, and gets the error.
    }
    wake.notify();
  }

  return {
    ...wake,
    begin() {
      watchers += 1;
      if (watchers === 1) timer = setInterval(poll, pollMs);
    },
    end() {
      watchers -= 1;
      if (watchers === 0) clearInterval(timer);
    },
    stop() {
      clearInterval(timer);
    },
  };
}
