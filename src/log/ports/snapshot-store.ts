/** What a keyframe is of: one projection, in one version of its meaning, over one stream. */
export type KeyframeKey = { readonly stream: string; readonly projection: string; readonly version: number };

/** A saved fold of a stream up to and with a revision; `data` is the projection's own text. */
export type Keyframe = { readonly revision: number; readonly data: string };

/**
 * Where saved folds live, beside the events. All of it is disposable: a reader that finds nothing folds from the start,
 * and whoever doubts a keyframe deletes them all.
 *
 * A store that cannot keep one (full, locked) throws `StoreUnavailableError`; the caller goes on without.
 */
export interface KeyframeStore {
  /** The newest keyframe at or before a revision. */
  get(key: KeyframeKey, atMost: number): Promise<Keyframe | null>;

  /** Keeps a keyframe; one of the same key and revision is replaced. */
  put(key: KeyframeKey, keyframe: Keyframe): Promise<void>;

  deleteAll(): Promise<void>;
}
