import { checkFunction, checkOptions, checkText, checkWhole, kindOf, type OptionNames } from "./base/options.ts";
import { TurnlogError } from "./base/turnlog-error.ts";
import { type StoreSources, TurnlogStore } from "./conversation/turnlog-store.ts";
import { type Authorize, authorizedStore } from "./log/authorized-store.ts";
import type { EventStore } from "./log/ports/event-store.ts";
import { isEventStoreDbAddress } from "./stores/eventstoredb/address.ts";
import { sqliteFile } from "./stores/sqlite/address.ts";

export type CreateStoreOptions = StoreSources & {
  /** Asked before every append, read and subscription. */
  readonly authorize?: Authorize;
};

export type OpenStoreOptions = CreateStoreOptions & {
  /** Refuses to create a store that is not there. */
  readonly mustExist?: boolean;
  /** Opens also a file that this user may only read; appends to it are refused. */
  readonly mayBeReadOnly?: boolean;
  /**
   * The file where a store on another machine keeps its views here; by default one in the user's cache folder. A file that
   * turnlog did not make for views is refused, and left as it is.
   */
  readonly viewsPath?: string;
  /**
   * How many milliseconds opening, an append, or a read without progress is tried before it throws StoreUnavailableError, all
   * repeats included; by default what the address says (`?deadlineMs=`), else 5,000 for SQLite and 10,000 for EventStoreDB.
   */
  readonly deadlineMs?: number;
};

const createNames: OptionNames<CreateStoreOptions> = {
  ...{ authorize: true, codecs: true, clock: true, newId: true, newEventId: true, pause: true },
};
const openNames: OptionNames<OpenStoreOptions> = {
  ...{ ...createNames, mustExist: true, mayBeReadOnly: true, viewsPath: true, deadlineMs: true },
};

/**
 * Conversations over an event store of your own (`turnlog/store`): `createStore(events, { codecs: [myCodec] })`. Its `views` and
 * `snapshots` are used where it has them. Closing it closes the event store.
 *
 * @throws {TypeError} for an option that is none, and for what is no event store.
 */
export function createStore(events: EventStore, options: CreateStoreOptions = {}): TurnlogStore {
  checkOptions("createStore", options, createNames);
  // Callers may have no types.
  const given: unknown = events;
  if (typeof given !== "object" || given === null || !("append" in given))
    throw new TypeError(`createStore takes an event store, not ${kindOf(events)}: for an address there is openStore`);
  const { authorize, ...sources } = options;
  if (authorize !== undefined) checkFunction("createStore: authorize", authorize);
  return new TurnlogStore(authorize === undefined ? events : authorizedStore(events, authorize), sources);
}

/**
 * Opens a store by its address: `memory:` for work that need not last, `sqlite:path` for a file,
 * `esdb://host:2113` for an EventStoreDB or KurrentDB server (`kurrentdb://` means the same).
 *
 * @throws {TypeError} for an option that is none.
 * @throws {RangeError} for a deadline that is no whole number of milliseconds from 1 on.
 * @throws {TurnlogError} `unknown-store` for another kind of address.
 * @throws {StoreNotFoundError} when it must exist and does not.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<TurnlogStore> {
  checkOptions("openStore", options, openNames);
  checkText("openStore: the address", url, "one such as sqlite:./turnlog.db, or memory:");
  const { mustExist = false, mayBeReadOnly = false, viewsPath, deadlineMs, ...rest } = options;
  if (rest.authorize !== undefined) checkFunction("openStore: authorize", rest.authorize);
  if (deadlineMs !== undefined) checkWhole("openStore: deadlineMs", deadlineMs);
  const events = await openEventStore(url, {
    mustExist,
    mayBeReadOnly,
    ...(viewsPath === undefined ? {} : { viewsPath }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  return createStore(events, rest);
}

type EventStoreOptions = Pick<OpenStoreOptions, "viewsPath" | "deadlineMs"> &
  Required<Pick<OpenStoreOptions, "mustExist" | "mayBeReadOnly">>;

/** The drivers are loaded when they are asked for: no store pays for another. */
async function openEventStore(url: string, options: EventStoreOptions): Promise<EventStore> {
  if (url === "memory:") {
    const { createMemoryStore } = await import("./stores/memory/store.ts");
    return createMemoryStore();
  }
  const file = sqliteFile(url);
  if (file !== null) {
    const { openSqliteStore } = await import("./stores/sqlite/store.ts");
    const { viewsPath: _, ...rest } = options;
    return openSqliteStore(file.path, { ...file.settings, ...rest });
  }
  if (isEventStoreDbAddress(url)) {
    const { openEventStoreDb } = await import("./stores/eventstoredb/store.ts");
    return openEventStoreDb(url, options);
  }
  const shown = url.replace(/\/\/.*@/, "//");
  const meant = addressMeant(shown);
  const advice =
    meant === null
      ? "use sqlite:PATH, esdb://HOST:PORT, or memory: for work that need not last"
      : `did you mean ${meant}?`;
  throw new TurnlogError("unknown-store", `no store is kept at ${shown}: ${advice}`);
}

/** The address that stands for a path, or for `file:` before one, as other databases are named; null for anything else. */
function addressMeant(text: string): string | null {
  if (text === "memory") return "memory:";
  const path = text.replace(/^file:(\/\/)?(?=.)/, "");
  // One letter and a colon are a drive of Windows.
  return /^(sqlite|esdb)$|^[a-z][a-z\d+.-]+:/i.test(path) ? null : `sqlite:${path}`;
}
