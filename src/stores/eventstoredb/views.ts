import { mkdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreCorruptedError, StoreTooNewError, StoreUnavailableError } from "../../engine/ports/event-store.ts";
import type { KeyframeStore } from "../../engine/ports/keyframe-store.ts";
import type { ViewStore } from "../../engine/ports/view-store.ts";
import { storeError } from "../sqlite/errors.ts";
import { createSqliteKeyframes } from "../sqlite/keyframes.ts";
import { openDatabase } from "../sqlite/open.ts";
import { isOfKind } from "../sqlite/schema.ts";
import { createSqliteViews } from "../sqlite/views.ts";

/** What is derived from a store's events and kept on this machine: a file that may be deleted at any time. */
export type Views = Derived & { readonly close: () => void };

type Derived = { readonly keyframes: KeyframeStore; readonly views: ViewStore };

/** The file is made when something is first kept or looked for. */
export function createViews(path: string, refuseIfClosed: () => void): Views {
  let opened: (Derived & { readonly database: DatabaseSync }) | null = null;

  function guarded<T>(work: () => T): T {
    refuseIfClosed();
    try {
      return work();
    } catch (error) {
      throw storeError(error, path);
    }
  }
  function open(): Derived {
    refuseIfClosed();
    if (opened === null) {
      const database = openFile(path);
      const keyframes = createSqliteKeyframes(database, guarded);
      opened = { database, keyframes, views: createSqliteViews(database, guarded) };
    }
    return opened;
  }

  return {
    keyframes: {
      get: async (key, atMost) => open().keyframes.get(key, atMost),
      put: async (key, keyframe) => open().keyframes.put(key, keyframe),
      deleteAll: async () => open().keyframes.deleteAll(),
    },
    views: {
      builds: async (projection) => open().views.builds(projection),
      begin: async (projection, version) => open().views.begin(projection, version),
      save: async (build, batch) => open().views.save(build, batch),
      publish: async (build) => open().views.publish(build),
      row: async (build, key) => open().views.row(build, key),
      rows: async (build, page) => open().views.rows(build, page),
      degraded: async (build) => open().views.degraded(build),
    },
    close() {
      opened?.database.close();
      opened = null;
    },
  };
}

/** The place of a store's views unless the caller names another: in the user's own cache, where nobody else writes. */
export function defaultViewsPath(storeId: string): string {
  return join(cacheFolder(), "turnlog", `views-${storeId}.db`);
}

function cacheFolder(): string {
  const { env, platform } = process;
  if (platform === "win32") return env["LOCALAPPDATA"] ?? join(homedir(), "AppData", "Local");
  if (platform === "darwin") return join(homedir(), "Library", "Caches");
  return env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
}

function openFile(path: string): DatabaseSync {
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StoreUnavailableError(`${dirname(path)} cannot be made: name another file for views (viewsPath)`, {
      cause,
    });
  }
  try {
    return openDatabase(path, { kind: "views" }).database;
  } catch (error) {
    if (!(error instanceof StoreCorruptedError || error instanceof StoreTooNewError)) throw error;
    if (!isFileOfViews(path)) {
      throw new StoreUnavailableError(
        `${path} is no file of turnlog's views, and stays as it is: name another file (viewsPath), or delete it`,
        { cause: error },
      );
    }
    // All of it can be made again from the events.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
    return openDatabase(path, { kind: "views" }).database;
  }
}

/** Whether turnlog made the file, however damaged it is by now. */
function isFileOfViews(path: string): boolean {
  const database = new DatabaseSync(resolve(path));
  try {
    return isOfKind(database, "views");
  } catch {
    return false;
  } finally {
    database.close();
  }
}
