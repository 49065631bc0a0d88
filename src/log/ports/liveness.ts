/**
 * Tells whether the owners of runs are alive. A process holds a *lease* from its first run until it closes the store or ends, for
 * whatever reason. The log records the lease with the run.
 *
 * - A lease lives exactly as long as the store object that holds it: through anything its process does meanwhile, but not after
 *   `close`.
 * - How soon others see that a lease ended without `close` depends on the store. SQLite knows at once; a reader of a server knows once
 *   it has itself waited `deadAfterMs` for a sign of the holder. After `close` every process knows at once.
 * - No clock is compared, neither the holder's nor a server's. While a server cannot be reached, no lease on it ends.
 * - A lease belongs to one store object: two threads, or two objects of one process, hold two.
 */
export interface Liveness {
  /**
   * Acquires the lease of this store object and returns its id, always the same one. Null if it cannot hold one: the log then records
   * no lease, and other processes check the owner's process.
   */
  hold(): Promise<string | null>;

  /**
   * Whether the holder of a lease is alive. Also true while this is not known yet, because taking over a run from a living owner pays
   * for it twice. False for a lease that was never held, and for one whose holder is gone.
   */
  isAlive(leaseId: string): Promise<boolean>;

  /** How long a reader waits, at least, before it considers a silent holder dead. Absent if `isAlive` always knows. */
  readonly deadAfterMs?: number;

  /**
   * As `isAlive`, but waits for a sign of the holder, up to `deadAfterMs`, until the answer is known. Absent if `isAlive` always knows.
   *
   * @throws the signal's reason if it aborts.
   */
  whenKnown?(leaseId: string, signal?: AbortSignal): Promise<boolean>;
}
