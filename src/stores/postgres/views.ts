import {
  boundsOf,
  type ListRange,
  type Quarantine,
  type ViewBatch,
  type ViewBuild,
  type ViewRow,
  type ViewStore,
} from "../../log/ports/view-store.ts";
import type { RowPlace } from "../../projections/projection.ts";
import { type Database, isStorable } from "./database.ts";

/** Rows of projections beside the events. Each call is one statement, or a count and one statement. */
export function createPostgresViews(database: Database): ViewStore {
  const { schema } = database.address;
  async function rows<Row>(text: string, values: Parameters<Database["rows"]>[1]): Promise<readonly Row[]> {
    database.refuseIfClosed();
    return database.rows<Row>(text, values, { isDerived: true });
  }
  const build = `id::float8 AS id, projection, version::float8 AS version, is_published AS "isPublished",
    saves::float8 AS saves, events::float8 AS events, checkpoint`;
  const row = `view_rows.key, view, position, revision::float8 AS revision, event_id AS "eventId", quarantine`;
  const rowsWhere = async (condition: string, values: Parameters<Database["rows"]>[1]): Promise<readonly ViewRow[]> =>
    (await rows<StoredRow>(`SELECT ${row} FROM ${schema}.view_rows WHERE build = $1 ${condition}`, values)).map(
      viewRowOf,
    );

  /** The shortest of the lists, counted up to a limit: its rows are then looked up in the others. */
  async function leading({ id }: ViewBuild, lists: readonly string[]): Promise<readonly string[]> {
    if (lists.length < 2) return lists;
    const counted = await rows<{ readonly list: string; readonly rows: number }>(
      `SELECT list, (SELECT count(*)::int FROM (
         SELECT 1 FROM ${schema}.view_places WHERE build = $1 AND view_places.list = wanted.list LIMIT 1000
       ) AS places) AS rows FROM unnest($2::text[]) AS wanted(list)`,
      [id, lists],
    );
    return counted.toSorted((left, right) => left.rows - right.rows).map(({ list }) => list);
  }

  /** Places of the first list in a range that the others have, too. A subquery is not made into a join, which would read all of a list. */
  const inLists = (lists: readonly string[]): string => {
    const others = lists.slice(1).map(
      (_, index) => `AND coalesce((SELECT true FROM ${schema}.view_places AS other WHERE other.build = placed.build
        AND other.list = $${index + 7} AND other.at = placed.at AND other.key = placed.key), false)`,
    );
    return `FROM ${schema}.view_places AS placed WHERE build = $1 AND list = $2 AND (at, key) > ($3, $4) AND (at, key) < ($5, $6)
      ${others.join(" ")}`;
  };
  async function rangeOf(build: ViewBuild, range: ListRange) {
    const { low, high } = boundsOf(range);
    const [lead = "", ...others] = await leading(build, range.lists);
    return {
      from: inLists([lead, ...others]),
      values: [build.id, lead, low.at, low.key, high.at, high.key, ...others],
    };
  }

  return {
    builds: async (projection) =>
      (
        await rows<BuildRow>(
          `SELECT ${build} FROM ${schema}.view_builds WHERE projection = $1 ORDER BY is_published DESC, view_builds.id DESC`,
          [projection],
        )
      ).map(buildOf),
    async begin(projection, version) {
      const [made] = await rows<BuildRow>(
        `INSERT INTO ${schema}.view_builds (projection, version) VALUES ($1, $2) RETURNING ${build}`,
        [projection, version],
      );
      if (made === undefined) throw new Error("an insert returns its row");
      return buildOf(made);
    },
    async save({ id, saves }, batch) {
      const [saved] = await rows<BuildRow>(
        `WITH saved AS (
           UPDATE ${schema}.view_builds SET checkpoint = $3, events = $4, saves = saves + 1
           WHERE id = $1 AND saves = $2 RETURNING *
         ), put AS (
           INSERT INTO ${schema}.view_rows (build, key, view, position, revision, event_id, quarantine)
           SELECT saved.id, new.* FROM saved, unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])
             AS new(key, view, position, revision, event_id, quarantine)
           ON CONFLICT (build, key) DO UPDATE SET view = excluded.view, position = excluded.position,
             revision = excluded.revision, event_id = excluded.event_id, quarantine = excluded.quarantine
         ), places AS (
           SELECT * FROM unnest($11::text[], $12::text[], $13::text[]) AS place(list, at, key)
         ), gone AS (
           DELETE FROM ${schema}.view_places AS old USING saved WHERE old.build = saved.id AND old.key = ANY($5::text[])
             AND NOT EXISTS (SELECT FROM places WHERE places.list = old.list AND places.at = old.at AND places.key = old.key)
         ), placed AS (
           INSERT INTO ${schema}.view_places (build, list, at, key)
           SELECT saved.id, places.list, places.at, places.key FROM saved, places ON CONFLICT DO NOTHING
         )
         SELECT ${build} FROM saved`,
        [id, saves, ...batchValues(batch)],
      );
      return saved === undefined ? { status: "conflict" } : { status: "saved", build: buildOf(saved) };
    },
    async publish({ id, projection }) {
      const published = await rows(
        `WITH published AS (
           UPDATE ${schema}.view_builds SET is_published = true WHERE id = $1 RETURNING id
         ), others AS (
           DELETE FROM ${schema}.view_builds USING published WHERE projection = $2 AND view_builds.id <> published.id
           RETURNING view_builds.id
         ), places AS (
           DELETE FROM ${schema}.view_places USING others WHERE build = others.id
         ), rows AS (
           DELETE FROM ${schema}.view_rows USING others WHERE build = others.id
         )
         SELECT id FROM published`,
        [id, projection],
      );
      return published.length > 0;
    },
    row: async ({ id }, key) => (await rowsWhere("AND key = $2", [id, key]))[0] ?? null,
    rows: ({ id }, { after, limit }) =>
      after === null
        ? rowsWhere("ORDER BY key LIMIT $2", [id, limit])
        : rowsWhere("AND key > $3 ORDER BY key LIMIT $2", [id, limit, after]),
    async listed(build, page) {
      const order = page.order === "ascending" ? "ASC" : "DESC";
      const { from, values } = await rangeOf(build, page);
      const found = await rows<StoredRow & Pick<RowPlace, "at">>(
        `SELECT its.at, ${row} FROM (
           SELECT placed.build, placed.at, placed.key ${from} ORDER BY at ${order}, key ${order} LIMIT $${values.length + 1}
         ) AS its JOIN ${schema}.view_rows ON view_rows.build = its.build AND view_rows.key = its.key
         ORDER BY its.at ${order}, its.key ${order}`,
        [...values, page.limit],
      );
      return found.map(({ at, ...stored }) => ({ ...viewRowOf(stored), at }));
    },
    async countListed(build, range) {
      const { from, values } = await rangeOf(build, range);
      const [counted] = await rows<{ readonly rows: number }>(`SELECT count(*)::float8 AS rows ${from}`, values);
      return counted?.rows ?? 0;
    },
    places: ({ id }, key) =>
      rows<RowPlace>(`SELECT list, at FROM ${schema}.view_places WHERE build = $1 AND key = $2 ORDER BY list, at`, [
        id,
        key,
      ]),
    // A text that Postgres cannot hold is in no row.
    containing: async ({ id }, texts) =>
      texts.every(isStorable)
        ? rows<Pick<ViewRow, "key" | "position">>(
            `SELECT key, position FROM ${schema}.view_rows WHERE build = $1
             AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS wanted(part) WHERE strpos(view, part) = 0)`,
            [id, texts],
          )
        : [],
    degraded: ({ id }) => rowsWhere("AND quarantine IS NOT NULL ORDER BY key", [id]),
  };
}

