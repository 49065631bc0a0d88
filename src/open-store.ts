import { type Authorize, authorizedStore } from "./engine/authorized-store.ts";
import type { EventStore } from "./engine/event-store.ts";
import { type StoreSources, TurnlogStore } from "./engine/turnlog-store.ts";

export type OpenStoreOptions = StoreSources & {
  /** Refuses to create a store that is not there. */
  readonly mustExist?: boolean;
  /** Asked before every append, read and subscription. */
  readonly authorize?: Authorize;
};

/** No store is kept at addresses of this kind. */
export class UnknownStoreError extends Error {
  override readonly name = "UnknownStoreError";
  readonly code = "unknown-store";
}

/**
 * Opens a store by its address: `memory:` for work that need not last, `sqlite:path` for a file.
 *
 * @throws {UnknownStoreError} for another kind of address.
 * @throws {StoreNotFoundError} when it must exist and does not.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<TurnlogStore> {
  const { mustExist = false, authorize, ...sources } = options;
  const events = await openEventStore(url, mustExist);
  return new TurnlogStore(authorize === undefined ? events : authorizedStore(events, authorize), sources);
}

/** The drivers are loaded when they are asked for: no store pays for another. */
async function openEventStore(url: string, mustExist: boolean): Promise<EventStore> {
  if (url === "memory:") {
    const { createMemoryStore } = await import("./stores/memory/store.ts");
    return createMemoryStore();
  }
  if (url.startsWith("sqlite:") && url.length > "sqlite:".length) {
    const { openSqliteStore } = await import("./stores/sqlite/store.ts");
    return openSqliteStore(url.slice("sqlite:".length), { mustExist });
  }
  throw new UnknownStoreError(`no store is kept at ${url}: use sqlite:PATH, or memory: for work that need not last`);
}
