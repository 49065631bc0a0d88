import type { DatabaseSync } from "node:sqlite";
import { boundsOf, type ListRange, type ViewBuild, type ViewRow, type ViewStore } from "../../log/ports/view-store.ts";
import type { RowPlace } from "../../projections/projection.ts";
import type { Guarded } from "./guarded.ts";
import { createTransactions } from "./transaction.ts";

/**
 * Rows of projections in the store's own file, in tables that are created on first use. `guarded` rejects calls after `close` and
 * translates errors.
 */
export function createSqliteViews(database: DatabaseSync, guarded: Guarded): ViewStore {
  let opened: Statements | null = null;
  const statements = (): Statements => {
    opened ??= open(database);
    return opened;
  };
  const use = <T>(work: (statements: Statements) => T): Promise<T> => guarded(() => work(statements()));

  // Reading creates no tables, so that a read-only file can be read.
  const isEmpty = (): boolean => opened === null && !hasTables(database);

  // Rows are cast to the columns that their statement selects; the tables are STRICT.
  return {
    builds: (projection) =>
      guarded(() => (isEmpty() ? [] : (statements().builds.all(projection) as BuildRow[]).map(buildOf))),
    async begin(projection, version) {
      const id = await use(({ begin }) => Number(begin.run(projection, version).lastInsertRowid));
      return { id, projection, version, isPublished: false, saves: 0, events: 0, checkpoint: null };
    },
    async save(build, { checkpoint, events, rows }) {
      return use(({ whole, advance, put, place }) => {
        let saved: BuildRow | undefined;
        whole(() => {
          saved = advance.get(JSON.stringify(checkpoint), events, build.id, build.saves) as BuildRow | undefined;
          if (saved === undefined) return;
          for (const { key, view, position, revision, eventId, quarantine, places = [] } of rows) {
            const lack = quarantine === null ? null : JSON.stringify(quarantine);
            put.run(build.id, key, view, position, revision, eventId, lack);
            place(build.id, key, places);
          }
        });
        return saved === undefined ? { status: "conflict" } : { status: "saved", build: buildOf(saved) };
      });
    },
    async publish({ id, projection }) {
      return use(({ whole, publish, deleteOthers }) => {
        let isThere = false;
        whole(() => {
          isThere = publish.run(id).changes > 0;
          if (isThere) for (const statement of deleteOthers) statement.run(projection, id);
        });
        return isThere;
      });
    },
    async row({ id }, key) {
      const row = await use((statements) => statements.row.get(id, key) as StoredRow | undefined);
      return row === undefined ? null : viewRowOf(row);
    },
    rows: ({ id }, { after, limit }) =>
      use(({ firstRows, rows }) => {
        const page = after === null ? firstRows.all(id, limit) : rows.all(id, after, limit);
        return (page as StoredRow[]).map(viewRowOf);
      }),
    listed: ({ id }, page) =>
      use(({ leading, listed }) => {
        const { low, high } = boundsOf(page);
        const { lead, others } = leading(id, page);
        const between = [low.at, low.key, high.at, high.key];
        const rows = listed[page.order].all(id, lead, ...between, others, page.limit);
        return (rows as (StoredRow & Pick<RowPlace, "at">)[]).map((row) => ({ ...viewRowOf(row), at: row.at }));
      }),
    countListed: ({ id }, range) =>
      use(({ leading, countListed }) => {
        const { low, high } = boundsOf(range);
        const { lead, others } = leading(id, range);
        const counted = countListed.get(id, lead, low.at, low.key, high.at, high.key, others);
        return Number(counted?.["rows"]);
      }),
    places: ({ id }, key) => use(({ places }) => placesOf(places.all(id, key))),
    containing: ({ id }, texts) =>
      use(({ containing }) => containing.all(id, JSON.stringify(texts)) as Pick<StoredRow, "key" | "position">[]),
    degraded: ({ id }) => use(({ degraded }) => (degraded.all(id) as StoredRow[]).map(viewRowOf)),
  };
}

type BuildRow = Omit<ViewBuild, "isPublished" | "checkpoint"> & {
  readonly isPublished: number;
  readonly checkpoint: string;
};

type StoredRow = Omit<ViewRow, "quarantine"> & { readonly quarantine: string | null };

// Both columns were written above, from values of these types.
const buildOf = (row: BuildRow): ViewBuild => ({
  ...row,
  isPublished: row.isPublished === 1,
  checkpoint: JSON.parse(row.checkpoint) as ViewBuild["checkpoint"],
});
// Spreading a row of the driver costs more than to parse its view.
const viewRowOf = ({ key, view, position, revision, eventId, quarantine }: StoredRow): ViewRow => ({
  ...{ key, view, position, revision, eventId },
  quarantine: quarantine === null ? null : (JSON.parse(quarantine) as ViewRow["quarantine"]),
});

const placesOf = (rows: readonly unknown[]): readonly RowPlace[] =>
  (rows as readonly RowPlace[]).map(({ list, at }) => ({ list, at }));

// The newest of the tables: a file of an older turnlog does not have it.
const hasTables = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'view_places'").get() !== undefined;

type Statements = ReturnType<typeof open>;

