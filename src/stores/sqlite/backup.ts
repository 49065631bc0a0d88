import { existsSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { checkFlag, checkText, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { StoreCorruptedError, StoreNotFoundError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { createBeside, kindAt, namedFile, putInPlace, removeAbandoned, syncPath } from "../files.ts";
import { isLocked, storeError, wayOut } from "./errors.ts";
import { forgetHeads } from "./heads-beside.ts";
import { type OpenDatabase, openForReading } from "./open.ts";
import { orphanEvents } from "./read.ts";
import { checkSchema, hasTables } from "./schema.ts";

/** The content of a checked file: a backup, or a restored store. */
export type CheckedFile = {
  readonly storeId: string;
  readonly streams: number;
  readonly events: number;
  readonly bytes: number;
};

/** Also lists the complete copies beside it that killed backups or restores had left, and that were deleted. */
export type WrittenFile = CheckedFile & { readonly removed: readonly string[] };

export type BackupOptions = {
  /** Replaces an existing file. */
  readonly force?: boolean;
};

const backupOptions = optionsOf<BackupOptions>({ force: checkFlag });

/**
 * Writes the current state of a store into one file, while other processes may write to the store. The copy is checked before it gets
 * its name: after a crash the file is complete or absent.
 *
 * @throws {StoreNotFoundError} if there is no store.
 * @throws {TurnlogError} `file-exists` if the file exists, unless forced; even if forced, when it is the store itself or not a
 *   file.
 * @throws {StoreCorruptedError} if the store is damaged, or the file is another program's database.
 * @throws {StoreUnavailableError} if the file is a store that another process has open; it is unchanged.
 */
export function backUpStore(path: string, backup: string, options: BackupOptions = {}): WrittenFile {
  const force = checkedForce("backUpStore", { path, backup, options });
  return copyOver(path, backup, { force, whenOpen: "end it, or name another file" });
}

/**
 * Replaces a store by a backup, which is checked first. The storeId stays: it is the same store at an earlier
 * time. A reader that followed the later one notices by the event at its position.
 *
 * @throws {StoreNotFoundError} if there is no backup.
 * @throws {TurnlogError} `file-exists` if the path has a store, unless forced; even if forced, when it is the backup itself or not a
 *   file.
 * @throws {StoreCorruptedError} if the backup is damaged, or is not one; the store is unchanged.
 * @throws {StoreUnavailableError} if another process has the store open; it is unchanged.
 */
export function restoreStore(backup: string, path: string, options: BackupOptions = {}): WrittenFile {
  const force = checkedForce("restoreStore", { path, backup, options });
  return copyOver(backup, path, { force, whenOpen: "end it, then restore again" });
}

type Asked = { readonly path: string; readonly backup: string; readonly options: BackupOptions };

function checkedForce(where: string, { path, backup, options }: Asked): boolean {
  checkText(`${where}: the store's path`, path, "the path of a file");
  checkText(`${where}: the backup's path`, backup, "the path of a file");
  backupOptions.check(where, options);
  return options.force ?? false;
}

type Over = { readonly force: boolean; readonly whenOpen: string };

/** A store is never replaced while a process has it open: what that process writes afterwards would be lost. */
function copyOver(source: string, name: string, { force, whenOpen }: Over): WrittenFile {
  const target = resolve(namedFile(name));
  const kind = kindAt(target);
  if (kind === "folder") throw new TurnlogError("file-exists", `${name} is a folder: name a file in it`);
  if (kind === "stream")
    throw new TurnlogError("file-exists", `${name} is a pipe or a device, but a store needs a file: name a file`);
  if (isOneFile(source, target))
    throw new TurnlogError("file-exists", `${source} and ${name} are the same file: name another`);
  if (kind === "file" && !force) throw exists(name);
  const { temporary, checked } = copyWhole(source, target);
  let old: OldStore | null = null;
  try {
    old = existsSync(target) ? takeOut(target, whenOpen) : null;
    // They belong to the old file, and SQLite would read them as parts of the new one.
    for (const end of companions) rmSync(`${target}${end}`, { force: true });
    // The saved heads of the old file no longer apply.
    forgetHeads(target);
    putInPlace(temporary, target);
    old?.giveUp();
  } finally {
    rmSync(temporary, { force: true });
    old?.close();
  }
  return { ...checked, removed: removeAbandoned(target) };
}

/** Compares device and inode, because a file may have several names. */
function isOneFile(left: string, right: string): boolean {
  const [one, other] = [left, right].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

const companions = ["-wal", "-shm", "-journal"];

const exists = (path: string): TurnlogError =>
  new TurnlogError("file-exists", `${path} already exists: name another file, or replace it with --force`);

/** A compact copy beside `target`, including what is only in the source's log, and checked. */
function copyWhole(source: string, target: string): { readonly temporary: string; readonly checked: CheckedFile } {
  if (!existsSync(source)) throw new StoreNotFoundError(`there is no turnlog store at ${source}`);
  // Created here, so that an error about an unwritable target does not look like a fault of the source.
  const temporary = createBeside(target);
  try {
    copyInto(source, temporary);
    const checked = checkFile(temporary, source);
    syncPath(temporary);
    return { temporary, checked };
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function copyInto(source: string, temporary: string): void {
  let opened: OpenDatabase | null = null;
  try {
    opened = openForReading(source, busyTimeoutMs);
    // Reads one snapshot, however long it takes; other processes can write meanwhile.
    opened.database.prepare("VACUUM INTO ?").run(temporary);
    opened.confirm();
  } catch (error) {
    opened?.confirm();
    throw storeError(error, source);
  } finally {
    opened?.database.close();
  }
}

const busyTimeoutMs = 5_000;

/** @throws {StoreCorruptedError} if pages are damaged, or a stream's head is not its newest event. */
function checkFile(path: string, source: string): CheckedFile {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path);
    return checkDatabase(database, source);
  } catch (error) {
    throw storeError(error, path);
  } finally {
    database?.close();
  }
}

/** @throws {StoreCorruptedError} if pages are damaged, a stream's head is not its newest event, or events have no stream. */
function checkDatabase(database: DatabaseSync, source: string): CheckedFile {
  const problem = database.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
  if (problem !== "ok") throw new StoreCorruptedError(`${source} is damaged (${String(problem)}): ${wayOut}`);
  const wrong = database.prepare(wrongHeads).get()?.["name"];
  if (wrong !== undefined) {
    throw new StoreCorruptedError(`${source} is damaged: ${String(wrong)} does not end with its head`);
  }
  const [stray] = orphanEvents(database);
  if (stray !== undefined)
    throw new StoreCorruptedError(`${source} is damaged: the events of ${stray.place} have no stream`);
  const count = (query: string): number => Number(database.prepare(query).get()?.["count"]);
  return {
    storeId: checkSchema(database, source),
    streams: count("SELECT count(*) AS count FROM streams"),
    events: count("SELECT count(*) AS count FROM events"),
    bytes: count("SELECT page_count * page_size AS count FROM pragma_page_count, pragma_page_size"),
  };
}

const wrongHeads = `
  SELECT streams.name FROM streams
  LEFT JOIN (SELECT stream, max(revision) AS revision, count(*) AS events FROM events GROUP BY stream) AS newest
    ON newest.stream = streams.number
  LEFT JOIN events AS event ON event.stream = streams.number AND event.revision = streams.revision
  WHERE newest.revision IS NOT streams.revision OR newest.events <> streams.revision + 1
    OR event.digest IS NOT streams.digest
  LIMIT 1`;

type OldStore = { readonly giveUp: () => void; readonly close: () => void };

/**
 * Locks the store that will be replaced; null if SQLite finds it too damaged to open.
 *
 * @throws {StoreUnavailableError} if another process has it open, or this process may not write it.
 * @throws {StoreCorruptedError} if it is another program's database.
 */
function takeOut(path: string, whenOpen: string): OldStore | null {
  // With other names it remains a store.
  const isOnlyName = statSync(path).nlink === 1;
  const database = new DatabaseSync(path);
  let isStore: boolean;
  try {
    isStore = hasTables(database);
    if (isStore) checkSchema(database, path);
    // Only the sole connection can leave WAL mode, which also writes the WAL's content into the file.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const told = storeError(error, path);
    if (told === error) throw error;
    if (told instanceof StoreCorruptedError) return null;
    if (!isLocked(error)) throw told;
    throw new StoreUnavailableError(`${path} is open in another process: ${whenOpen}`, { cause: error });
  }
  return {
    // A process that has just opened the old file and waits for its lock must not write where no process will read.
    giveUp() {
      if (isStore && isOnlyName) database.exec("DELETE FROM meta; COMMIT");
    },
    close() {
      database.close();
    },
  };
}
