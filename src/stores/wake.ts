/** Lets readers of a store sleep until something was written. */
export type Wake = {
  /** Wakes all sleepers. */
  readonly ring: () => void;
  /** Resolves at the next ring or when the signal aborts. Whoever asks has looked for news in the same turn. */
  readonly sleep: (signal?: AbortSignal) => Promise<void>;
};

export function createWake(): Wake {
  const sleepers = new Set<() => void>();
  return {
    ring() {
      for (const wake of [...sleepers]) wake();
    },
    sleep(signal) {
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
