import { checkFunction, checkOptions, checkText, type OptionNames } from "./base/options.ts";
import { TurnlogError } from "./base/turnlog-error.ts";
import { type StoreSources, TurnlogStore } from "./conversation/turnlog-store.ts";
import { type Authorize, authorizedStore } from "./log/authorized-store.ts";
import type { EventStore } from "./log/ports/event-store.ts";
import { isEventStoreDbAddress } from "./stores/eventstoredb/address.ts";

export type OpenStoreOptions = StoreSources & {
  /** Refuses to create a store that is not there. */
  readonly mustExist?: boolean;
  /** Opens also a file that this user may only read; appends to it are refused. */
  readonly mayBeReadOnly?: boolean;
  /** Asked before every append, read and subscription. */
  readonly authorize?: Authorize;
  /**
   * The file where a store on another machine keeps its views here; by default one in the user's cache folder. A file that
   * turnlog did not make for views is refused, and left as it is.
   */
  readonly viewsPath?: string;
};

const optionNames: OptionNames<OpenStoreOptions> = {
  ...{ mustExist: true, mayBeReadOnly: true, authorize: true, viewsPath: true },
  ...{ codecs: true, clock: true, newId: true, newEventId: true, pause: true },
};

/**
 * Opens a store by its address: `memory:` for work that need not last, `sqlite:path` for a file,
 * `esdb://host:2113` for an EventStoreDB or KurrentDB server (`kurrentdb://` means the same).
 *
 * @throws {TypeError} for an option that is none.
 * @throws {TurnlogError} `unknown-store` for another kind of address.
 * @throws {StoreNotFoundError} when it must exist and does not.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<TurnlogStore> {
  checkOptions("openStore", options, optionNames);
  checkText("openStore: the address", url, "one such as sqlite:./turnlog.db, or memory:");
  const { mustExist = false, mayBeReadOnly = false, authorize, viewsPath, ...sources } = options;
  if (authorize !== undefined) checkFunction("openStore: authorize", authorize);
  const events = await openEventStore(url, {
    mustExist,
    mayBeReadOnly,
    ...(viewsPath === undefined ? {} : { viewsPath }),
  });
  return new TurnlogStore(authorize === undefined ? events : authorizedStore(events, authorize), sources);
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
  throw new TurnlogError(
    "unknown-store",
    `no store is kept at ${shown}: use sqlite:PATH, esdb://HOST:PORT, or memory: for work that need not last`,
  );
}
