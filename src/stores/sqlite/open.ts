import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { StoreNotFoundError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { namedFile, privateMode } from "../files.ts";
import { isNotWritable, notWritableReason, storeError } from "./errors.ts";
import { standStillMs } from "./guarded.ts";
import { openImmutable } from "./immutable-reader.ts";
import { checkSchema, type FileKind, setUp } from "./schema.ts";

export type SqliteOpenOptions = {
  /** @internal The purpose of the file; by default a store. */
  readonly kind?: FileKind;
  /** Does not create a store: for commands that only read. */
  readonly mustExist?: boolean;
  /** Also opens a file that this user may only read; appends are then rejected. */
  readonly mayBeReadOnly?: boolean;
  /** How long opening, a write and a read wait for another process's lock (default 5,000); the event loop runs meanwhile. */
  readonly deadlineMs?: number;
  /** Called with messages for an operator; by default emits a process warning. */
  readonly warn?: (message: string) => void;
};

export type OpenDatabase = {
  readonly database: DatabaseSync;
  readonly storeId: string;
  /** Whether it was opened for a user who may only read the file. */
  readonly isReadOnly: boolean;
  /** Changes when another connection has committed. */
  readonly version: () => unknown;
  /** Called after every read; throws if the result may be wrong, which is possible only when reading without locks. */
  readonly confirm: () => void;
};

/** How long work waits for another process's lock, unless the caller sets it. */
export const defaultDeadlineMs = 5_000;

/** Opens a file, and creates a store in it unless `mustExist` is set. Waits only briefly for another process's lock. */
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

/** Opens a store for one read, and changes nothing in it. */
export function openForReading(path: string, busyTimeoutMs: number): OpenDatabase {
  const open = (): OpenDatabase =>
    tryOpen(path, (database) => {
      database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      return checkSchema(database, path);
    });
  return orForReading(path, open);
}

/** Creates a private file: SQLite would create one that everybody can read. If that fails, SQLite will say why. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(namedFile(path), "wx", privateMode));
  } catch {
    // It exists, or cannot be created.
  }
}

function tryOpen(
  path: string,
  storeIdOf: (database: DatabaseSync) => string,
  options: DatabaseSyncOptions = {},
): OpenDatabase {
  // Resolved, because SQLite would parse a name that begins with `file:` as an address.
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

/** Returns the result of `open`, or, if that needs more rights than this user has, opens for reading. */
function orForReading(path: string, open: () => OpenDatabase): OpenDatabase {
  if (isForReading(path)) return openAsReader(path);
  try {
    return open();
  } catch (error) {
    // If the file is writable but its folder is not, the log cannot be created.
    if (!isNotWritable(error) || !existsSync(path)) throw error;
    return openAsReader(path);
  }
}

/** Whether the file exists and this user may only read it. */
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
 * Opens a file that this user may only read, and creates nothing beside it: SQLite would create a log that belongs to the reader, and
 * then the file's owner could not write.
 */
function openAsReader(path: string): OpenDatabase {
  if (!isAllowed(path, constants.R_OK))
    throw new StoreUnavailableError(`${path} cannot be read: give this user read permission on it`);
  const settled = openImmutable(path);
  // If the log and its index exist, SQLite creates nothing.
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

// Before 3.51.3, several connections could lose committed pages when one of them reset the WAL.
function warnOfOldSqlite(database: DatabaseSync, warn: (message: string) => void): void {
  const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major * 1e6 + minor * 1e3 + patch >= 3_051_003) return;
  warn(`SQLite ${version} of this Node can damage a store that several processes write at once: use a newer Node`);
}

/** Warns an operator, unless the caller passes `warn`. */
export function emitWarning(message: string): void {
  process.emitWarning(message, "TurnlogWarning");
}
