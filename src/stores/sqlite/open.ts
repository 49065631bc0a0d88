import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreNotFoundError } from "../../engine/ports/event-store.ts";
import { storeError } from "./errors.ts";
import { setUp } from "./schema.ts";

export type OpenOptions = {
  /** Refuses to create a store: for commands that only read. */
  readonly mustExist?: boolean;
  /** How long a write waits for another process to finish its own. */
  readonly busyTimeoutMs?: number;
  /** Is told what an operator should know; by default a process warning. */
  readonly warn?: (message: string) => void;
};

export type OpenDatabase = { readonly database: DatabaseSync; readonly storeId: string };

/** Opens a file, creating a store in it unless told not to. */
export function openDatabase(path: string, options: OpenOptions): OpenDatabase {
  const { mustExist = false, busyTimeoutMs = 5_000, warn = emitWarning } = options;
  if (mustExist && !existsSync(path)) throw new StoreNotFoundError(`there is no turnlog store at ${path}`);
  try {
    const opened = tryOpen({ path, mustExist, busyTimeoutMs });
    warnOfOldSqlite(opened.database, warn);
    return opened;
  } catch (error) {
    throw storeError(error, path);
  }
}

function tryOpen(options: {
  readonly path: string;
  readonly mustExist: boolean;
  readonly busyTimeoutMs: number;
}): OpenDatabase {
  const database = new DatabaseSync(options.path);
  try {
    return { database, storeId: setUp(database, options) };
  } catch (error) {
    database.close();
    throw error;
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
