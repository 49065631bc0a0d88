import { innerSignal, rejectionOf } from "../../base/abort.ts";
import type { AccessRequest } from "../../log/access/authorized-store.ts";
import { comparePositions, type Head } from "../../log/ports/event-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import { type Address, createNames, type ParameterNames } from "./address.ts";
import type { Connection } from "./connection.ts";
import { EsdbFailure, portError } from "./failure.ts";
import type { EsdbEvent, ReadReq } from "./messages.ts";
import { createPatience, type Patience } from "./patience.ts";
import { readMessages } from "./read-call.ts";
import { storeIdOf } from "./store-id.ts";

/** What the parts of an open store share. */
export type Session = {
  readonly address: Address;
  readonly names: ParameterNames;
  readonly connection: Connection;
  readonly heads: Heads;
  readonly sameStore: SameStore;
  /** The deadline of one call of the store, starting now; unlimited for following the log. */
  readonly patience: (signal?: AbortSignal, how?: "for ever") => Patience;
  /** Aborts when the store is closed. */
  readonly closing: AbortSignal;
  readonly refuseIfClosed: () => void;
  /** Translates a failure into an error of the port; other errors stay as they are. */
  readonly translate: (error: unknown, request: AccessRequest) => unknown;
  /** Called with messages for an operator. */
  readonly warn: (message: string) => void;
  /** Warns once that another program writes to streams that turnlog reads, or has deleted one. */
  readonly warnOfForeign: (event: EsdbEvent) => void;
};

export function createSession(options: Pick<Session, "address" | "connection" | "closing" | "warn">): Session {
  const { address, connection, closing, warn } = options;
  const names = createNames(address.namespace);
  const { deadlineMs } = address;
  const warned = new Set<string>();
  return {
    ...options,
    names,
    heads: createHeads(),
    sameStore: createSameStore(connection, { address, names, closing }),
    patience: (signal, how) =>
      createPatience({
        forMs: how === undefined ? deadlineMs : Number.POSITIVE_INFINITY,
        behindMs: deadlineMs,
        ...(signal === undefined ? {} : { signal }),
      }),
    refuseIfClosed() {
      if (closing.aborted) throw new StoreClosedError(`the store at ${address.shown} was closed`);
    },
    warnOfForeign({ type, name }) {
      const isDeletion = type === "$streamDeleted";
      const warning = isDeletion
        ? `another program deleted ${name} at ${address.shown} for ever: restore it from a copy under another name`
        : `${name} at ${address.shown} holds events of another program, which turnlog leaves out of the log: give turnlog its own names (turnlogNamespace=… in the address)`;
      const about = isDeletion ? name : "";
      if (!warned.has(about)) warn(warning);
      warned.add(about);
    },
    translate: (error, request) => (error instanceof EsdbFailure ? portError(error, address.shown, request) : error),
  };
}

/** Aborts when the store is closed or the caller aborts. */
export const endOf = ({ closing }: Session, signal: AbortSignal | undefined): AbortSignal =>
  signal === undefined ? closing : AbortSignal.any([closing, signal]);

/**
 * What this process knows about the store: the heads of streams when it last read them, and what the server has acknowledged,
 * which must be readable before a read may end. (A server acknowledges events before its index has them, and
 * a new leader serves reads before its own index has them.)
 */
type Heads = {
  /** The head of a stream; undefined if it is not known. */
  readonly head: (stream: string) => Head | null | undefined;
  readonly remember: (stream: string, head: Head | null) => void;
  /** The head may have changed; acknowledged events remain. */
  readonly forget: (stream: string) => void;
  /** The newest revision seen or acknowledged; -1 for none. */
  readonly reached: (stream: string) => number;
  /** Records that an event of the stream was acknowledged, with its position if the server said it. */
  readonly acknowledge: (stream: string, revision: number, position: string | null) => void;
  /** The newest acknowledged position. */
  readonly position: () => string | null;
};

type Known = { head: Head | null | undefined; reached: number };

/** How many streams to remember; others are read before an append. */
const maxStreams = 10_000;

