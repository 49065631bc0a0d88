/** What a snapshot is of: one projection, in one version of its meaning, over one stream. */
export type SnapshotKey = { readonly stream: string; readonly projection: string; readonly version: number };

/** A saved fold of a stream up to and with a revision; `data` is the projection's own text. */
export type Snapshot = { readonly revision: number; readonly data: string };

/**
 * Where saved folds live, beside the events. All of it is disposable: a reader that finds nothing folds from the start,
 * and a caller who doubts a snapshot deletes them all, whoever has conversations open.
 *
 * A store that cannot keep or give one (full, locked, damaged) throws `StoreUnavailableError` or `StoreCorruptedError`. Its readers
 * take that for a miss: they fold events, and try again to keep a snapshot when the next one is due.
 */
export interface SnapshotStore {
  /** The newest snapshot at or before a revision. */
  get(key: SnapshotKey, atMost: number): Promise<Snapshot | null>;

  /** Keeps a snapshot; one of the same key and revision is replaced. */
  put(key: SnapshotKey, snapshot: Snapshot): Promise<void>;

  deleteAll(): Promise<void>;
}