/** The values of a save after the build's id and number of saves. */
function batchValues({ checkpoint, events, rows }: ViewBatch): Parameters<Database["rows"]>[1] {
  const places = rows.flatMap(({ key, places: all = [] }) => all.map((place) => ({ ...place, key })));
  return [
    JSON.stringify(checkpoint),
    events,
    rows.map(({ key }) => key),
    rows.map(({ view }) => view),
    rows.map(({ position }) => position),
    rows.map(({ revision }) => revision),
    rows.map(({ eventId }) => eventId),
    rows.map(({ quarantine }) => (quarantine === null ? null : JSON.stringify(quarantine))),
    places.map(({ list }) => list),
    places.map(({ at }) => at),
    places.map(({ key }) => key),
  ];
}

type BuildRow = Omit<ViewBuild, "checkpoint"> & { readonly checkpoint: string };

type StoredRow = Omit<ViewRow, "quarantine"> & { readonly quarantine: string | null };

// Both columns were written above, from values of these types.
const buildOf = (row: BuildRow): ViewBuild => ({
  ...row,
  checkpoint: JSON.parse(row.checkpoint) as ViewBuild["checkpoint"],
});
const viewRowOf = (row: StoredRow): ViewRow => ({
  ...row,
  quarantine: row.quarantine === null ? null : (JSON.parse(row.quarantine) as Quarantine),
});
