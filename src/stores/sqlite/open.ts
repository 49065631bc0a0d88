import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreNotFoundError } from "../../engine/ports/event-store.ts";
import { isNotWritable, storeError } from "./errors.ts";
import { checkSchema, setUp } from "./schema.ts";
import { openSettled } from "./settled.ts";

export type OpenOptions = {
  /** Refuses to create a store: for commands that only read. */
  readonly mustExist?: boolean;
  /** Opens also what this user may only read; appends are refused then. */
  readonly mayBeReadOnly?: boolean;
  /** How long a write waits for another process to finish its own. */
  readonly busyTimeoutMs?: number;
  /** Is told what an operator should know; by default a process warning. */
  readonly warn?: (message: string) => void;
};

export type OpenDatabase = {
  readonly database: DatabaseSync;
  readonly storeId: string;
  /** Another one when another connection has committed. */
  readonly version: () => unknown;
  /** Called after every look; throws where what came of it may be wrong, which only reading without locks can be. */
  readonly confirm: () => void;
};

/** Opens a file, creating a store in it unless told not to. */
export function openDatabase(path: string, options: OpenOptions): OpenDatabase {
  const { mustExist = false, mayBeReadOnly = false, busyTimeoutMs = 5_000, warn = emitWarning } = options;
  if (mustExist && !existsSync(path)) throw new StoreNotFoundError(`there is no turnlog store at ${path}`);
  const open = (): OpenDatabase => tryOpen(path, (database) => setUp(database, { path, mustExist, busyTimeoutMs }));
  try {
    const opened = mayBeReadOnly ? orSettled(path, open) : open();
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
  return orSettled(path, open);
}

function tryOpen(path: string, storeIdOf: (database: DatabaseSync) => string): OpenDatabase {
  const database = new DatabaseSync(path);
  try {
    const storeId = storeIdOf(database);
    const select = database.prepare("PRAGMA data_version");
    return { database, storeId, version: () => select.get()?.["data_version"], confirm: () => undefined };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** What `open` gives, or where that needs more than this user may do, the same for reading. */
function orSettled(path: string, open: () => OpenDatabase): OpenDatabase {
  try {
    return open();
  } catch (error) {
    const settled = isNotWritable(error) && existsSync(path) ? openSettled(path) : null;
    if (settled === null) throw error;
    try {
      return { ...settled, storeId: checkSchema(settled.database, path) };
    } catch (problem) {
      settled.database.close();
      throw problem;
    }
  }
}

// Before 3.51.3 several connections could lose committed pages when one of them reset the WAL.
function warnOfOldSqlite(database: DatabaseSync, warn: (message: string) => void): void {
  const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major * 1e6 + minor * 1e3 + patch >= 3_051_003) return;
  warn(`SQLite ${version} of this Node can damage a store that several processes write at once: use a newer Node`);
}

function emitWarning(message: string): void {
  process.emitWarning(message, "TurnlogWarning");
}
