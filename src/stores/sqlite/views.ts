import type { DatabaseSync } from "node:sqlite";
import type { ViewBuild, ViewRow, ViewStore } from "../../log/ports/view-store.ts";
import type { Guarded } from "./guarded.ts";
import { createTransactions } from "./transaction.ts";

/**
 * Rows of projections in the store's own file, in tables that are made when somebody first asks for them. `guarded` refuses
 * after `close` and translates errors.
 */
export function createSqliteViews(database: DatabaseSync, guarded: Guarded): ViewStore {
  let opened: Statements | null = null;
  const statements = (): Statements => {
    opened ??= open(database);
    return opened;
  };
  const use = <T>(work: (statements: Statements) => T): Promise<T> => guarded(() => work(statements()));

  // Looking makes no tables: a file that may only be read can be looked at.
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
      return use(({ whole, advance, put }) => {
        let saved: BuildRow | undefined;
        whole(() => {
          saved = advance.get(JSON.stringify(checkpoint), events, build.id, build.saves) as BuildRow | undefined;
          if (saved === undefined) return;
          for (const { key, view, position, revision, eventId, quarantine } of rows) {
            const lack = quarantine === null ? null : JSON.stringify(quarantine);
            put.run(build.id, key, view, position, revision, eventId, lack);
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

// Both columns are written above, from what they are cast to.
const buildOf = (row: BuildRow): ViewBuild => ({
  ...row,
  isPublished: row.isPublished === 1,
  checkpoint: JSON.parse(row.checkpoint) as ViewBuild["checkpoint"],
});
const viewRowOf = (row: StoredRow): ViewRow => ({
  ...row,
  quarantine: row.quarantine === null ? null : (JSON.parse(row.quarantine) as ViewRow["quarantine"]),
});

const hasTables = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'view_rows'").get() !== undefined;

type Statements = ReturnType<typeof open>;

function open(database: DatabaseSync) {
  const { whole } = createTransactions(database);
  // Not again where they are: who may only read the file reads its rows.
  if (!hasTables(database)) {
    whole(() => {
      database.exec(tables);
    });
  }
  const build = "id, projection, version, is_published AS isPublished, saves, events, checkpoint";
  const row = "key, view, position, revision, event_id AS eventId, quarantine";
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
        "DELETE FROM view_rows WHERE build IN (SELECT id FROM view_builds WHERE projection = ? AND id <> ?)",
      ),
      database.prepare("DELETE FROM view_builds WHERE projection = ? AND id <> ?"),
    ],
    put: database.prepare(
      `INSERT OR REPLACE INTO view_rows (build, key, view, position, revision, event_id, quarantine)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
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

// AUTOINCREMENT keeps a build from being taken for one that was deleted. A revision is REAL: damaged, it need not be an
// integer.
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

  CREATE INDEX IF NOT EXISTS view_rows_degraded ON view_rows (build, key) WHERE quarantine IS NOT NULL;
`;
