import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreUnavailableError } from "../../log/ports/event-store.ts";

/** A database that is read without a lock, because its folder takes no file for one. */
export type ImmutableFile = {
  readonly database: DatabaseSync;
  /** Another one when somebody has written. */
  readonly version: () => string;
  /**
   * Called after every look: what came of it is right where this returns.
   *
   * @throws {StoreUnavailableError} when somebody has written since the file was opened.
   */
  readonly confirm: () => void;
};

/**
 * Opens a file that this user may only read: SQLite needs a writable folder to share a WAL database, and reads it without
 * one as `immutable` only, which looks at no log and takes no lock. Null where a log has what the file has not, and where
 * this Node cannot do it.
 */
export function openImmutable(path: string): ImmutableFile | null {
  const real = realpathSync(path);
  const version = (): string => [real, ...logs.map((end) => `${real}${end}`)].map(stampOf).join(" ");
  const opened = version();
  if (logs.some((end) => (statSync(`${real}${end}`, { throwIfNoEntry: false })?.size ?? 0) > 0)) return null;
  const address = pathToFileURL(real);
  address.searchParams.set("immutable", "1");
  const database = tryOpen(address);
  if (database === null) return null;
  return {
    database,
    version,
    confirm() {
      if (version() === opened) return;
      throw new StoreUnavailableError(`${path} is being written by another process: do this again`);
    },
  };
}

const logs = ["-wal", "-journal"];

/** Opening a store makes an empty log; writing fills it, and later changes the file. */
function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined || found.size === 0n ? "" : `${found.dev}/${found.ino}/${found.size}/${found.mtimeNs}`;
}

// Before 22.15 Node takes no addresses.
function tryOpen(address: URL): DatabaseSync | null {
  try {
    return new DatabaseSync(address, { readOnly: true });
  } catch {
    return null;
  }
}
