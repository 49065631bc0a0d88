import { checkFunction, checkOptions, checkText, kindOf, type OptionNames } from "./base/options.ts";
import { TurnlogError } from "./base/turnlog-error.ts";
import { type StoreSources, TurnlogStore } from "./conversation/turnlog-store.ts";
import { type Authorize, authorizedStore } from "./log/authorized-store.ts";
import type { EventStore } from "./log/ports/event-store.ts";
import { isEventStoreDbAddress } from "./stores/eventstoredb/address.ts";

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
};

const createNames: OptionNames<CreateStoreOptions> = {
  ...{ authorize: true, codecs: true, clock: true, newId: true, newEventId: true, pause: true },
};
const openNames: OptionNames<OpenStoreOptions> = {
  ...{ ...createNames, mustExist: true, mayBeReadOnly: true, viewsPath: true },
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
 * @throws {TurnlogError} `unknown-store` for another kind of address.
 * @throws {StoreNotFoundError} when it must exist and does not.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<TurnlogStore> {
  checkOptions("openStore", options, openNames);
  checkText("openStore: the address", url, "one such as sqlite:./turnlog.db, or memory:");
  const { mustExist = false, mayBeReadOnly = false, viewsPath, ...rest } = options;
  if (rest.authorize !== undefined) checkFunction("openStore: authorize", rest.authorize);
  const events = await openEventStore(url, {
    mustExist,
    mayBeReadOnly,
    ...(viewsPath === undefined ? {} : { viewsPath }),
  });
  return createStore(events, rest);
}

/** The drivers are loaded when they are asked for: no store pays for another. */
async function openEventStore(
  url: string,
  options: { readonly mustExist: boolean; readonly mayBeReadOnly: boolean; readonly viewsPath?: string },
): Promise<EventStore> {
  if (url === "memory:") {
    const { createMemoryStore } = await import("./stores/memory/store.ts");
    return createMemoryStore();
  }
  if (url.startsWith("sqlite:") && url.length > "sqlite:".length) {
    const { openSqliteStore } = await import("./stores/sqlite/store.ts");
    const { mustExist, mayBeReadOnly } = options;
    return openSqliteStore(url.slice("sqlite:".length), { mustExist, mayBeReadOnly });
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
