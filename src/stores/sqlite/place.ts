import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { StoreReplacedError } from "../../log/ports/store-errors.ts";
import { namedFile } from "../files.ts";

/** Checks a store's files before they are written or read. If they are gone, the error names that operation. */
export type PlaceCheck = (doing: "written" | "read") => void;

/**
 * Remembers which files a database has open, by their current names, and returns a check that they are still there. A process that
 * writes to a file without its name writes where no process will read; one that reads such a file does not see what others
 * write.
 *
 * @param isReadOnly - Check only the store itself: writers create and remove the log.
 */
export function createPlaceCheck(path: string, { isReadOnly = false } = {}): PlaceCheck {
  if (path === ":memory:") return () => undefined;
  const file = resolve(path);
  // SQLite follows links, and puts the log beside the target file.
  const log = `${namedFile(file)}-wal`;
  const [openedFile, openedLog] = [lookAt(file), lookAt(log)];
  return (doing) => {
    const found = lookAt(file);
    if (!isSameFile(found, openedFile)) {
      const what = found === undefined ? "was deleted" : "was replaced by another file";
      throw new StoreReplacedError(
        `${path} ${what} while it was open here: nothing was ${doing}; open the store again`,
      );
    }
    if (!isReadOnly && !isSameFile(lookAt(log), openedLog)) {
      throw new StoreReplacedError(
        `${path} lost its log (${log}) while it was open here: nothing was ${doing}; open the store again`,
      );
    }
  };
}

// Numbers instead of bigints, which are slower. Rounding does not matter, because it is the same each time.
const lookAt = (path: string): Stats | undefined => statSync(path, orNothing);
const orNothing = { throwIfNoEntry: false } as const;

const isSameFile = (found: Stats | undefined, opened: Stats | undefined): boolean =>
  found?.ino === opened?.ino && found?.dev === opened?.dev;
