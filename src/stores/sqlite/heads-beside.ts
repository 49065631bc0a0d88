import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Head } from "../../log/ports/event-store.ts";
import { createBeside, namedFile, putInPlace, removeAbandoned, syncPath } from "../files.ts";
import { endLine, headerLine, headLine, headsBegin, type LogEnd, parseHeads } from "../saved-heads.ts";

/**
 * Heads in a file beside the store. SQLite drops the end of a damaged log silently, and the rest is a sound store:
 * only data kept elsewhere shows that there was more.
 */
export type HeadsBeside = {
  /** The saved heads of this store; empty if none were saved. */
  read(): ReadonlyMap<string, Head>;
  /** Adds heads written since the last save, unless a saved one is gone: `verify` must be able to report that. */
  add(): void;
  /** Saves all heads again. Earlier losses are no longer reported. */
  saveAll(): void;
};

export type HeadsBesideOptions = { readonly path: string; readonly storeId: string };

/** Deletes the saved heads of a store, so that another can take its place. */
export function forgetHeads(path: string): void {
  const file = headsPath(path);
  if (!isOthers(file)) rmSync(file, { force: true });
}

const headsPath = (path: string): string => `${namedFile(resolve(path))}.heads`;

export function createHeadsBeside(database: DatabaseSync, { path, storeId }: HeadsBesideOptions): HeadsBeside {
  const file = headsPath(path);
  const log = createLogEnds(database);

  /** The file's saved heads of this store; `textOf` reads the file, or the part that is needed. */
  function saved(textOf: (file: string) => string) {
    const found = existsSync(file) ? parseHeads(textOf(file)) : null;
    return found?.storeId === storeId ? found : null;
  }

  function saveAll(): void {
    if (isOthers(file)) throw new Error(`${file} belongs to another program`);
    // Read before the heads, which may then be newer: the next call adds events after this end.
    const end = log.end();
    const temporary = createBeside(file);
    try {
      const target = openSync(temporary, "r+");
      try {
        writeSync(target, headerLine(storeId));
        for (const lines of log.headLines()) writeSync(target, lines);
        if (end !== null) writeSync(target, endLine(end));
      } finally {
        closeSync(target);
      }
      syncPath(temporary);
      putInPlace(temporary, file, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  /** Deletes what a process that was killed while it saved has left. */
  function removeLeft(): void {
    try {
      removeAbandoned(file, "own");
    } catch {
      // The folder may not be listed: the heads are saved all the same.
    }
  }

  return {
    read: () => saved(wholeText)?.heads ?? new Map<string, Head>(),
    saveAll,
    add() {
      removeLeft();
      const last = saved(firstAndLastLines)?.end ?? saved(wholeText)?.end ?? null;
      const end = log.end();
      if (last !== null && (end === null || !log.has(last) || last.position === end.position)) return;
      const streams = log.streams();
      const isFar = last === null || end === null || BigInt(end.position) - BigInt(last.position) > streams;
      if (isFar || statSync(file).size > bytesSpare + bytesOfHead * streams) saveAll();
      // Begin with a line break, so that a line that a crash cut short stays separate.
      else appendFileSync(file, ["\n", ...log.headLinesSince(last), endLine(end)].join(""));
    },
  };
}

const wholeText = (file: string): string => readFileSync(file, "utf8");

/** The first line and the last lines of a file: its store and the end that it covers, without reading all of it. */
function firstAndLastLines(file: string): string {
  const handle = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(1_024);
    const textAt = (position: number): string =>
      bytes.toString("utf8", 0, readSync(handle, bytes, 0, bytes.length, position));
    const { size } = fstatSync(handle);
    if (size <= bytes.length) return textAt(0);
    const [[first = ""], [, ...last]] = [textAt(0).split("\n"), textAt(size - bytes.length).split("\n")];
    return [first, ...last].join("\n");
  } finally {
    closeSync(handle);
  }
}

/** Whether a file with that name exists that turnlog did not write. */
const isOthers = (file: string): boolean => {
  if (!existsSync(file) || statSync(file).size === 0) return false;
  return !firstAndLastLines(file).startsWith(headsBegin);
};

// A file longer than its heads need is rewritten.
const bytesOfHead = 512;
const bytesSpare = 1024 * 1024;

function createLogEnds(database: DatabaseSync) {
  const end = database.prepare(
    "SELECT CAST(position AS TEXT) AS position, digest FROM events ORDER BY events.position DESC LIMIT 1",
  );
  const digestAt = database.prepare("SELECT digest FROM events WHERE position = ?");
  const streams = database.prepare("SELECT max(number) AS streams FROM streams");
  const heads = database.prepare("SELECT name, CAST(revision AS REAL) AS revision, digest FROM streams");
  const headsSince = database.prepare(
    `SELECT name, CAST(revision AS REAL) AS revision, digest FROM streams
     WHERE number IN (SELECT stream FROM events WHERE position > ?)`,
  );
  // Rows are cast to the columns that their statement selects; the tables are STRICT.
  const lineOf = (row: object): string => {
    const { name, ...head } = row as Head & { readonly name: string };
    return headLine(name, head);
  };
  return {
    end: () => (end.get() as LogEnd | undefined) ?? null,
    has: ({ position, digest }: LogEnd): boolean => digestAt.get(BigInt(position))?.["digest"] === digest,
    streams: (): number => Number(streams.get()?.["streams"] ?? 0),
    headLines: () => inChunks(heads.iterate(), lineOf),
    headLinesSince: ({ position }: LogEnd) => headsSince.all(BigInt(position)).map(lineOf),
  };
}

function* inChunks<T>(items: Iterable<T>, lineOf: (item: T) => string): Iterable<string> {
  let lines: string[] = [];
  for (const item of items) {
    if (lines.push(lineOf(item)) < 1_000) continue;
    yield lines.join("");
    lines = [];
  }
  yield lines.join("");
}
