import { shownAddress } from "../base/shown-address.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { isEventStoreDbAddress } from "./eventstoredb/address.ts";
import { isPostgresAddress } from "./postgres/address.ts";
import { sqliteFile } from "./sqlite/address.ts";

/** Where and how the events of a store are opened. */
export type OpenEventsOptions = {
  /** Throws instead of creating a store. */
  readonly mustExist?: boolean;
  /** Also opens a file that this user may only read; appends to it are refused. */
  readonly mayBeReadOnly?: boolean;
  /**
   * The file where a store on another machine keeps its views here; by default one in the user's cache folder. turnlog refuses a file
   * that it did not make for views, and leaves it unchanged.
   */
  readonly viewsPath?: string;
  /**
   * How many milliseconds to try opening, an append, or a read without progress before it throws StoreUnavailableError, including all
   * repeats; by default what the address says (`?deadlineMs=`), else 5,000 for SQLite, 10,000 for EventStoreDB and 30,000 for Postgres.
   */
  readonly deadlineMs?: number;
};

/**
 * The event store at an address, without the conversations over it: for a list of conversations. Loads a driver only when it is needed.
 *
 * @throws {TurnlogError} `unknown-store` for another kind of address.
 * @throws {StoreNotFoundError} if it must exist and does not.
 */
export async function openEvents(url: string, options: OpenEventsOptions): Promise<EventStore> {
  if (url === "memory:") {
    const { createMemoryStore } = await import("./memory/store.ts");
    return createMemoryStore();
  }
  const file = sqliteFile(url);
  if (file !== null) {
    const { openSqliteStore } = await import("./sqlite/store.ts");
    const { viewsPath: _, ...rest } = options;
    return openSqliteStore(file.path, { ...file.settings, ...rest });
  }
  if (isEventStoreDbAddress(url)) {
    const { openEventStoreDb } = await import("./eventstoredb/store.ts");
    return openEventStoreDb(url, options);
  }
  if (isPostgresAddress(url)) {
    const { openPostgresStore } = await import("./postgres/store.ts");
    return openPostgresStore(url, options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs });
  }
  const shown = shownAddress(url);
  const meant = addressMeant(shown);
  const advice =
    meant === null
      ? "use sqlite:PATH, postgres://HOST/DATABASE, esdb://HOST:PORT, or memory: for tests and temporary work"
      : `did you mean ${meant}?`;
  throw new TurnlogError("unknown-store", `${shown} is not the address of a store: ${advice}`);
}

/**
 * If an erasure was interrupted, texts that should be erased may still be there: warns every program that opens the store, unless it opens
 * the store to continue the erasure.
 */
export async function tellUnfinished(events: EventStore, continuing?: string): Promise<void> {
  if (events.erase === undefined) return;
  const { unfinishedErasures } = await import("../log/system-streams/erasures.ts");
  for (const { orderId } of await unfinishedErasures(events)) {
    if (orderId === continuing) continue;
    process.emitWarning(
      `the erasure ${orderId} is unfinished: continue it with \`turnlog erase --resume ${orderId}\``,
      "TurnlogWarning",
    );
  }
}

/** The address for a path, or for `file:` before one, as other databases name files; null for anything else. */
function addressMeant(text: string): string | null {
  if (text === "memory") return "memory:";
  const path = text.replace(/^file:(\/\/)?(?=.)/, "");
  // A letter and a colon are a Windows drive.
  return /^(sqlite|esdb|postgres)$|^[a-z][a-z\d+.-]+:/i.test(path) ? null : `sqlite:${path}`;
}