function createHeads(): Heads {
  const knownByStream = new Map<string, Known>();
  let newest: string | null = null;

  /** What is known about a stream, which thereby becomes the last one to be forgotten. */
  function known(stream: string): Known {
    const entry = knownByStream.get(stream) ?? { head: undefined, reached: -1 };
    knownByStream.delete(stream);
    knownByStream.set(stream, entry);
    const [oldest] = knownByStream.keys();
    if (knownByStream.size > maxStreams && oldest !== undefined) knownByStream.delete(oldest);
    return entry;
  }

  return {
    head: (stream) => knownByStream.get(stream)?.head,
    remember(stream, head) {
      const entry = known(stream);
      entry.head = head;
      entry.reached = Math.max(entry.reached, head?.revision ?? -1);
    },
    forget(stream) {
      const entry = knownByStream.get(stream);
      if (entry !== undefined) entry.head = undefined;
    },
    reached: (stream) => knownByStream.get(stream)?.reached ?? -1,
    acknowledge(stream, revision, position) {
      const entry = known(stream);
      entry.reached = Math.max(entry.reached, revision);
      if (position !== null && (newest === null || comparePositions(position, newest) > 0)) newest = position;
    },
    position: () => newest,
  };
}

type SeenEvent = Pick<EsdbEvent, "id" | "position">;

/**
 * Checks that the server still holds the store that was opened, with everything that this process has seen of it. A server that was
 * set back (a restored backup, a restarted in-memory database) reports no error: reads end early, and a subscription
 * from a position beyond the end of the log silently skips new events.
 */
type SameStore = {
  /** The store is open: from now on there is an id to confirm. */
  readonly opened: (storeId: string) => void;
  /** Records an event that was read or acknowledged: the newest one must stay where it is. */
  readonly note: (event: SeenEvent | undefined) => void;
  /**
   * Asks the server, unless it has been asked since the last failure of a call or loss of the connection.
   *
   * @throws {EsdbFailure} of kind `replaced` if it holds something else, `behind` if it holds less, which may only be its index.
   */
  readonly confirm: (patience: Pick<Patience, "leftMs">, signal: AbortSignal) => Promise<void>;
};

function createSameStore(
  connection: Connection,
  {
    address,
    names,
    closing,
  }: { readonly address: Address; readonly names: ParameterNames; readonly closing: AbortSignal },
): SameStore {
  let storeId: string | null = null;
  let newest: SeenEvent | null = null;
  let confirmedAt = connection.losses();
  let asking: Promise<void> | null = null;

  /** The first event that the server returns; null for none. */
  async function first(request: ReadReq, silenceMs: number): Promise<EsdbEvent | null> {
    for await (const messages of readMessages(connection, request, { signal: closing, silenceMs, isShort: true }))
      for (const { event } of messages) if (event !== null) return event;
    return null;
  }

  async function checkId(silenceMs: number): Promise<void> {
    const range = { name: names.identity, from: 0, direction: "forwards", count: 1 } as const;
    const event = await first(connection.messages.readStream(range), silenceMs);
    if (event === null) throw new EsdbFailure("behind", "it holds no store");
    const found = storeIdOf(event, address.shown);
    if (found !== storeId) throw new EsdbFailure("replaced", `its id is ${found}, and was ${storeId ?? "none"}`);
  }

  async function checkNewest(seen: SeenEvent, silenceMs: number): Promise<void> {
    const gone = `event ${seen.id}, which was at ${seen.position}, is missing`;
    let found: EsdbEvent | null;
    try {
      found = await first(connection.messages.eventAt(seen.position), silenceMs);
    } catch (error) {
      if (!(error instanceof EsdbFailure)) throw error;
      // A user of a stream may not be allowed to read the log.
      if (error.kind === "denied") return;
      throw error.kind === "position" ? new EsdbFailure("replaced", gone, { cause: error.cause }) : error;
    }
    if (found === null) throw new EsdbFailure("behind", `its log ends before ${seen.position}, which it had before`);
    // A scavenge may have removed the event, and then the server returns a later one.
    if (comparePositions(found.position, seen.position) === 0 && found.id !== seen.id)
      throw new EsdbFailure("replaced", gone);
  }

  async function ask(limitMs: number): Promise<void> {
    const losses = connection.losses();
    const silenceMs = Math.min(address.silenceMs.read, limitMs);
    await checkId(silenceMs);
    if (newest !== null) await checkNewest(newest, silenceMs);
    confirmedAt = losses;
  }

  return {
    opened(id) {
      storeId = id;
    },
    note(event) {
      if (event !== undefined && (newest === null || comparePositions(event.position, newest.position) > 0))
        newest = { id: event.id, position: event.position };
    },
    async confirm({ leftMs }, signal) {
      if (storeId === null || confirmedAt === connection.losses()) return;
      // Concurrent callers share one request.
      asking ??= ask(leftMs()).finally(() => {
        asking = null;
      });
      const waiting = innerSignal(signal);
      try {
        await Promise.race([asking, rejectionOf(waiting.signal)]);
      } finally {
        waiting.end(undefined);
      }
    },
  };
}
