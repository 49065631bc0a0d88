import type { DatabaseSync } from "node:sqlite";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../log/ports/store-errors.ts";
import { isLocked } from "./errors.ts";
import { createTransactions } from "./transaction.ts";

/** The schema version of new files. A file with a greater number was written by a newer turnlog. */
const schemaVersion = 2;

/** In a file of schema 1, all events are `json`, and there are no naming keys: a turnlog that knows only that schema may have it open. */
const schemaOfJson = 1;

/** The purpose of a file with these tables: the events themselves, or data derived from events kept elsewhere. */
export type FileKind = "store" | "views";

/** Stored in the file's header, so that a file is recognised even if the rest of it is damaged. */
const applicationIds: Readonly<Record<FileKind, number>> = { store: 0x746c6f67, views: 0x746c7677 };

export type SetupOptions = {
  readonly path: string;
  readonly kind: FileKind;
  readonly mustExist: boolean;
};

/** Sets the pragmas, and creates the tables in a new file or checks an old one. Returns the store's id. */
export function setUp(database: DatabaseSync, options: SetupOptions): string {
  const { path, kind } = options;
  // Before the pragmas, which would write to another program's file.
  if (hasTables(database)) checkSchema(database, path, kind);
  else if (options.mustExist) throw new StoreNotFoundError(`there is no turnlog store in ${path}`);
  setPragmas(database, path);
  // Checked again inside the transaction: two processes may open a new file at once.
  if (!hasTables(database)) {
    createTransactions(database).whole(() => {
      if (!hasTables(database)) createTables(database, kind);
    });
  }
  return checkSchema(database, path, kind);
}

function setPragmas(database: DatabaseSync, path: string): void {
  // The first page fixes the page size, so it is set before anything is written.
  database.exec("PRAGMA page_size = 8192");
  const { journal_mode: journal } = database.prepare("PRAGMA journal_mode = WAL").get() ?? {};
  const wrong = durablePragmas
    .map(([name, wanted]) => ({ name, wanted, found: setPragma(database, name, wanted) }))
    .filter(({ wanted, found }) => found !== wanted);
  if ((journal === "wal" && wrong.length === 0) || path === ":memory:") return;
  const shown = [`journal ${String(journal)}`, ...wrong.map(({ name, found }) => `${name} ${String(found)}`)].join(
    ", ",
  );
  throw new StoreUnavailableError(`${path} cannot be written durably (${shown}): choose a path on a local disk`);
}

/**
 * Pragmas that make appends survive a power loss and erasures last, each set and read back. `synchronous = FULL` waits for `fsync`, which
 * on macOS leaves the data in the drive's cache; the other two make SQLite use `F_FULLFSYNC` there. Other systems ignore them.
 */
const durablePragmas = [
  ["synchronous", 2],
  ["fullfsync", 1],
  ["checkpoint_fullfsync", 1],
  // Off by default in `node:sqlite`: deleted data would stay in the file until its page is reused.
  ["secure_delete", 1],
] as const;

