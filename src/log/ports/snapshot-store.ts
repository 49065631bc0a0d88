/** What a snapshot was taken of: one version of one projection, over one stream. */
export type SnapshotKey = { readonly stream: string; readonly projection: string; readonly version: number };

/** A saved fold of a stream, up to and including a revision. Only the projection reads `data`. */
export type Snapshot = { readonly revision: number; readonly data: string };

/**
 * Stores snapshots beside the events. All of them are disposable: without one, a reader folds from the first event. A caller who
 * doubts a snapshot may delete them all, even while other processes have conversations open.
 *
 * A store that cannot save or return a snapshot (full, locked, damaged) throws `StoreUnavailableError` or `StoreCorruptedError`. Its
 * readers treat that as a miss: they fold events, and save again when the next snapshot is due.
 */
export interface SnapshotStore {
  /** The newest snapshot at or before a revision. */
  get(key: SnapshotKey, atMost: number): Promise<Snapshot | null>;

  /**
   * Saves a snapshot, and replaces one with the same key and revision. A store that erases saves nothing if the stream has a `ContentErased` or a
   * `LinesErased` after `seen`, because the snapshot may contain what was erased.
   *
   * @param seen - The newest revision of the stream that the caller knew when it read the events; the snapshot's own revision by default.
   */
  put(key: SnapshotKey, snapshot: Snapshot, seen?: number): Promise<void>;

  deleteAll(): Promise<void>;
}
