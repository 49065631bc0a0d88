import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { StoreReplacedError } from "../../log/ports/event-store.ts";
import { namedFile } from "../files.ts";

/**
 * Remembers which files a database has open, by their names of this moment, and answers what makes sure that they are still
 * there: who writes to a file without its name writes where nobody will read.
 */
export function createPlaceCheck(path: string): () => void {
  if (path === ":memory:") return () => undefined;
  const file = resolve(path);
  // SQLite follows links, and puts the log beside the file that they end at.
  const log = `${namedFile(file)}-wal`;
  const [openedFile, openedLog] = [lookAt(file), lookAt(log)];
  return () => {
    const found = lookAt(file);
    if (!isSameFile(found, openedFile)) {
      const what = found === undefined ? "was deleted" : "was replaced by another file";
      throw new StoreReplacedError(`${path} ${what} while it was open here: nothing was written; open the store again`);
    }
    if (!isSameFile(lookAt(log), openedLog)) {
      throw new StoreReplacedError(
        `${path} has lost its log (${log}) while it was open here: nothing was written; open the store again`,
      );
    }
  };
}

// Numbers, which are made faster: one that is rounded is rounded in the same way each time.
const lookAt = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

const isSameFile = (found: Stats | undefined, opened: Stats | undefined): boolean =>
  found?.ino === opened?.ino && found?.dev === opened?.dev;
