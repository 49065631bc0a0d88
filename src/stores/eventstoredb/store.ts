import { setMaxListeners } from "node:events";
import { type EventStore, StoreClosedError } from "../../log/ports/event-store.ts";
import type { SnapshotStore } from "../../log/ports/snapshot-store.ts";
import type { ViewStore } from "../../log/ports/view-store.ts";
import { parseAddress } from "./address.ts";
import { createAppends } from "./append.ts";
import { connect } from "./connection.ts";
import { openIdentity } from "./identity.ts";
import { createReads } from "./read.ts";
import { createSession, type Session } from "./session.ts";
import { createViews, defaultViewsPath } from "./views.ts";

export type EventStoreDbStore = EventStore & {
  readonly snapshots: SnapshotStore;
  readonly views: ViewStore;
  /** The SQLite file on this machine for what is derived from the events. It may be deleted. */
  readonly viewsPath: string;
};

export type EventStoreDbOptions = {
  /** Refuses to create a store: for commands that only read. */
  readonly mustExist?: boolean;
  /** Where views and snapshots are kept; by default a file in the user's cache folder, by the store's id. */
  readonly viewsPath?: string;
  /** How long opening, an append, or a read without progress is tried; by default what the address says, else 10,000. */
  readonly deadlineMs?: number;
  /** Is told what an operator should know; by default a process warning. */
  readonly warn?: (message: string) => void;
};

/**
 * Opens the store of an EventStoreDB or KurrentDB server or cluster, from 23.10 on:
 * `esdb://user:password@host:2113?tls=true`. Several processes may have it open at once. A stream here is a stream
 * there; an event's data is the envelope's data, so that the server's own tools can read it.
 *
 * `heads` reads the whole log (of a prefix): the server has no list of streams.
 *
 * @throws {StoreNotFoundError} when there is no store and `mustExist` is set.
 * @throws {StoreUnavailableError} when the address cannot be used, the server is not there, or refuses the user; also
 *   when `@eventstore/db-client` is not installed.
 * @throws {TurnlogError} `access-denied` when the user may not read, or may not create the store.
 * @throws {StoreCorruptedError} when what is there is not a turnlog store.
 * @throws {StoreTooNewError} when a newer turnlog has written it.
 */
export async function openEventStoreDb(url: string, options: EventStoreDbOptions = {}): Promise<EventStoreDbStore> {
  const { mustExist = false, warn = emitWarning } = options;
  const address = parseAddress(url, options.deadlineMs);
  const connection = await connect(address);
  const closing = new AbortController();
  // Every read under way listens to it.
  setMaxListeners(0, closing.signal);
  const session = createSession({ address, connection, closing: closing.signal, warn });
  try {
    const storeId = await openIdentity(session, mustExist);
    session.sameStore.opened(storeId);
    return createStore(session, closing, { storeId, viewsPath: options.viewsPath ?? defaultViewsPath(storeId) });
  } catch (error) {
    connection.release();
    throw session.translate(error, { action: mustExist ? "read" : "append", stream: session.names.identity });
  }
}

type Made = { readonly storeId: string; readonly viewsPath: string };

function createStore(session: Session, closing: AbortController, { storeId, viewsPath }: Made): EventStoreDbStore {
  const { refuseIfClosed, connection } = session;
  const appends = createAppends(session);
  const reads = createReads(session);
  const views = createViews(viewsPath, refuseIfClosed);
  let closed: Promise<void> | null = null;

  async function finish(): Promise<void> {
    closing.abort(new StoreClosedError("the store was closed"));
    views.close();
    await appends.settled();
    connection.release();
  }
  function close(): Promise<void> {
    closed ??= finish();
    return closed;
  }

  return {
    storeId,
    deadlineMs: session.address.deadlineMs,
    viewsPath,
    snapshots: views.snapshots,
    views: views.views,
    ...reads,
    async append(prepared) {
      refuseIfClosed();
      return appends.append(prepared);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function emitWarning(message: string): void {
  process.emitWarning(message, "TurnlogWarning");
}
