import { mkdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreCorruptedError, StoreTooNewError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import type { ViewStore } from "../../log/ports/view-store.ts";
import { createGuarded, patiently } from "../sqlite/guarded.ts";
import { defaultDeadlineMs, openDatabase } from "../sqlite/open.ts";
import { isOfKind } from "../sqlite/schema.ts";
import { createSqliteSnapshots } from "../sqlite/snapshots.ts";
import { createSqliteViews } from "../sqlite/views.ts";

/** Data derived from a store's events, in a file on this machine that may be deleted at any time. */
export type Views = Derived & { readonly close: () => void };

type Derived = { readonly snapshots: SnapshotStore; readonly views: ViewStore };

/** The file is created on first use. */
export function createViews(path: string, refuseIfClosed: () => void): Views {
  let opened: (Derived & { readonly database: DatabaseSync }) | null = null;

  const guarded = createGuarded({ path, deadlineMs: defaultDeadlineMs, refuseIfClosed });
  function open(): Derived {
    refuseIfClosed();
    if (opened === null) {
      const database = openFile(path);
      const snapshots = createSqliteSnapshots(database, guarded, { besideEvents: false });
      opened = { database, snapshots, views: createSqliteViews(database, guarded) };
    }
    return opened;
  }
  /** Opens the file on first use, and waits while another process creates it. */
  const use = async <T>(work: (derived: Derived) => Promise<T>): Promise<T> =>
    work(await patiently(defaultDeadlineMs, open));

  return {
    snapshots: {
      get: (key, atMost) => use(({ snapshots }) => snapshots.get(key, atMost)),
      put: (key, snapshot) => use(({ snapshots }) => snapshots.put(key, snapshot)),
      deleteAll: () => use(({ snapshots }) => snapshots.deleteAll()),
    },
    views: {
      builds: (projection) => use(({ views }) => views.builds(projection)),
      begin: (projection, version) => use(({ views }) => views.begin(projection, version)),
      save: (build, batch) => use(({ views }) => views.save(build, batch)),
      publish: (build) => use(({ views }) => views.publish(build)),
      row: (build, key) => use(({ views }) => views.row(build, key)),
      rows: (build, page) => use(({ views }) => views.rows(build, page)),
      listed: (build, page) => use(({ views }) => views.listed(build, page)),
      countListed: (build, range) => use(({ views }) => views.countListed(build, range)),
      places: (build, key) => use(({ views }) => views.places(build, key)),
      containing: (build, texts) => use(({ views }) => views.containing(build, texts)),
      degraded: (build) => use(({ views }) => views.degraded(build)),
    },
    close() {
      opened?.database.close();
      opened = null;
    },
  };
}

/** The default place of a store's views: the user's own cache, where no other user writes. */
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
    throw new StoreUnavailableError(
      `the folder ${dirname(path)} cannot be created: name another file for views (viewsPath)`,
      {
        cause,
      },
    );
  }
  try {
    return openDatabase(path, { kind: "views" }).database;
  } catch (error) {
    if (!(error instanceof StoreCorruptedError || error instanceof StoreTooNewError)) throw error;
    if (!isFileOfViews(path)) {
      throw new StoreUnavailableError(
        `${path} is not a file of turnlog's views, so turnlog leaves it unchanged: name another file (viewsPath), or delete it`,
        { cause: error },
      );
    }
    // All of it can be rebuilt from the events.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
    return openDatabase(path, { kind: "views" }).database;
  }
}

/** Whether turnlog created the file, even if it is damaged now. */
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
