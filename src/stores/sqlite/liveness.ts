import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../base/error-message.ts";
import { randomId } from "../../log/codec/ids.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import { namedFile, privateMode, takeAfter } from "../files.ts";
import { isLocked } from "./errors.ts";

export type SqliteLiveness = Liveness & {
  /** Releases the lease. */
  readonly end: () => void;
};

type LivenessOptions = {
  readonly path: string;
  readonly refuseIfClosed: () => void;
  readonly warn: (message: string) => void;
};

/**
 * A lease is an empty database beside the store that its holder keeps locked (`BEGIN EXCLUSIVE`). The system releases the lock when the
 * holder ends, for whatever reason, and shows it across containers that share the folder. No other code in the holder's process may open
 * the file, because under POSIX a process loses all its locks on a file when it closes any descriptor of it. SQLite
 * handles this for its own connections.
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

/** A reader that cleans up may remove a file before it is locked: then another file is created. */
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
      // If the file was removed before it was locked, other processes would not find the lock.
      if (statSync(path, { throwIfNoEntry: false })?.ino === made) return { id, path, lock };
      lock.close();
    }
    throw new Error(`other processes took ${maxTries} of them away`);
  } catch (error) {
    const what = `this process could lock no file beside ${store} to show that it is alive`;
    warn(`${what}, so other containers wait for takeoverAfterMs before they take over its runs: ${messageOf(error)}`);
    return null;
  }
}

/** A connection that holds the file's lock; null if another connection holds it. */
function locked(path: string): DatabaseSync | null {
  const database = new DatabaseSync(path);
  try {
    // Nothing is written, so no journal file is needed.
    database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if (isLocked(error)) return null;
    throw error;
  }
}

/** Whether a lease has no holder; its file is then removed. A file that cannot be read counts as held. */
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

/** Removes the file while it is locked, so that no process finds it free; Windows removes only closed files. */
function remove({ path, lock }: Pick<Lease, "path" | "lock">): void {
  tryToRemove(path);
  lock.close();
  if (process.platform === "win32") tryToRemove(path);
}

function tryToRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next process finds it free, and removes it.
  }
}

/** Removes the lease files of holders that ended without closing the store. */
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
