import { compareUtf8 } from "../../base/utf8.ts";
import type { RowPlace } from "../../projections/projection.ts";

/** The last event that the rows include, and its place, so that a reader can check that it is still there. */
export type Checkpoint = {
  readonly storeId: string;
  readonly position: string;
  readonly eventId: string;
  readonly stream: string;
  readonly revision: number;
};

/** An event that a projection could not apply, and why. */
export type QuarantinedEvent = {
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly type: string;
  readonly version: number;
  readonly reason: string;
};

/** What a view lacks: the first events that the projection could not apply, in log order, and how many there are. */
export type Quarantine = { readonly events: number; readonly first: readonly QuarantinedEvent[] };

/** A saved view, and the newest event of its key. */
export type ViewRow = {
  readonly key: string;
  /** JSON text that the projection wrote. */
  readonly view: string;
  readonly position: string;
  readonly revision: number;
  readonly eventId: string;
  /** Null if the view lacks nothing. */
  readonly quarantine: Quarantine | null;
};

/** One build of all rows of a projection, from the beginning of the log. */
export type ViewBuild = {
  readonly id: number;
  readonly projection: string;
  readonly version: number;
  /** Whether readers use this build: at most one of a projection is published. */
  readonly isPublished: boolean;
  /** How often it was saved: each save names the one that it follows. */
  readonly saves: number;
  /** How many events it has applied. */
  readonly events: number;
  /** Null before the first event. */
  readonly checkpoint: Checkpoint | null;
};

/** A row to save, with all its places from now on. Default: none. */
export type PlacedRow = ViewRow & { readonly places?: readonly RowPlace[] };

/** The changes of one save: a row replaces the one with its key. */
export type ViewBatch = Pick<ViewBuild, "checkpoint" | "events"> & { readonly rows: readonly PlacedRow[] };

/** The rows that are in all of these lists (at least one), at the same `at`, from the first time (included) to the second (excluded). */
export type ListRange = {
  readonly lists: readonly string[];
  readonly from: string | null;
  readonly until: string | null;
};

/** The place of a row in a range. */
export type PlaceInList = { readonly at: string; readonly key: string };

/** A page of a range: at most `limit` rows, those that come after a place in this order. */
export type ListedPage = ListRange & {
  readonly order: "ascending" | "descending";
  readonly after: PlaceInList | null;
  readonly limit: number;
};

/** A conflict is a value: another process has saved, or the build is gone. */
export type SaveResult = { readonly status: "saved"; readonly build: ViewBuild } | { readonly status: "conflict" };

/**
 * Stores the rows of projections. All of them are disposable: a caller who doubts a build begins another, and readers use the
 * published one until the new one has caught up.
 *
 * - A save is all or nothing. It is a conflict unless the build has been saved exactly as often as the caller knows, so two
 *   processes that run one projection cannot mix their rows.
 * - The number of a build is never reused. Reads of a deleted build return nothing.
 *
 * A store that cannot keep rows (full, locked, read-only) throws `StoreUnavailableError`.
 */
export interface ViewStore {
  /** All builds of a projection, the published one first, then the newest first. */
  builds(projection: string): Promise<readonly ViewBuild[]>;

  begin(projection: string, version: number): Promise<ViewBuild>;

  save(build: ViewBuild, batch: ViewBatch): Promise<SaveResult>;

  /** Publishes a build and deletes all others of its projection; false if the build is gone. */
  publish(build: ViewBuild): Promise<boolean>;

  row(build: ViewBuild, key: string): Promise<ViewRow | null>;

  /** Rows in the order of their keys' UTF-8 bytes: at most `limit`, those after a key. */
  rows(build: ViewBuild, page: { readonly after: string | null; readonly limit: number }): Promise<readonly ViewRow[]>;

  /**
   * A page of the rows that are in all of some lists, ordered by `at`, then by key. The cost depends on the limit and on how many rows
   * of the shortest list are missing from the others, not on the total number of rows.
   */
  listed(build: ViewBuild, page: ListedPage): Promise<readonly (ViewRow & Pick<RowPlace, "at">)[]>;

  /** How many rows are in all of some lists. */
  countListed(build: ViewBuild, range: ListRange): Promise<number>;

  /** The places of a row, ordered by list, then by `at`. */
  places(build: ViewBuild, key: string): Promise<readonly RowPlace[]>;

  /** Keys and positions, in any order, of the rows whose `view` contains all of these texts exactly. */
  containing(build: ViewBuild, texts: readonly string[]): Promise<readonly Pick<ViewRow, "key" | "position">[]>;

  /** The rows that lack an event, in the order of their keys. */
  degraded(build: ViewBuild): Promise<readonly ViewRow[]>;
}

/** Orders after every place that a row can have. */
const afterAll = "\u{10FFFF}";

/** The bounds of the rows of a page, both excluded; for a range, the bounds of all its pages. */
export function boundsOf(page: ListRange & Partial<ListedPage>): {
  readonly low: PlaceInList;
  readonly high: PlaceInList;
} {
  const { from, until, after = null, order = "ascending" } = page;
  const low = { at: from ?? "", key: "" };
  const high = { at: until ?? afterAll, key: "" };
  if (after === null) return { low, high };
  if (order === "ascending") return { low: comparePlaces(after, low) > 0 ? after : low, high };
  return { low, high: comparePlaces(after, high) < 0 ? after : high };
}

/** Orders two places by the UTF-8 bytes of `at`, then of the key. */
export const comparePlaces = (left: PlaceInList, right: PlaceInList): number =>
  compareUtf8(left.at, right.at) || compareUtf8(left.key, right.key);
