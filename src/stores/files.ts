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

/** The file that a path stands for, links followed to their end: what is renamed to it replaces the file, not the link. */
export function namedFile(path: string): string {
  const real = orMissing(() => realpathSync(path));
  if (real !== null) return real;
  // Nothing is there yet; a link may say where it is to be.
  const link = orMissing(() => readlinkSync(path));
  // It is said from where the link stands, and its folder may be named by a link as well.
  return link === null ? path : namedFile(resolve(realpathSync(dirname(path)), link));
}

/** What stands at a path, links followed; what is none of the others is a pipe or a device. */
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

/** Only the user who makes a file reads it: conversations are nobody else's business. */
export const privateMode = 0o600;

/** Makes an empty file beside `target`, under a name that nobody can know before, and opens none that is there. */
export function createBeside(target: string): string {
  const path = `${target}.${process.pid}.${crypto.randomUUID()}.tmp`;
  closeSync(openSync(path, "wx", privateMode));
  return path;
}

/** The `target` of a file that `createBeside` made, for messages; any other path as it is. */
export const targetBeside = (path: string): string => path.replace(besideName, "");

const besideName = /(?:\.(\d+))?\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/;

/** A file that takes longer to be written than this is still written to. */
const abandonedAfterMs = 60_000;

/** Deletes files in the folder of `target` that `createBeside` made in a process that is gone; answers their paths. */
export function removeAbandoned(target: string): readonly string[] {
  const folder = dirname(target);
  const removed: string[] = [];
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const pid = Number(besideName.exec(name)?.[1] ?? Number.NaN);
    const found = Number.isNaN(pid) ? undefined : statSync(path, { throwIfNoEntry: false });
    // A number says nothing of processes of other machines and containers: a copy that grows is somebody's.
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
 * Gives a finished file the name of `target`, and makes that durable. Its mode and owner become those of `model`, by default
 * of the file that it replaces.
 */
export function putInPlace(path: string, target: string, model = target): void {
  const found = statSync(model, { throwIfNoEntry: false });
  if (found !== undefined && process.platform !== "win32") takeAfter(path, found);
  renameSync(path, target);
  // Windows has no such thing, and needs none.
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

/** Gives a new file the mode of another one, and its owner and group as far as the system lets this user. */
export function takeAfter(path: string, { mode, uid, gid }: Stats): void {
  const own = statSync(path);
  if (own.uid !== uid) tryTo(() => chownSync(path, uid, own.gid));
  const isOfItsGroup = own.gid === gid || tryTo(() => chownSync(path, statSync(path).uid, gid));
  // What the old group might do, another one may not.
  chmodSync(path, mode & (isOfItsGroup ? 0o777 : 0o707));
}

/** Whether this user may do it: a file can be given away only by root, and to a group only by who is in it. */
function tryTo(change: () => void): boolean {
  try {
    change();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EPERM") return false;
    throw error;
  }
}
