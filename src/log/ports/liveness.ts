/**
 * Tells whether the processes live that own runs of a store. A process holds a *lease* from its first run until it closes the store or
 * ends, however it ends, and the log names the lease beside the run.
 *
 * - A lease lives as long as the store object that holds it: not a moment less, whatever its process does meanwhile, and not after
 *   `close`.
 * - How soon others see that a lease ended without `close` is the store's: SQLite knows at once, a reader of a server once it has
 *   itself waited `deadAfterMs` for a sign of the holder. After `close` everyone knows at once.
 * - No clock is asked, neither the holder's nor a server's. While a server cannot be reached no lease on it ends.
 * - Leases belong to one store object: two threads, or two objects of one process, have two.
 */
export interface Liveness {
  /**
   * Holds the lease of this store object, and gives its id; the same one every time. Null where none can be held: then the log names
   * no lease, and others judge the owner by its process.
   */
  hold(): Promise<string | null>;

  /**
   * Whether the holder of a lease lives. True also while it cannot be known yet: a run that is taken from a living owner is paid for
   * twice. A lease that was never held, and one of a holder that is gone, are not alive.
   */
  isAlive(leaseId: string): Promise<boolean>;

  /** For how long a reader waits at least before it takes a holder for dead that gives no sign; absent where `isAlive` always knows. */
  readonly deadAfterMs?: number;

  /**
   * As `isAlive`, once it is known: waits for a sign of the holder, up to `deadAfterMs`. Absent where `isAlive` always knows.
   *
   * @throws the signal's reason when it aborts.
   */
  whenKnown?(leaseId: string, signal?: AbortSignal): Promise<boolean>;
}
