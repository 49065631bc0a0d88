import { existsSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { checkFlag, checkText, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { StoreCorruptedError, StoreNotFoundError, StoreUnavailableError } from "../../log/ports/event-store.ts";
import { createBeside, kindAt, namedFile, putInPlace, removeAbandoned, syncPath } from "../files.ts";
import { isLocked, storeError, wayOut } from "./errors.ts";
import { forgetHeads } from "./heads-beside.ts";
import { type OpenDatabase, openForReading } from "./open.ts";
import { orphanEvents } from "./read.ts";
import { checkSchema, hasTables } from "./schema.ts";

/** What a file holds, once it was checked: a backup, or the store that one was restored to. */
export type CheckedFile = {
  readonly storeId: string;
  readonly streams: number;
  readonly events: number;
  readonly bytes: number;
};

/** The same, and the whole copies beside it that a killed backup or restore had left: they are deleted. */
export type WrittenFile = CheckedFile & { readonly removed: readonly string[] };

export type BackupOptions = {
  /** Takes the place of what is there. */
  readonly force?: boolean;
};

const backupOptions = optionsOf<BackupOptions>({ force: checkFlag });

/**
 * Writes a store as it is at this moment into one file, while others may write to it. The copy is checked before it takes
 * its name: a crash leaves it whole or not at all.
 *
 * @throws {StoreNotFoundError} when there is no store.
 * @throws {TurnlogError} `file-exists` when the file is there, unless forced; when it is the store itself, or no file at all, in any
 *   case.
 * @throws {StoreCorruptedError} when the store is damaged, or the file is another program's database.
 * @throws {StoreUnavailableError} when the file is a store that somebody has open; it is as it was.
 */
export function backUpStore(path: string, backup: string, options: BackupOptions = {}): WrittenFile {
  const force = checkedForce("backUpStore", { path, backup, options });
  return copyOver(path, backup, { force, whenOpen: "end it, or name another file" });
}

/**
 * Puts a backup in a store's place, checked before it gets there. It keeps its storeId: it is the same store at an earlier
 * time, and a reader who followed the later one sees it by the event at their position.
 *
 * @throws {StoreNotFoundError} when there is no backup.
 * @throws {TurnlogError} `file-exists` when there is a store at the path, unless forced; when it is the backup itself, or no file at all,
 *   in any case.
 * @throws {StoreCorruptedError} when the backup is damaged, or is none; the store is as it was.
 * @throws {StoreUnavailableError} when another process has the store open; it is as it was.
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

/** Nothing that may be a store is replaced while somebody has it open: what is written through it after that would be lost. */
function copyOver(source: string, name: string, { force, whenOpen }: Over): WrittenFile {
  const target = resolve(namedFile(name));
  const kind = kindAt(target);
  if (kind === "folder") throw new TurnlogError("file-exists", `${name} is a folder: name a file in it`);
  if (kind === "stream")
    throw new TurnlogError("file-exists", `${name} is a pipe or a device, and a store needs a file: name one`);
  if (isOneFile(source, target))
    throw new TurnlogError("file-exists", `${source} and ${name} are one file: name another`);
  if (kind === "file" && !force) throw exists(name);
  const { temporary, checked } = copyWhole(source, target);
  let old: OldStore | null = null;
  try {
    old = existsSync(target) ? takeOut(target, whenOpen) : null;
    // They belong to the old file, and would be read as parts of the new one.
    for (const end of companions) rmSync(`${target}${end}`, { force: true });
    // What the old one had later was given up with it.
    forgetHeads(target);
    putInPlace(temporary, target);
    old?.giveUp();
  } finally {
    rmSync(temporary, { force: true });
    old?.close();
  }
  return { ...checked, removed: removeAbandoned(target) };
}

/** By device and number: a file may have several names. */
function isOneFile(left: string, right: string): boolean {
  const [one, other] = [left, right].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

const companions = ["-wal", "-shm", "-journal"];

const exists = (path: string): TurnlogError =>
  new TurnlogError("file-exists", `${path} is there already: name another file, or replace it with --force`);

/** A compact copy beside `target`, complete with what is still in the source's log, and checked. */
function copyWhole(source: string, target: string): { readonly temporary: string; readonly checked: CheckedFile } {
  if (!existsSync(source)) throw new StoreNotFoundError(`there is no turnlog store at ${source}`);
  // Made here, so that a place that cannot be written is told as such, and not as a fault of the source.
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
    // Reads one snapshot, however long it takes; others go on writing.
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

/** @throws {StoreCorruptedError} when pages are damaged, or a stream's head is not its newest event. */
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

/** @throws {StoreCorruptedError} when pages are damaged, a stream's head is not its newest event, or events have no stream. */
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
 * Locks the store that is to be replaced; null where SQLite finds it too damaged to open.
 *
 * @throws {StoreUnavailableError} when another process has it open, or this one may not write it.
 * @throws {StoreCorruptedError} when it is another program's database.
 */
function takeOut(path: string, whenOpen: string): OldStore | null {
  // Under its other names it stays a store.
  const isOnlyName = statSync(path).nlink === 1;
  const database = new DatabaseSync(path);
  let isStore: boolean;
  try {
    isStore = hasTables(database);
    if (isStore) checkSchema(database, path);
    // Leaving the WAL succeeds for the only connection, and writes what the WAL holds into the file.
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
    // Who opened the old file in this moment, and waits for its lock, must not write where nobody will read.
    giveUp() {
      if (isStore && isOnlyName) database.exec("DELETE FROM meta; COMMIT");
    },
    close() {
      database.close();
    },
  };
}
