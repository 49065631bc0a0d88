/** Lets readers of a store sleep until something was written. */
export type Notifier = {
  /** Wakes all sleepers. */
  readonly notify: () => void;
  /** Resolves at the next `notify` or when the signal aborts. The caller must have checked for news in the same turn. */
  readonly wait: (signal?: AbortSignal) => Promise<void>;
};

export function createNotifier(): Notifier {
  const sleepers = new Set<() => void>();
  return {
    notify() {
      if (sleepers.size > 0) for (const wake of [...sleepers]) wake();
    },
    wait(signal) {
      return new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        sleepers.add(wake);
        signal?.addEventListener("abort", wake);
        if (signal?.aborted === true) wake();
      });
    },
  };
}
