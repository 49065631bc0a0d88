import { closeSync, openSync, readlinkSync, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { StoreReplacedError } from "../../log/ports/store-errors.ts";
import { namedFile } from "../files.ts";

export type PlaceCheck = {
  /** Checks a store's files before they are written or read. If they are gone, the error names that operation. */
  readonly confirm: (doing: "written" | "read") => void;
  readonly close: () => void;
};

/**
 * Remembers which files a database has open, by their current names, and returns a check that they are still there. A process that
 * writes to a file without its name writes where no process will read; one that reads such a file does not see what others
 * write.
 *
 * @param isReadOnly - Check only the store itself: writers create and remove the log.
 */
export function createPlaceCheck(path: string, { isReadOnly = false } = {}): PlaceCheck {
  if (path === ":memory:") return { confirm: () => undefined, close: () => undefined };
  const file = resolve(path);
  // SQLite follows links, and puts the log beside the target file.
  const log = `${namedFile(file)}-wal`;
  const opened = lookAt(file);
  const logCheck = isReadOnly ? null : createLogCheck(log);
  let confirmedMs = Number.NEGATIVE_INFINITY;
  return {
    confirm(doing) {
      const now = performance.now();
      if (doing === "read" && now - confirmedMs < readsShareMs) return;
      confirmedMs = Number.NEGATIVE_INFINITY;
      const found = lookAt(file);
      if (!isSameFile(found, opened)) {
        const what = found === undefined ? "was deleted" : "was replaced by another file";
        throw new StoreReplacedError(
          `${path} ${what} while it was open here: nothing was ${doing}; open the store again`,
        );
      }
      if (logCheck?.isThere() === false) {
        throw new StoreReplacedError(
          `${path} lost its log (${log}) while it was open here: nothing was ${doing}; open the store again`,
        );
      }
      confirmedMs = now;
    },
    close: () => logCheck?.close(),
  };
}

/**
 * Reads within this time share a look: what they return could have been read at its time. To open a conversation takes dozens of reads, which
 * would look at the files longer than at the rows. Every append looks for itself.
 */
const readsShareMs = 1;

type LogCheck = { readonly isThere: () => boolean; readonly close: () => void };

/**
 * Whether the log is still the file that it was. Every append writes the log and waits for the disk, and since Linux 6.13 a file whose times
 * were asked for gets a new time with its next write (multigrain timestamps), which the wait then includes. Node asks for the times with
 * everything else, so on Linux the check reads the name of an open file instead (decision 0154).
 */
function createLogCheck(log: string): LogCheck {
  const opened = lookAt(log);
  const isThere = (): boolean => isSameFile(lookAt(log), opened);
  const held = holdName(log);
  if (held === null) return { isThere, close: () => undefined };
  return { isThere: () => held.read() === held.name || isThere(), close: held.close };
}

/**
 * Holds a file open to read the name that it has now: it changes when the file is moved, deleted or replaced. Null where there is no such
 * name to read. SQLite has no locks on its log, so none are lost when it is closed.
 */
function holdName(path: string) {
  if (process.platform !== "linux") return null;
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, "r");
    const link = `/proc/self/fd/${descriptor}`;
    const [held, read] = [descriptor, () => readlinkSync(link)];
    return { name: read(), read, close: () => closeSync(held) };
  } catch {
    if (descriptor !== null) closeSync(descriptor);
    return null;
  }
}

// Numbers instead of bigints, which are slower. Rounding does not matter, because it is the same each time.
const lookAt = (path: string): Stats | undefined => statSync(path, orNothing);
const orNothing = { throwIfNoEntry: false } as const;

const isSameFile = (found: Stats | undefined, opened: Stats | undefined): boolean =>
  found?.ino === opened?.ino && found?.dev === opened?.dev;
