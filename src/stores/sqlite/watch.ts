import { createNotifier, type Notifier } from "../notifier.ts";

/** Wakes subscriptions: at once after a write of this process, within a poll after one of another. */
export type Watch = Notifier & {
  /** Begins to look for other processes' writes, for as long as somebody watches; call before the first read. */
  readonly begin: () => void;
  readonly end: () => void;
  /** Stops all watching: the database is being closed. */
  readonly stop: () => void;
};

/** `dataVersion` changes when another connection has committed, and only then. */
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
      // A reader who wakes reads, and is told why that cannot be.
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
