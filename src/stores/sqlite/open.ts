import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { StoreNotFoundError, StoreUnavailableError } from "../../log/ports/event-store.ts";
import { namedFile, privateMode } from "../files.ts";
import { isNotWritable, notWritableReason, storeError } from "./errors.ts";
import { standStillMs } from "./guarded.ts";
import { openImmutable } from "./immutable-reader.ts";
import { checkSchema, type FileKind, setUp } from "./schema.ts";

export type SqliteOpenOptions = {
  /** @internal What the file is for; by default a store. */
  readonly kind?: FileKind;
  /** Refuses to create a store: for commands that only read. */
  readonly mustExist?: boolean;
  /** Opens also what this user may only read; appends are refused then. */
  readonly mayBeReadOnly?: boolean;
  /** How long opening, a write and a look wait for another process's lock, 5,000 by default; the event loop turns meanwhile. */
  readonly deadlineMs?: number;
  /** Is told what an operator should know; by default a process warning. */
  readonly warn?: (message: string) => void;
};

export type OpenDatabase = {
  readonly database: DatabaseSync;
  readonly storeId: string;
  /** Whether it was opened for who may only read the file. */
  readonly isReadOnly: boolean;
  /** Another one when another connection has committed. */
  readonly version: () => unknown;
  /** Called after every look; throws where what came of it may be wrong, which only reading without locks can be. */
  readonly confirm: () => void;
};

/** How long work waits for another process's lock, unless the caller says. */
export const defaultDeadlineMs = 5_000;

/** Opens a file, creating a store in it unless told not to. Another process's lock is waited for a moment only. */
export function openDatabase(path: string, options: SqliteOpenOptions): OpenDatabase {
  const { kind = "store", mustExist = false, mayBeReadOnly = false, warn = emitWarning } = options;
  if (mustExist && !existsSync(path)) throw new StoreNotFoundError(`there is no turnlog store at ${path}`);
  if (!mustExist && path !== ":memory:") makePrivate(path);
  const setup = { path, kind, mustExist };
  const open = (): OpenDatabase => tryOpen(path, (database) => setUp(database, setup));
  try {
    if (!mayBeReadOnly && isForReading(path)) throw notWritable(path);
    const opened = mayBeReadOnly ? orForReading(path, open) : open();
    warnOfOldSqlite(opened.database, warn);
    return opened;
  } catch (error) {
    throw storeError(error, path);
  }
}

/** Opens a store to be read once, and changes nothing in it. */
export function openForReading(path: string, busyTimeoutMs: number): OpenDatabase {
  const open = (): OpenDatabase =>
    tryOpen(path, (database) => {
      database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      return checkSchema(database, path);
    });
  return orForReading(path, open);
}

/** Makes a new file, which SQLite would make for everybody to read. Where that cannot be, SQLite says why. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(namedFile(path), "wx", privateMode));
  } catch {
    // It is there, or cannot be made.
  }
}

function tryOpen(
  path: string,
  storeIdOf: (database: DatabaseSync) => string,
  options: DatabaseSyncOptions = {},
): OpenDatabase {
  // As it is: SQLite would take a name that begins with `file:` for an address.
  const database = new DatabaseSync(path === ":memory:" ? path : resolve(path), options);
  try {
    database.exec(`PRAGMA busy_timeout = ${standStillMs}`);
    const storeId = storeIdOf(database);
    const select = database.prepare("PRAGMA data_version");
    const version = (): unknown => select.get()?.["data_version"];
    return { database, storeId, isReadOnly: options.readOnly === true, version, confirm: () => undefined };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** What `open` gives, or where that needs more than this user may do, the same for reading. */
function orForReading(path: string, open: () => OpenDatabase): OpenDatabase {
  if (isForReading(path)) return openAsReader(path);
  try {
    return open();
  } catch (error) {
    // The file may be written, and its folder not: then there is no place for a log.
    if (!isNotWritable(error) || !existsSync(path)) throw error;
    return openAsReader(path);
  }
}

/** Whether a file is there that this user may only read. */
const isForReading = (path: string): boolean => !isAllowed(path, constants.W_OK) && existsSync(path);

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens a file for who may only read it, and makes nothing beside it: SQLite would make a log that is the reader's, and keep
 * the file's owner from writing.
 */
function openAsReader(path: string): OpenDatabase {
  if (!isAllowed(path, constants.R_OK))
    throw new StoreUnavailableError(`${path} cannot be read: give this user read permission on it`);
  const settled = openImmutable(path);
  // With a log and its index there already, SQLite has nothing to make.
  const hasLog = ["-wal", "-shm"].every((end) => existsSync(`${path}${end}`));
  if (settled === null && !hasLog) throw notWritable(path);
  if (settled === null) return tryOpen(path, (database) => checkSchema(database, path), { readOnly: true });
  try {
    return { ...settled, storeId: checkSchema(settled.database, path), isReadOnly: true };
  } catch (problem) {
    settled.database.close();
    throw problem;
  }
}

const notWritable = (path: string): StoreUnavailableError => new StoreUnavailableError(`${path} ${notWritableReason}`);

// Before 3.51.3 several connections could lose committed pages when one of them reset the WAL.
function warnOfOldSqlite(database: DatabaseSync, warn: (message: string) => void): void {
  const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major * 1e6 + minor * 1e3 + patch >= 3_051_003) return;
  warn(`SQLite ${version} of this Node can damage a store that several processes write at once: use a newer Node`);
}

/** Tells an operator, where the caller does not say how. */
export function emitWarning(message: string): void {
  process.emitWarning(message, "TurnlogWarning");
}
