import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The file that a path resolves to, through all links: a rename to it replaces the file, not the link. */
export function namedFile(path: string): string {
  const real = orMissing(() => realpathSync(path));
  if (real !== null) return real;
  // The file does not exist yet; a link may name its place.
  const link = orMissing(() => readlinkSync(path));
  // The target is relative to the link, and the link's folder may itself be reached by a link.
  return link === null ? path : namedFile(resolve(realpathSync(dirname(path)), link));
}

/** The kind of what is at a path, through links; `stream` is a pipe or a device. */
export function kindAt(path: string): "nothing" | "file" | "folder" | "stream" {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "nothing";
  if (found.isFile()) return "file";
  return found.isDirectory() ? "folder" : "stream";
}

function orMissing(look: () => string): string | null {
  try {
    return look();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Only the user who creates a file can read it, because conversations are private. */
export const privateMode = 0o600;

/** Creates an empty file beside `target`, with an unpredictable name, and never opens an existing one. */
export function createBeside(target: string): string {
  const path = `${target}.${process.pid}.${crypto.randomUUID()}.tmp`;
  closeSync(openSync(path, "wx", privateMode));
  return path;
}

/** The `target` of a file from `createBeside`, for messages; other paths stay as they are. */
export const targetBeside = (path: string): string => path.replace(besideName, "");

const besideName = /(?:\.(\d+))?\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/;

/** A file modified within this time may still be in use. */
const abandonedAfterMs = 60_000;

/**
 * Deletes files that `createBeside` created in a process that is gone, and returns their paths: those of `target` (`own`), or all in its
 * folder.
 */
export function removeAbandoned(target: string, which: "own" | "all" = "all"): readonly string[] {
  const folder = dirname(target);
  const removed: string[] = [];
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (which === "own" && targetBeside(path) !== target) continue;
    const pid = Number(besideName.exec(name)?.[1] ?? Number.NaN);
    const found = Number.isNaN(pid) ? undefined : statSync(path, { throwIfNoEntry: false });
    // The number says nothing about processes of other machines and containers: a growing copy is in use.
    if (found === undefined || isRunning(pid) || Date.now() - found.mtimeMs < abandonedAfterMs) continue;
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    removed.push(path);
  }
  return removed;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Renames a finished file to `target`, durably. Its mode and owner become those of `model`, by default
 * of the file that it replaces.
 */
export function putInPlace(path: string, target: string, model = target): void {
  const found = statSync(model, { throwIfNoEntry: false });
  if (found !== undefined && process.platform !== "win32") takeAfter(path, found);
  renameSync(path, target);
  // Windows has no such call, and needs none.
  if (process.platform !== "win32") syncPath(dirname(target));
}

/** Makes a file, or the names in a folder, durable. */
export function syncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Gives a new file the mode of another one, and its owner and group if the system allows this user to. */
export function takeAfter(path: string, { mode, uid, gid }: Stats): void {
  const own = statSync(path);
  if (own.uid !== uid) tryTo(() => chownSync(path, uid, own.gid));
  const isOfItsGroup = own.gid === gid || tryTo(() => chownSync(path, statSync(path).uid, gid));
  // Another group must not get the rights of the old group.
  chmodSync(path, mode & (isOfItsGroup ? 0o777 : 0o707));
}

/** Whether this user may do it: only root can give away a file, and only a member can give it to a group. */
function tryTo(change: () => void): boolean {
  try {
    change();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EPERM") return false;
    throw error;
  }
}
