import { readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

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
