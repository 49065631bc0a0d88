import { storeError } from "./errors.ts";
import { patiently } from "./patience.ts";

/** Does work on a database: refuses where it may not be used, waits for other processes' locks, and translates errors. */
export type Guarded = <T>(work: () => T) => Promise<T>;

export type GuardedOptions = {
  readonly path: string;
  /** How long the work waits for another process's lock. */
  readonly busyTimeoutMs: number;
  readonly refuseIfClosed: () => void;
  /** Called after the work; what it throws stands for what came of the work. */
  readonly confirm?: () => void;
};

export function createGuarded(options: GuardedOptions): Guarded {
  const { path, busyTimeoutMs, refuseIfClosed, confirm = () => undefined } = options;
  return async (work) => {
    try {
      return await patiently(busyTimeoutMs, () => {
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
