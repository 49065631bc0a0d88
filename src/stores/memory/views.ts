import type { ViewBuild, ViewRow, ViewStore } from "../../log/ports/view-store.ts";

/** Rows of projections that last as long as the process. */
export function createMemoryViews(refuseIfClosed: () => void = () => undefined): ViewStore {
  const kept = new Map<number, Kept>();
  let begun = 0;

  /** What is kept of a build; undefined when it is gone. */
  function find({ id }: ViewBuild): Kept | undefined {
    refuseIfClosed();
    return kept.get(id);
  }
  const rowsOf = (build: ViewBuild): readonly ViewRow[] =>
    [...(find(build)?.rowByKey.values() ?? [])].sort((left, right) => compareBytes(left.key, right.key));

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
      kept.set(begun, { build, rowByKey: new Map() });
      return build;
    },
    async save(build, { checkpoint, events, rows }) {
      const found = find(build);
      if (found?.build.saves !== build.saves) return { status: "conflict" };
      for (const row of rows) found.rowByKey.set(row.key, row);
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
        .filter(({ key }) => after === null || compareBytes(key, after) > 0)
        .slice(0, limit),
    containing: async (build, texts) =>
      rowsOf(build)
        .filter(({ view }) => texts.every((text) => view.includes(text)))
        .map(({ key, position }) => ({ key, position })),
    degraded: async (build) => rowsOf(build).filter(({ quarantine }) => quarantine !== null),
  };
}

type Kept = { build: ViewBuild; readonly rowByKey: Map<string, ViewRow> };

const compareBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));
