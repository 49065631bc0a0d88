import { allOf, anything, checkFunction, checkText, checkWhole, choiceOf, kindOf, optionsOf } from "../base/options.ts";
import { type Authorize, authorizedStore, type MayErase } from "../log/access/authorized-store.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { type OpenEventsOptions, openEvents, tellUnfinished } from "../stores/open-events.ts";
import { type StoreSources, TurnlogStore } from "./turnlog-store.ts";

export type CreateStoreOptions = StoreSources & {
  /** Asked before every append, read and subscription. */
  readonly authorize?: Authorize;
  /** Asked before every erasure. With `authorize` and without this, the store refuses to erase. */
  readonly mayErase?: MayErase;
};

export type OpenStoreOptions = CreateStoreOptions &
  OpenEventsOptions & {
    /** The id of an unfinished order of erasure that the caller continues now (`resumeErasure`): opening does not warn of it. */
    readonly continuing?: string;
  };

const createOptions = optionsOf<CreateStoreOptions>({
  authorize: checkFunction,
  mayErase: checkFunction,
  ...allOf(anything, "codecs", "clock", "newId", "newEventId", "newSalt", "newNamingKey", "pause"),
  encoding: choiceOf("json", "lines"),
});
const openOptions = optionsOf<OpenStoreOptions>({
  ...createOptions.table,
  ...{ mustExist: anything, mayBeReadOnly: anything, viewsPath: anything, deadlineMs: checkWhole },
  continuing: anything,
});

/**
 * Conversations over an event store of your own (`turnlog/store`): `createStore(events, { codecs: [myCodec] })`. Uses its `views` and
 * `snapshots` if it has them. Closing it closes the event store.
 *
 * @throws {TypeError} if `events` is not an event store, or an option is unknown or invalid.
 */
export function createStore(events: EventStore, options: CreateStoreOptions = {}): TurnlogStore {
  createOptions.checkNames("createStore", options);
  // Callers may have no types.
  const given: unknown = events;
  if (typeof given !== "object" || given === null || !("append" in given))
    throw new TypeError(`createStore takes an event store, not ${kindOf(events)}: for an address, call openStore`);
  const { authorize, mayErase, ...sources } = options;
  createOptions.checkValues("createStore: ", options);
  const isGuarded = authorize !== undefined || mayErase !== undefined;
  return new TurnlogStore(isGuarded ? authorizedStore(events, authorize ?? (() => true), mayErase) : events, sources);
}

/**
 * Opens a store by its address: `memory:` for work that need not last, `sqlite:path` for a file, `postgres://host/database` for a schema
 * of PostgreSQL, `esdb://host:2113` for an EventStoreDB or KurrentDB server (`kurrentdb://` means the same).
 *
 * @throws {TypeError} if an option is unknown or invalid.
 * @throws {RangeError} if the deadline is not a whole number of milliseconds from 1 on.
 * @throws {TurnlogError} `unknown-store` for another kind of address.
 * @throws {StoreNotFoundError} if it must exist and does not.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<TurnlogStore> {
  openOptions.checkNames("openStore", options);
  checkText("openStore: the address", url, "one such as sqlite:./turnlog.db, or memory:");
  const { mustExist = false, mayBeReadOnly = false, viewsPath, deadlineMs, continuing, ...rest } = options;
  openOptions.checkValues("openStore: ", options);
  const events = await openEvents(url, {
    mustExist,
    mayBeReadOnly,
    ...(viewsPath === undefined ? {} : { viewsPath }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  const store = createStore(events, rest);
  if (url !== "memory:") await tellUnfinished(events, continuing);
  return store;
}
