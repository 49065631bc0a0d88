import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreUnavailableError } from "../../log/ports/store-errors.ts";

/** A database read without a lock, because its folder is not writable. */
export type ImmutableFile = {
  readonly database: DatabaseSync;
  /** Changes when another process has written. */
  readonly version: () => string;
  /**
   * Called after every read: if it returns, the result is right.
   *
   * @throws {StoreUnavailableError} if another process has written since the file was opened.
   */
  readonly confirm: () => void;
};

/**
 * Opens a file that this user may only read. SQLite needs a writable folder to share a WAL database. Without one it reads it only
 * as `immutable`, which ignores the log and takes no lock. Null if a log has data that the file lacks, or if
 * this Node does not support it.
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
      throw new StoreUnavailableError(`another process is writing ${path}: try again`);
    },
  };
}

const logs = ["-wal", "-journal"];

/** Opening a store creates an empty log; a write fills it, and later changes the file. */
function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined || found.size === 0n ? "" : `${found.dev}/${found.ino}/${found.size}/${found.mtimeNs}`;
}

// Node before 22.15 does not accept addresses.
function tryOpen(address: URL): DatabaseSync | null {
  try {
    return new DatabaseSync(address, { readOnly: true });
  } catch {
    return null;
  }
}
