import { randomUUID } from "node:crypto";
import { chmodSync, chownSync, closeSync, fsyncSync, openSync, renameSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Only the user who makes a file reads it: conversations are nobody else's business. */
export const privateMode = 0o600;

/** Makes an empty file beside `target`, under a name that nobody can know before, and opens none that is there. */
export function createBeside(target: string): string {
  const path = `${target}.${randomUUID()}.tmp`;
  closeSync(openSync(path, "wx", privateMode));
  return path;
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

function takeAfter(path: string, { mode, uid, gid }: Stats): void {
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
