import { setMaxListeners } from "node:events";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import type { SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreClosedError, StoreNotFoundError } from "../../log/ports/store-errors.ts";
import type { ViewStore } from "../../log/ports/view-store.ts";
import type { LeasePace, LeaseSight } from "../leases/lease-watch.ts";
import { createLeaseLiveness, type LeaseLiveness } from "../leases/liveness.ts";
import { parseAddress } from "./address.ts";
import { createAppends } from "./append.ts";
import { connect } from "./connection.ts";
import { formatVersion } from "./envelope.ts";
import { EsdbFailure } from "./failure.ts";
import type { LeaseTask } from "./lease-renewal.ts";
import { leaseEnded } from "./lease-stream.ts";
import { forPart } from "./patience.ts";
import { createReads } from "./read.ts";
import { readMessages } from "./read-call.ts";
import { createSession, type Session } from "./session.ts";
import { storeIdOf } from "./store-id.ts";
import { readServerStream } from "./stream.ts";
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

/** Leases are separate streams on the server. Their events are not part of the store: reads of the log do not return them. */
function createLiveness(session: Session, pace: LeasePace): LeaseLiveness {
  const { address, closing, names, refuseIfClosed, translate } = session;

  async function sightOf(leaseId: string, silenceMs: number): Promise<LeaseSight> {
    const { connection } = session;
    const range = { name: names.lease(leaseId), from: "end", direction: "backwards", count: 1 } as const;
    const call = { signal: closing, silenceMs, isShort: true };
    try {
      for await (const messages of readMessages(connection, connection.messages.readStream(range), call))
        for (const { event } of messages)
          if (event !== null) return event.type === leaseEnded ? "ended" : event.revision;
    } catch (error) {
      if (!(error instanceof EsdbFailure) || error.kind !== "deleted") throw error;
    }
    return "none";
  }

  async function look(leaseId: string): Promise<{ readonly sight: LeaseSight; readonly hasFailed: boolean }> {
    const patience = session.patience(closing);
    for (let hasFailed = false; ; hasFailed = true) {
      try {
        // What this process has seen of the log must be readable, and with it any lease acquired before.
        await session.sameStore.confirm(patience, closing);
        return { sight: await sightOf(leaseId, Math.min(address.silenceMs.read, patience.leftMs())), hasFailed };
      } catch (error) {
        await patience.wait(error);
        if (closing.aborted) throw error;
      }
    }
  }

  return createLeaseLiveness({
    ...{ pace, shown: address.shown, closing, refuseIfClosed, look },
    warn: (message) => {
      session.warn(message);
    },
    threadOf(leaseId) {
      const task: LeaseTask = { address, name: names.lease(leaseId), pace };
      return { store: "eventstoredb", task, deadlineMs: address.deadlineMs };
    },
    translate: (error, leaseId) => translate(error, { action: "read", stream: names.lease(leaseId) }),
  });
}

function emitWarning(message: string): void {
  process.emitWarning(message, "TurnlogWarning");
}

/**
 * The id of the store at an address, from the first event of its identity stream. If there is none, a new id is generated; if
 * several processes do so at once, one of them wins. Resolves once the server is ready and has a leader.
 *
 * @param mustExist - Does not create a store.
 * @throws {StoreNotFoundError} if it must exist and does not; nothing was written then.
 */
async function openIdentity(session: Session, mustExist: boolean): Promise<string> {
  const { names, connection, closing, address } = session;
  const patience = forPart(session.patience(closing));
  const range = { name: names.identity, from: 0, direction: "forwards", count: 1 } as const;
  const data = encoder.encode(JSON.stringify({ storeId: crypto.randomUUID() }));
  const metadata = encoder.encode(JSON.stringify({ turnlog: formatVersion }));
  const created = { id: crypto.randomUUID(), type: "StoreCreated", data, metadata };
  for (;;) {
    for await (const [event] of readServerStream(session, range, { patience, signal: closing }))
      if (event !== undefined) return storeIdOf(event, address.shown);
    if (mustExist) throw new StoreNotFoundError(`there is no turnlog store at ${address.shown}`);
    let failure: unknown = new EsdbFailure("passing", "its first event exists, but cannot be read yet");
    try {
      await connection.appends.send(
        connection.messages.append(names.identity, null, [created]),
        Math.min(address.silenceMs.append, patience.leftMs()),
      );
    } catch (error) {
      failure = error;
    }
    await patience.wait(failure);
  }
}

const encoder = new TextEncoder();