function setPragma(database: DatabaseSync, name: string, value: number): unknown {
  database.exec(`PRAGMA ${name} = ${value}`);
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

/** Whether the file already has tables. */
export const hasTables = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;

/** Whether turnlog created the file for this purpose; for a damaged file the header is enough. */
export const isOfKind = (database: DatabaseSync, kind: FileKind): boolean =>
  database.prepare("PRAGMA application_id").get()?.["application_id"] === applicationIds[kind];

/**
 * The id of the store in a file.
 *
 * @throws {StoreTooNewError} if a newer turnlog wrote it.
 * @throws {StoreCorruptedError} if it is not a store, or lacks some of its tables.
 */
export function checkSchema(database: DatabaseSync, path: string, kind: FileKind = "store"): string {
  const read = (name: string): unknown =>
    database.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.["value"];
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?");
  const isThere = (name: string): boolean => hasTable.get(name) !== undefined;
  const isOurs = isOfKind(database, kind) && isThere("meta");
  const version = isOurs ? Number(read("schemaVersion")) : Number.NaN;
  if (version > schemaVersion) {
    throw new StoreTooNewError(
      `a newer turnlog wrote ${path} (schema ${version}, this one knows ${schemaVersion}): update turnlog`,
    );
  }
  const storeId = isOurs ? read("storeId") : undefined;
  if ((version !== schemaVersion && version !== schemaOfJson) || typeof storeId !== "string") {
    throw new StoreCorruptedError(`${path} is not ${kindNames[kind]}: choose another path`);
  }
  const lacking = tableNames.find((name) => !isThere(name));
  if (lacking !== undefined) {
    throw new StoreCorruptedError(`${path} is damaged, its table ${lacking} is missing: restore it from a copy`);
  }
  return storeId;
}

/**
 * Whether the file can hold events in lines. A file of schema 1 is raised if no other connection has it open: an older turnlog, which
 * knows only that schema, would not notice.
 */
export function takesLines(database: DatabaseSync): boolean {
  if (versionOf(database) === schemaVersion) return true;
  // SQLite leaves the WAL mode only for the one connection of a file; in this locking mode it keeps the lock until the version is written.
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  try {
    database.exec("PRAGMA journal_mode = DELETE");
    createTransactions(database).whole(() => {
      database.exec(keysTable);
      database.prepare("UPDATE meta SET value = ? WHERE name = 'schemaVersion'").run(String(schemaVersion));
    });
    return true;
  } catch (error) {
    if (isLocked(error)) return false;
    throw error;
  } finally {
    database.exec("PRAGMA locking_mode = NORMAL");
    // Reading something releases the lock.
    database.prepare("PRAGMA journal_mode = WAL").get();
    versionOf(database);
  }
}

const versionOf = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT value FROM meta WHERE name = 'schemaVersion'").get()?.["value"]);

const kindNames: Readonly<Record<FileKind, string>> = { store: "a turnlog store", views: "a file of turnlog's views" };
const tableNames = ["streams", "events", "snapshots"];

function createTables(database: DatabaseSync, kind: FileKind): void {
  database.exec(`PRAGMA application_id = ${applicationIds[kind]}`);
  database.exec(tables);
  const insert = database.prepare("INSERT INTO meta (name, value) VALUES (?, ?)");
  insert.run("schemaVersion", String(schemaVersion));
  insert.run("storeId", crypto.randomUUID());
  secureDelete.note(database);
}

/** Whether all connections that ever wrote the file have overwritten deleted data. A file of an older turnlog does not say so. */
export const secureDelete = {
  isNoted: (database: DatabaseSync): boolean =>
    database.prepare("SELECT 1 FROM meta WHERE name = 'secureDelete'").get() !== undefined,
  note: (database: DatabaseSync): void => {
    database.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('secureDelete', '1')");
  },
};

/** Whether the file has naming keys: one of schema 1 has none. */
export const hasKeys = (database: DatabaseSync): boolean => versionOf(database) === schemaVersion;

/** The naming keys of conversations in lines, by the stream of the oldest ancestor. Apart from the events, so that one can be destroyed. */
const keysTable = `
  CREATE TABLE keys (
    stream TEXT PRIMARY KEY,
    key TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

// AUTOINCREMENT prevents the reuse of a position. Events refer to their stream by its number.
const tables = `
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    digest TEXT NOT NULL
  ) STRICT;

  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT,
    frame TEXT,
    causation_id TEXT,
    tenant TEXT,
    key_id TEXT,
    nonce TEXT,
    encoding TEXT NOT NULL,
    data_digest TEXT NOT NULL,
    digest TEXT NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (stream, revision)
  ) STRICT;

  CREATE TABLE snapshots (
    stream TEXT NOT NULL,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (stream, projection, version, revision)
  ) STRICT;
  ${keysTable}
`;
