import type { DatabaseSync } from "node:sqlite";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../log/ports/event-store.ts";
import { createTransactions } from "./transaction.ts";

/** The schema that this code writes. A file with a greater number is from a newer turnlog. */
const schemaVersion = 1;

/** What a file of these tables is for: the events themselves, or what is derived of events that are kept elsewhere. */
export type FileKind = "store" | "views";

/** Stands in the file's header, so that a file is known even where the rest of it is damaged. */
const applicationIds: Readonly<Record<FileKind, number>> = { store: 0x746c6f67, views: 0x746c7677 };

export type SetupOptions = {
  readonly path: string;
  readonly kind: FileKind;
  readonly mustExist: boolean;
};

/** Sets the pragmas, creates the tables in a new file, checks an old one; answers the store's id. */
export function setUp(database: DatabaseSync, options: SetupOptions): string {
  const { path, kind } = options;
  // Before the pragmas, which would write to a file that is not ours.
  if (hasTables(database)) checkSchema(database, path, kind);
  else if (options.mustExist) throw new StoreNotFoundError(`there is no turnlog store in ${path}`);
  setPragmas(database, path);
  // Looked at again inside: two processes may open a new file at once.
  if (!hasTables(database)) {
    createTransactions(database).whole(() => {
      if (!hasTables(database)) createTables(database, kind);
    });
  }
  return checkSchema(database, path, kind);
}

function setPragmas(database: DatabaseSync, path: string): void {
  // The page size is laid down with the first page, so it comes before everything that writes.
  database.exec("PRAGMA page_size = 8192");
  const { journal_mode: journal } = database.prepare("PRAGMA journal_mode = WAL").get() ?? {};
  const wrong = durablePragmas
    .map(([name, wanted]) => ({ name, wanted, found: setPragma(database, name, wanted) }))
    .filter(({ wanted, found }) => found !== wanted);
  if ((journal === "wal" && wrong.length === 0) || path === ":memory:") return;
  const shown = [`journal ${String(journal)}`, ...wrong.map(({ name, found }) => `${name} ${String(found)}`)].join(
    ", ",
  );
  throw new StoreUnavailableError(`${path} cannot be kept safe (${shown}): choose a path on a local disk`);
}

/**
 * What makes an append survive the loss of power, and an erasure last, each set and read back. `synchronous = FULL` waits for `fsync`, which on macOS
 * leaves the data in the drive's own cache; the other two have SQLite ask for `F_FULLFSYNC` there, and other systems pass over them.
 */
const durablePragmas = [
  ["synchronous", 2],
  ["fullfsync", 1],
  ["checkpoint_fullfsync", 1],
  // Of `node:sqlite` it is off: what was deleted or shortened would stay in the file until its page is used again.
  ["secure_delete", 1],
] as const;

function setPragma(database: DatabaseSync, name: string, value: number): unknown {
  database.exec(`PRAGMA ${name} = ${value}`);
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

/** Whether anybody has made something of the file. */
export const hasTables = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;

/** Whether turnlog made the file for this; of a damaged one the header is enough. */
export const isOfKind = (database: DatabaseSync, kind: FileKind): boolean =>
  database.prepare("PRAGMA application_id").get()?.["application_id"] === applicationIds[kind];

/**
 * The id of the store in a file.
 *
 * @throws {StoreTooNewError} when a newer turnlog has written it.
 * @throws {StoreCorruptedError} when it is none, or lacks some of its tables.
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
      `${path} was written by a newer turnlog (schema ${version}, this one knows ${schemaVersion}): update turnlog`,
    );
  }
  const storeId = isOurs ? read("storeId") : undefined;
  if (version !== schemaVersion || typeof storeId !== "string") {
    throw new StoreCorruptedError(`${path} is not ${kindNames[kind]}: choose another path`);
  }
  const lacking = tableNames.find((name) => !isThere(name));
  if (lacking !== undefined) {
    throw new StoreCorruptedError(`${path} is damaged, its table ${lacking} is gone: restore it from a copy`);
  }
  return storeId;
}

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

/** Whether every connection that ever wrote the file has overwritten what it deleted. A file of an older turnlog does not say so. */
export const secureDelete = {
  isNoted: (database: DatabaseSync): boolean =>
    database.prepare("SELECT 1 FROM meta WHERE name = 'secureDelete'").get() !== undefined,
  note: (database: DatabaseSync): void => {
    database.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('secureDelete', '1')");
  },
};

// AUTOINCREMENT keeps a position from being used again. A stream's number stands for its name in each event.
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
`;
