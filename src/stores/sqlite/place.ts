import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { StoreReplacedError } from "../../log/ports/event-store.ts";
import { namedFile } from "../files.ts";

/** What is about to be done with a store's files, and what is said of it when they are gone. */
export type PlaceCheck = (doing: "written" | "read") => void;

/**
 * Remembers which files a database has open, by their names of this moment, and answers what makes sure that they are still
 * there: a process that writes to a file without its name writes where nobody will read, and one that reads it is not told
 * what others write.
 *
 * @param isReadOnly - Only the store itself has to be there: a log comes and goes with those who write.
 */
export function createPlaceCheck(path: string, { isReadOnly = false } = {}): PlaceCheck {
  if (path === ":memory:") return () => undefined;
  const file = resolve(path);
  // SQLite follows links, and puts the log beside the file that they end at.
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
        `${path} has lost its log (${log}) while it was open here: nothing was ${doing}; open the store again`,
      );
    }
  };
}

// Numbers, which are made faster: one that is rounded is rounded in the same way each time.
const lookAt = (path: string): Stats | undefined => statSync(path, orNothing);
const orNothing = { throwIfNoEntry: false } as const;

const isSameFile = (found: Stats | undefined, opened: Stats | undefined): boolean =>
  found?.ino === opened?.ino && found?.dev === opened?.dev;
