import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../engine/ports/event-store.ts";
import { createTransactions } from "./transaction.ts";

/** The schema that this code writes. A file with a greater number is from a newer turnlog. */
const schemaVersion = 1;

export type SetupOptions = { readonly path: string; readonly mustExist: boolean; readonly busyTimeoutMs: number };

/** Sets the pragmas, creates the tables in a new file, checks an old one; answers the store's id. */
export function setUp(database: DatabaseSync, options: SetupOptions): string {
  database.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
  // Before the pragmas, which would write to a file that is not ours.
  if (hasTables(database)) checkSchema(database, options.path);
  else if (options.mustExist) throw new StoreNotFoundError(`there is no turnlog store in ${options.path}`);
  setPragmas(database, options.path);
  // Looked at again inside: two processes may open a new file at once.
  if (!hasTables(database)) {
    createTransactions(database).whole(() => {
      if (!hasTables(database)) createTables(database);
    });
  }
  return checkSchema(database, options.path);
}

function setPragmas(database: DatabaseSync, path: string): void {
  // The page size is laid down with the first page, so it comes before everything that writes.
  database.exec("PRAGMA page_size = 8192");
  const { journal_mode: journal } = database.prepare("PRAGMA journal_mode = WAL").get() ?? {};
  database.exec("PRAGMA synchronous = FULL");
  const { synchronous } = database.prepare("PRAGMA synchronous").get() ?? {};
  const isDurable = journal === "wal" && synchronous === 2;
  if (!isDurable && path !== ":memory:") {
    throw new StoreUnavailableError(
      `${path} cannot be kept safe (journal ${String(journal)}, synchronous ${String(synchronous)}): choose a path on a local disk`,
    );
  }
}

/** Whether anybody has made something of the file. */
export const hasTables = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;

/**
 * The id of the store in a file.
 *
 * @throws {StoreTooNewError} when a newer turnlog has written it.
 * @throws {StoreCorruptedError} when it is none.
 */
export function checkSchema(database: DatabaseSync, path: string): string {
  const read = (name: string): unknown =>
    database.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.["value"];
  const isOurs = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() !== undefined;
  const version = isOurs ? Number(read("schemaVersion")) : Number.NaN;
  if (version > schemaVersion) {
    throw new StoreTooNewError(
      `${path} was written by a newer turnlog (schema ${version}, this one knows ${schemaVersion}): update turnlog`,
    );
  }
  const storeId = isOurs ? read("storeId") : undefined;
  if (version !== schemaVersion || typeof storeId !== "string") {
    throw new StoreCorruptedError(`${path} is not a turnlog store: choose another path`);
  }
  return storeId;
}

function createTables(database: DatabaseSync): void {
  database.exec(tables);
  const insert = database.prepare("INSERT INTO meta (name, value) VALUES (?, ?)");
  insert.run("schemaVersion", String(schemaVersion));
  insert.run("storeId", randomUUID());
}

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

  CREATE TABLE keyframes (
    stream TEXT NOT NULL,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (stream, projection, version, revision)
  ) STRICT;
`;
