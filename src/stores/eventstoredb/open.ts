import { setMaxListeners } from "node:events";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import type { SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import type { ViewStore } from "../../log/ports/view-store.ts";
import type { LeasePace } from "../leases/lease-watch.ts";
import { parseAddress } from "./address.ts";
import { createAppends } from "./append.ts";
import { connect } from "./connection.ts";
import { openIdentity } from "./identity.ts";
import { createLiveness } from "./liveness.ts";
import { createReads } from "./read.ts";
import { createSession, type Session } from "./session.ts";
import { createViews, defaultViewsPath } from "./views.ts";

export type EventStoreDbStore = EventStore & {
  readonly snapshots: SnapshotStore;
  readonly views: ViewStore;
  readonly liveness: Liveness;
  /** The SQLite file on this machine for data derived from the events. It may be deleted. */
  readonly viewsPath: string;
};

export type EventStoreDbOptions = {
  /** Does not create a store: for commands that only read. */
  readonly mustExist?: boolean;
  /** Where views and snapshots are kept; by default a file in the user's cache folder, named by the store's id. */
  readonly viewsPath?: string;
  /** How long to keep trying to open, to append, or to read without progress; by default the address's value, else 10,000. */
  readonly deadlineMs?: number;
  /** Called with messages for an operator; by default emits a process warning. */
  readonly warn?: (message: string) => void;
};

/** Opens the store at an address, with this pace of its lease; see `openEventStoreDb`. */
export async function openWithPace(
  url: string,
  options: EventStoreDbOptions,
  pace: LeasePace,
): Promise<EventStoreDbStore> {
  const { mustExist = false, warn = emitWarning } = options;
  const address = parseAddress(url, options.deadlineMs);
  const connection = await connect(address);
  const closing = new AbortController();
  // Every active read listens to it.
  setMaxListeners(0, closing.signal);
  const session = createSession({ address, connection, closing: closing.signal, warn });
  try {
    const storeId = await openIdentity(session, mustExist);
    session.sameStore.opened(storeId);
    return createStore(session, closing, { storeId, viewsPath: options.viewsPath ?? defaultViewsPath(storeId), pace });
  } catch (error) {
    connection.release();
    throw session.translate(error, { action: mustExist ? "read" : "append", stream: session.names.identity });
  }
}

type Made = { readonly storeId: string; readonly viewsPath: string; readonly pace: LeasePace };

function createStore(
  session: Session,
  closing: AbortController,
  { storeId, viewsPath, pace }: Made,
): EventStoreDbStore {
  const { refuseIfClosed, connection } = session;
  const appends = createAppends(session);
  const reads = createReads(session);
  const views = createViews(viewsPath, refuseIfClosed);
  const { end, ...liveness } = createLiveness(session, pace);
  let closed: Promise<void> | null = null;

  async function finish(): Promise<void> {
    closing.abort(new StoreClosedError("the store was closed"));
    views.close();
    await appends.settled();
    await end();
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
    liveness,
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