function open(database: DatabaseSync) {
  const { whole } = createTransactions(database);
  // Not if they exist: a user who may only read the file can still read rows.
  if (!hasTables(database)) {
    whole(() => {
      database.exec(tables);
    });
  }
  const build = "id, projection, version, is_published AS isPublished, saves, events, checkpoint";
  const row = "key, view, position, revision, event_id AS eventId, quarantine";
  const places = database.prepare("SELECT list, at FROM view_places WHERE build = ? AND key = ? ORDER BY list, at");
  const addPlace = database.prepare("INSERT INTO view_places (build, list, at, key) VALUES (?, ?, ?, ?)");
  const deletePlace = database.prepare("DELETE FROM view_places WHERE build = ? AND list = ? AND at = ? AND key = ?");
  const fewest = database.prepare(
    "SELECT count(*) AS rows FROM (SELECT 1 FROM view_places WHERE build = ? AND list = ? LIMIT 1000)",
  );
  const inRange = `build = ? AND list = ? AND (at, key) > (?, ?) AND (at, key) < (?, ?)
    AND NOT EXISTS (SELECT 1 FROM json_each(?) AS other WHERE NOT EXISTS (SELECT 1 FROM view_places AS elsewhere
      WHERE elsewhere.build = view_places.build AND elsewhere.list = other.value
      AND elsewhere.at = view_places.at AND elsewhere.key = view_places.key))`;
  const listed = (order: "ASC" | "DESC") =>
    database.prepare(
      `SELECT placed.at, ${row} FROM (SELECT build AS its_build, at, key AS its_key FROM view_places WHERE ${inRange}
       ORDER BY at ${order}, key ${order} LIMIT ?) AS placed
       CROSS JOIN view_rows ON build = its_build AND key = its_key ORDER BY placed.at ${order}, key ${order}`,
    );
  const rowsWhere = (condition: string) =>
    database.prepare(`SELECT ${row} FROM view_rows WHERE build = ? ${condition}`);
  return {
    whole,
    builds: database.prepare(
      `SELECT ${build} FROM view_builds WHERE projection = ? ORDER BY is_published DESC, id DESC`,
    ),
    begin: database.prepare("INSERT INTO view_builds (projection, version) VALUES (?, ?)"),
    advance: database.prepare(
      `UPDATE view_builds SET checkpoint = ?, events = ?, saves = saves + 1 WHERE id = ? AND saves = ? RETURNING ${build}`,
    ),
    publish: database.prepare("UPDATE view_builds SET is_published = 1 WHERE id = ?"),
    deleteOthers: [
      database.prepare(
        "DELETE FROM view_places WHERE build IN (SELECT id FROM view_builds WHERE projection = ? AND id <> ?)",
      ),
      database.prepare(
        "DELETE FROM view_rows WHERE build IN (SELECT id FROM view_builds WHERE projection = ? AND id <> ?)",
      ),
      database.prepare("DELETE FROM view_builds WHERE projection = ? AND id <> ?"),
    ],
    put: database.prepare(
      `INSERT OR REPLACE INTO view_rows (build, key, view, position, revision, event_id, quarantine)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    /** Sets the places of a row, and removes its other places. */
    place: (build: number, key: string, wanted: readonly RowPlace[]): void => {
      const had = placesOf(places.all(build, key));
      const isIn = (all: readonly RowPlace[], { list, at }: RowPlace): boolean =>
        all.some((each) => each.list === list && each.at === at);
      for (const each of had) if (!isIn(wanted, each)) deletePlace.run(build, each.list, each.at, key);
      for (const each of wanted) if (!isIn(had, each)) addPlace.run(build, each.list, each.at, key);
    },
    /** The shortest of the lists, counted up to a limit: its rows are then looked up in the others. */
    leading: (build: number, { lists }: Pick<ListRange, "lists">) => {
      const counted = lists.map((list) => ({
        list,
        rows: lists.length === 1 ? 0 : Number(fewest.get(build, list)?.["rows"]),
      }));
      const [lead = "", ...others] = counted.toSorted((left, right) => left.rows - right.rows).map(({ list }) => list);
      return { lead, others: JSON.stringify(others) };
    },
    places,
    listed: { ascending: listed("ASC"), descending: listed("DESC") },
    countListed: database.prepare(`SELECT count(*) AS rows FROM view_places WHERE ${inRange}`),
    row: rowsWhere("AND key = ?"),
    firstRows: rowsWhere("ORDER BY key LIMIT ?"),
    rows: rowsWhere("AND key > ? ORDER BY key LIMIT ?"),
    containing: database.prepare(
      `SELECT key, position FROM view_rows WHERE build = ?
       AND NOT EXISTS (SELECT 1 FROM json_each(?) AS text WHERE instr(view_rows.view, text.value) = 0)`,
    ),
    degraded: rowsWhere("AND quarantine IS NOT NULL ORDER BY key"),
  };
}

// AUTOINCREMENT prevents a build from being mistaken for a deleted one. A revision is REAL, because a damaged one need not
// be an integer.
const tables = `
  CREATE TABLE IF NOT EXISTS view_builds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    is_published INTEGER NOT NULL DEFAULT 0,
    saves INTEGER NOT NULL DEFAULT 0,
    events INTEGER NOT NULL DEFAULT 0,
    checkpoint TEXT NOT NULL DEFAULT 'null'
  ) STRICT;

  CREATE TABLE IF NOT EXISTS view_rows (
    build INTEGER NOT NULL,
    key TEXT NOT NULL,
    view TEXT NOT NULL,
    position TEXT NOT NULL,
    revision REAL NOT NULL,
    event_id TEXT NOT NULL,
    quarantine TEXT,
    PRIMARY KEY (build, key)
  ) STRICT;

  CREATE TABLE IF NOT EXISTS view_places (
    build INTEGER NOT NULL,
    list TEXT NOT NULL,
    at TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (build, list, at, key)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX IF NOT EXISTS view_places_of_row ON view_places (build, key);

  CREATE INDEX IF NOT EXISTS view_rows_degraded ON view_rows (build, key) WHERE quarantine IS NOT NULL;
`;
