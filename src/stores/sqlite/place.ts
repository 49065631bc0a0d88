import { statSync } from "node:fs";
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
  const [openedFile, openedLog] = [stampOf(file), stampOf(log)];
  return () => {
    const found = stampOf(file);
    if (found !== openedFile) {
      const what = found === null ? "was deleted" : "was replaced by another file";
      throw new StoreReplacedError(`${path} ${what} while it was open here: nothing was written; open the store again`);
    }
    if (stampOf(log) !== openedLog) {
      throw new StoreReplacedError(
        `${path} has lost its log (${log}) while it was open here: nothing was written; open the store again`,
      );
    }
  };
}

function stampOf(path: string): string | null {
  // Numbers, which are made faster: one that is rounded is rounded in the same way each time.
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}/${found.ino}`;
}
