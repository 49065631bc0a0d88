import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../base/error-message.ts";
import { randomId } from "../../log/codec/ids.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import { namedFile, privateMode, takeAfter } from "../files.ts";
import { isLocked } from "./errors.ts";

export type SqliteLiveness = Liveness & {
  /** Ends the lease that is held. */
  readonly end: () => void;
};

type LivenessOptions = {
  readonly path: string;
  readonly refuseIfClosed: () => void;
  readonly warn: (message: string) => void;
};

/**
 * A lease is an empty database beside the store that its holder keeps locked (`BEGIN EXCLUSIVE`): the system frees the lock when the
 * holder ends, whatever ended it, and sees it across containers that share the folder. Nothing else in the holder's process may open
 * the file, because POSIX drops all locks of a process on a file with the first descriptor of it that the process closes. SQLite
 * itself knows of that, so its own connections may.
 */
export function createSqliteLiveness({ path, refuseIfClosed, warn }: LivenessOptions): SqliteLiveness {
  const store = namedFile(resolve(path));
  let held: Lease | null | undefined;
  return {
    async hold() {
      refuseIfClosed();
      if (held === undefined) {
        cleanUp(store);
        held = tryToHold(store, warn);
      }
      return held?.id ?? null;
    },
    async isAlive(leaseId) {
      refuseIfClosed();
      if (held?.id === leaseId) return true;
      return leasePattern.test(leaseId) && !isFree(leasePath(store, leaseId));
    },
    end() {
      if (held !== null && held !== undefined) remove(held);
      held = null;
    },
  };
}

type Lease = { readonly id: string; readonly path: string; readonly lock: DatabaseSync };

const leasePattern = /^lse_\w+$/;
const infix = ".alive-";
const leasePath = (store: string, leaseId: string): string => `${store}${infix}${leaseId}`;

/** A reader that cleans up may come between the making of a file and its lock: then another file is made. */
const maxTries = 10;

function tryToHold(store: string, warn: (message: string) => void): Lease | null {
  try {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const id = randomId("lse");
      const path = leasePath(store, id);
      closeSync(openSync(path, "wx", privateMode));
      takeAfter(path, statSync(store));
      const { ino: made } = statSync(path);
      const lock = locked(path);
      if (lock === null) continue;
      // Of a file that was removed before the lock, nobody else would find the lock.
      if (statSync(path, { throwIfNoEntry: false })?.ino === made) return { id, path, lock };
      lock.close();
    }
    throw new Error(`other processes took ${maxTries} of them away`);
  } catch (error) {
    const what = `no file beside ${store} could be locked to show that this process lives`;
    warn(`${what}, so other containers wait for takeoverAfterMs before they take up its runs: ${messageOf(error)}`);
    return null;
  }
}

/** A connection that holds the file's lock; null where another one does. */
function locked(path: string): DatabaseSync | null {
  const database = new DatabaseSync(path);
  try {
    // Nothing is written, so there is nothing to keep a journal file for.
    database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if (isLocked(error)) return null;
    throw error;
  }
}

/** Whether nobody holds a lease; its file is removed then. A file that cannot be looked at counts as held. */
function isFree(path: string): boolean {
  if (!existsSync(path)) return true;
  try {
    const lock = locked(path);
    if (lock === null) return false;
    remove({ path, lock });
    return true;
  } catch {
    return false;
  }
}

/** The file goes while it is locked, so that nobody finds it free; Windows removes only what is closed. */
function remove({ path, lock }: Pick<Lease, "path" | "lock">): void {
  tryToRemove(path);
  lock.close();
  if (process.platform === "win32") tryToRemove(path);
}

function tryToRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It is found free, and removed, by the next process.
  }
}

/** Removes the files of holders that ended without closing the store. */
function cleanUp(store: string): void {
  const begin = `${basename(store)}${infix}`;
  for (const name of namesIn(dirname(store))) if (name.startsWith(begin)) isFree(join(dirname(store), name));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
