import { existsSync, lstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StoreCorruptedError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { namedFile } from "../files.ts";

/**
 * Translates an error of SQLite into a turnlog error, with one sentence that says what to do; other errors stay as they are. An error
 * about a statement, not about the file, is a bug of turnlog: no user of the file can fix it.
 */
export function storeError(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error;
  if (!("errcode" in error) || typeof error.errcode !== "number") return error;
  if (isOneOf(error, ofTheStatement)) {
    return new Error(`SQLite refused a statement of turnlog on ${path} (${error.message}); the file is not damaged`, {
      cause: error,
    });
  }
  const corrupted = corruptedReason(error.errcode);
  if (corrupted !== null) {
    const advice = isOneOf(error, [resultCodes.notADatabase])
      ? "restore it from a copy, or choose another path"
      : wayOut;
    return new StoreCorruptedError(`${path} ${corrupted}: ${advice}`, { cause: error });
  }
  return new StoreUnavailableError(`${path} ${unavailableReason(error.errcode, path) ?? `failed: ${error.message}`}`, {
    cause: error,
  });
}

/** Whether another connection's lock is in the way, as an error of SQLite or of turnlog. */
export const isLocked = (error: unknown): boolean =>
  isOneOf(error instanceof StoreUnavailableError ? error.cause : error, [resultCodes.busy, resultCodes.locked]);

/** Whether the cause may be that this user can only read. */
export const isNotWritable = (error: unknown): boolean =>
  isOneOf(error, [resultCodes.readOnly, resultCodes.permission, resultCodes.cannotOpen]);

/** Rows and snapshots are in pages of the same file, but a copy contains only the events. */
export const wayOut =
  "restore it from a copy, or, if the events are undamaged, copy them (`turnlog copy --to sqlite:other.db`)";

const isOneOf = (error: unknown, codes: readonly number[]): boolean =>
  error instanceof Error && "errcode" in error && codes.includes(primary(Number(error.errcode)));

// The low byte of an extended result code is the primary one.
const primary = (errcode: number): number => errcode & 0xff;

function corruptedReason(errcode: number): string | null {
  switch (primary(errcode)) {
    case resultCodes.corrupt:
      return "is damaged";
    case resultCodes.constraint:
      return "contradicts itself";
    case resultCodes.notADatabase:
      return "is not an SQLite database";
    default:
      return null;
  }
}

export const notWritableReason = "cannot be written: give this user write permission on the file and its folder";

function unavailableReason(errcode: number, path: string): string | null {
  switch (primary(errcode)) {
    case resultCodes.busy:
    case resultCodes.locked:
      return "is locked by another process: wait for it to finish, or end it";
    case resultCodes.readOnly:
    case resultCodes.permission:
      return notWritableReason;
    case resultCodes.full:
      return "cannot grow because the disk is full: free some space";
    case resultCodes.inputOutput:
      return "cannot be read or written: check the disk, then open the store again";
    case resultCodes.cannotOpen:
      return cannotOpenReason(path);
    default:
      return null;
  }
}

function cannotOpenReason(path: string): string {
  const file = linkedFile(path);
  if (file === null) return "is a link that leads back to itself: point the link at a file, or name another path";
  const folder = dirname(file);
  if (!existsSync(folder)) {
    if (file !== path) return `is a link to ${file}, which cannot be created: create the folder ${folder} first`;
    const isLink = lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (isLink) return `cannot be created: the folder ${folder} is a link to nothing; point it at a folder`;
    return `cannot be created: create the folder ${folder} first`;
  }
  if (!statSync(folder).isDirectory()) return `cannot be created: ${folder} is not a folder`;
  if (existsSync(path) && statSync(path).isDirectory()) return "is a folder: name a file in it";
  return `cannot be opened: give this user write permission on ${folder}`;
}

/** The file that a path resolves to; null if links form a circle. */
function linkedFile(path: string): string | null {
  try {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? namedFile(path) : path;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ELOOP") return null;
    return path;
  }
}

// https://sqlite.org/rescode.html
const resultCodes = {
  error: 1,
  internal: 2,
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  mismatch: 20,
  misuse: 21,
  range: 25,
  notADatabase: 26,
} as const;

const ofTheStatement = [
  ...[resultCodes.error, resultCodes.internal],
  ...[resultCodes.mismatch, resultCodes.misuse, resultCodes.range],
];
