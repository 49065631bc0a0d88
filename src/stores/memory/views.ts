import { compareUtf8 } from "../../base/utf8.ts";
import {
  boundsOf,
  type Checkpoint,
  comparePlaces,
  type ListRange,
  type PlaceInList,
  type ViewBuild,
  type ViewRow,
  type ViewStore,
} from "../../log/ports/view-store.ts";
import type { RowPlace } from "../../projections/projection.ts";

export type MemoryViews = ViewStore & {
  /** Deletes rows by their keys in all builds, and replaces checkpoints. */
  readonly forget: (
    keys: readonly string[],
    moved: (checkpoint: Checkpoint) => Checkpoint | null,
  ) => { readonly rows: number; readonly projections: readonly string[] };
};

/** Rows of projections that last as long as the process. */
export function createMemoryViews(refuseIfClosed: () => void = () => undefined): MemoryViews {
  const kept = new Map<number, Kept>();
  let begun = 0;

  /** The content of a build; undefined if it was deleted. */
  function find({ id }: ViewBuild): Kept | undefined {
    refuseIfClosed();
    return kept.get(id);
  }
  const rowsOf = (build: ViewBuild): readonly ViewRow[] =>
    [...(find(build)?.rowByKey.values() ?? [])].sort((left, right) => compareUtf8(left.key, right.key));

  return {
    async builds(projection) {
      refuseIfClosed();
      const builds = [...kept.values()].map(({ build }) => build).filter((build) => build.projection === projection);
      return builds.sort((left, right) => Number(right.isPublished) - Number(left.isPublished) || right.id - left.id);
    },
    async begin(projection, version) {
      refuseIfClosed();
      begun += 1;
      const build = { id: begun, projection, version, isPublished: false, saves: 0, events: 0, checkpoint: null };
      kept.set(begun, { build, rowByKey: new Map(), placesByKey: new Map(), lists: new Map() });
      return build;
    },
    async save(build, { checkpoint, events, rows }) {
      const found = find(build);
      if (found?.build.saves !== build.saves) return { status: "conflict" };
      for (const { places = [], ...row } of rows) {
        found.rowByKey.set(row.key, row);
        place(found, row.key, places);
      }
      found.build = { ...found.build, saves: build.saves + 1, events, checkpoint };
      return { status: "saved", build: found.build };
    },
    async publish(build) {
      const found = find(build);
      if (found === undefined) return false;
      for (const [id, { build: other }] of kept)
        if (id !== build.id && other.projection === build.projection) kept.delete(id);
      found.build = { ...found.build, isPublished: true };
      return true;
    },
    row: async (build, key) => find(build)?.rowByKey.get(key) ?? null,
    rows: async (build, { after, limit }) =>
      rowsOf(build)
        .filter(({ key }) => after === null || compareUtf8(key, after) > 0)
        .slice(0, limit),
    async listed(build, page) {
      const found = find(build);
      const { lead, from, to, isListed } = rangeIn(found, page);
      const [step, first] = page.order === "ascending" ? [1, from] : [-1, to - 1];
      const rows: (ViewRow & Pick<RowPlace, "at">)[] = [];
      for (let index = first; index >= from && index < to && rows.length < page.limit; index += step) {
        const each = lead[index];
        const row = each === undefined || !isListed(each) ? undefined : found?.rowByKey.get(each.key);
        if (row !== undefined && each !== undefined) rows.push({ ...row, at: each.at });
      }
      return rows;
    },
    async countListed(build, range) {
      const { lead, from, to, isListed } = rangeIn(find(build), range);
      return lead.slice(from, to).filter(isListed).length;
    },
    places: async (build, key) =>
      (find(build)?.placesByKey.get(key) ?? []).toSorted(
        (left, right) => compareUtf8(left.list, right.list) || compareUtf8(left.at, right.at),
      ),
    containing: async (build, texts) =>
      rowsOf(build)
        .filter(({ view }) => texts.every((text) => view.includes(text)))
        .map(({ key, position }) => ({ key, position })),
    degraded: async (build) => rowsOf(build).filter(({ quarantine }) => quarantine !== null),
    forget(keys, moved) {
      let rows = 0;
      for (const each of kept.values()) {
        for (const key of keys) {
          place(each, key, []);
          each.placesByKey.delete(key);
          rows += each.rowByKey.delete(key) ? 1 : 0;
        }
        const { build } = each;
        const checkpoint = build.checkpoint === null ? null : moved(build.checkpoint);
        each.build = { ...build, checkpoint, saves: build.saves + 1 };
      }
      return { rows, projections: [...new Set([...kept.values()].map(({ build }) => build.projection))].sort() };
    },
  };
}

type Kept = {
  build: ViewBuild;
  readonly rowByKey: Map<string, ViewRow>;
  readonly placesByKey: Map<string, readonly RowPlace[]>;
  /** The rows of each list, in order. */
  readonly lists: Map<string, PlaceInList[]>;
};

/** Sets the places of a row, and removes its other places. */
function place({ placesByKey, lists }: Kept, key: string, places: readonly RowPlace[]): void {
  for (const { list, at } of placesByKey.get(key) ?? []) {
    const places = lists.get(list) ?? [];
    places.splice(indexIn(places, { at, key }), 1);
  }
  placesByKey.set(key, places);
  for (const { list, at } of places) {
    const places = lists.get(list) ?? [];
    lists.set(list, places);
    places.splice(indexIn(places, { at, key }), 0, { at, key });
  }
}

/** How many of the places come before another. */
function indexIn(places: readonly PlaceInList[], wanted: PlaceInList): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const each = places[middle];
    if (each !== undefined && comparePlaces(each, wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The shortest of the lists, the part of it that is in the range, and a test whether a row is in the other lists, too. */
function rangeIn(kept: Kept | undefined, range: ListRange) {
  const lists = range.lists.map((list) => kept?.lists.get(list) ?? []);
  const [lead = [], ...others] = lists.toSorted((left, right) => left.length - right.length);
  const { low, high } = boundsOf(range);
  const from = indexIn(lead, low);
  const isLow = lead[from] !== undefined && comparePlaces(lead[from], low) === 0;
  const isIn = (places: readonly PlaceInList[], wanted: PlaceInList): boolean => {
    const found = places[indexIn(places, wanted)];
    return found !== undefined && comparePlaces(found, wanted) === 0;
  };
  return {
    lead,
    from: isLow ? from + 1 : from,
    to: indexIn(lead, high),
    isListed: (each: PlaceInList) => others.every((places) => isIn(places, each)),
  };
}
