import { compareUtf8 } from "../../base/utf8.ts";
import type { RowPlace } from "../../projections/projection.ts";

/** The event up to and with which rows were made, and where it stands: whether it is still there can be asked. */
export type Checkpoint = {
  readonly storeId: string;
  readonly position: string;
  readonly eventId: string;
  readonly stream: string;
  readonly revision: number;
};

/** An event that a projection could not take in, and why. */
export type QuarantinedEvent = {
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly type: string;
  readonly version: number;
  readonly reason: string;
};

/** What a view lacks: the first events that it could not take in, in the order of the log, and how many there are. */
export type Quarantine = { readonly events: number; readonly first: readonly QuarantinedEvent[] };

/** A saved view, and the newest event of its key. */
export type ViewRow = {
  readonly key: string;
  /** JSON text of the projection's own making. */
  readonly view: string;
  readonly position: string;
  readonly revision: number;
  readonly eventId: string;
  /** Null when the view lacks nothing. */
  readonly quarantine: Quarantine | null;
};

/** One making of all rows of a projection, from the beginning of the log on. */
export type ViewBuild = {
  readonly id: number;
  readonly projection: string;
  readonly version: number;
  /** Whether it is the one that is read: at most one of a projection is. */
  readonly isPublished: boolean;
  /** How often it was saved: each save names the one that it follows. */
  readonly saves: number;
  /** How many events it has seen. */
  readonly events: number;
  /** Null before the first event. */
  readonly checkpoint: Checkpoint | null;
};

/** A row to save, with all places that it has from now on; none by default. */
export type PlacedRow = ViewRow & { readonly places?: readonly RowPlace[] };

/** What one save changes: a row takes the place of the one with its key. */
export type ViewBatch = Pick<ViewBuild, "checkpoint" | "events"> & { readonly rows: readonly PlacedRow[] };

/** The rows that stand in each of these lists, at least one, at the same `at`: from the first time on, and before the second. */
export type ListRange = {
  readonly lists: readonly string[];
  readonly from: string | null;
  readonly until: string | null;
};

/** Where a row stands among those of a range. */
export type PlaceInList = { readonly at: string; readonly key: string };

/** Some of a range: at most so many, those that come after a place in this order. */
export type ListedPage = ListRange & {
  readonly order: "ascending" | "descending";
  readonly after: PlaceInList | null;
  readonly limit: number;
};

/** A conflict is a value: another process has saved, or the build is gone. */
export type SaveResult = { readonly status: "saved"; readonly build: ViewBuild } | { readonly status: "conflict" };

/**
 * Where projections keep their rows. All of it is disposable: a caller who doubts a build begins another, and the one that was
 * published is read until that has caught up.
 *
 * - A save is all or nothing, and a conflict unless the build has been saved as often as the caller knows: two processes
 *   that run one projection cannot mix their rows.
 * - The number of a build is never given again; what is read of one that is gone is nothing.
 *
 * A store that cannot keep rows (full, locked, read-only) throws `StoreUnavailableError`.
 */
export interface ViewStore {
  /** All builds of a projection, the published one first, then the newest first. */
  builds(projection: string): Promise<readonly ViewBuild[]>;

  begin(projection: string, version: number): Promise<ViewBuild>;

  save(build: ViewBuild, batch: ViewBatch): Promise<SaveResult>;

  /** Makes a build the one that is read, and deletes all others of its projection; false when the build is gone. */
  publish(build: ViewBuild): Promise<boolean>;

  row(build: ViewBuild, key: string): Promise<ViewRow | null>;

  /** Rows in the order of their keys' UTF-8 bytes: at most so many, those after a key. */
  rows(build: ViewBuild, page: { readonly after: string | null; readonly limit: number }): Promise<readonly ViewRow[]>;

  /**
   * A page of the rows that stand in some lists, ordered by `at`, then by key. What it costs depends on the limit and on how many
   * rows of the shortest list are not in the others, and not on how many rows there are.
   */
  listed(build: ViewBuild, page: ListedPage): Promise<readonly (ViewRow & Pick<RowPlace, "at">)[]>;

  /** How many rows stand in all of some lists. */
  countListed(build: ViewBuild, range: ListRange): Promise<number>;

  /** The places of a row, ordered by list, then by `at`. */
  places(build: ViewBuild, key: string): Promise<readonly RowPlace[]>;

  /** Keys and positions, in any order, of the rows in whose `view` all of these texts stand, letter by letter. */
  containing(build: ViewBuild, texts: readonly string[]): Promise<readonly Pick<ViewRow, "key" | "position">[]>;

  /** The rows that lack something, in the order of their keys. */
  degraded(build: ViewBuild): Promise<readonly ViewRow[]>;
}

/** Orders after every place that a row can have. */
const afterAll = "\u{10FFFF}";

/** Between which two places, themselves left out, the rows of a page stand; of a range, those of all its pages. */
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
