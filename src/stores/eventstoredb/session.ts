import type { AccessRequest } from "../../log/authorized-store.ts";
import { StoreClosedError, StoreCorruptedError } from "../../log/ports/event-store.ts";
import type { Address } from "./address.ts";
import type { Connection } from "./connection.ts";
import type { ReadResp, RecordedEvent } from "./driver.ts";
import { Failure, portError } from "./failure.ts";
import { createHeads, type Heads } from "./heads.ts";
import { createNames, type Names } from "./names.ts";
import { readMessages } from "./read-call.ts";
import { createRequests, type Requests, type StreamRange } from "./request.ts";
import { createPatience } from "./retry-policy.ts";

/** What the parts of an open store share. */
export type Session = {
  readonly address: Address;
  readonly names: Names;
  readonly requests: Requests;
  readonly connection: Connection;
  readonly heads: Heads;
  /** Aborts when the store is closed. */
  readonly closing: AbortSignal;
  readonly refuseIfClosed: () => void;
  /** The port's error for a failure; every other error as it is. */
  readonly translate: (error: unknown, request: AccessRequest) => unknown;
  /** Is told what an operator should know. */
  readonly warn: (message: string) => void;
  /** Says once that another program writes to streams that turnlog reads, or has deleted one. */
  readonly warnOfForeign: (event: RecordedEvent, name: string) => void;
};

export function createSession(options: Pick<Session, "address" | "connection" | "closing" | "warn">): Session {
  const { address, connection, closing, warn } = options;
  const warned = new Set<string>();
  return {
    ...options,
    names: createNames(address.namespace),
    heads: createHeads(),
    requests: createRequests(connection.driver),
    refuseIfClosed() {
      if (closing.aborted) throw new StoreClosedError(`the store at ${address.shown} was closed`);
    },
    warnOfForeign(event, name) {
      const isDeletion = event.getMetadataMap().get("type") === "$streamDeleted";
      const warning = isDeletion
        ? `${name} at ${address.shown} was deleted for ever by another program: restore it from a copy under another name`
        : `${name} at ${address.shown} holds events of another program, which are left out of the log: give turnlog names of its own (turnlogNamespace=… in the address)`;
      const about = isDeletion ? name : "";
      if (!warned.has(about)) warn(warning);
      warned.add(about);
    },
    translate: (error, request) => (error instanceof Failure ? portError(error, address.shown, request) : error),
  };
}

/** Aborts when the store is closed or the caller has enough. */
export const endOf = ({ closing }: Session, signal: AbortSignal | undefined): AbortSignal =>
  signal === undefined ? closing : AbortSignal.any([closing, signal]);

/**
 * The events of a stream of the server, as many at a time as have come; none where there is no such stream. Goes on
 * where it was when the connection is lost.
 *
 * @throws {Failure} when it stays lost, or the server refuses.
 * @throws {StoreCorruptedError} when revisions are missing that were there.
 */
export async function* readServerStream(
  session: Pick<Session, "address" | "connection" | "requests">,
  range: StreamRange,
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[], void> {
  const { address, connection, requests } = session;
  const patience = createPatience({ forMs: address.timeoutMs, signal });
  const step = range.direction === "forwards" ? 1 : -1;
  let { from, count } = range;
  // Below revision 0 there is nothing to ask for.
  while (count > 0 && from !== -1) {
    const call = { signal, silenceMs: address.silenceMs.read, isShort: count <= maxShort };
    try {
      for await (const messages of readMessages(connection, requests.readStream({ ...range, from, count }), call)) {
        const events: RecordedEvent[] = [];
        for (const message of messages) {
          const event = eventOf(message);
          if (event === null) continue;
          const revision = Number(event.getStreamRevision());
          checkNext(range, from, revision);
          from = revision + step;
          events.push(event);
        }
        count -= events.length;
        patience.restore();
        if (events.length > 0) yield events;
        // The time that the reader took is not the server's.
        patience.restore();
      }
      // The server has no more, though there must be.
      if (count > 0 && step < 0 && typeof from === "number" && from >= 0 && from !== range.from)
        throw truncated(range.name, from);
      return;
    } catch (error) {
      await patience.wait(error);
      if (signal.aborted) throw error;
    }
  }
}

/** Events that may come for nobody rather than break off the call. */
const maxShort = 8;

/** The event of a message, as it lies in its stream: links are given as they are. */
export function eventOf(message: ReadResp): RecordedEvent | null {
  return message.getEvent()?.getEvent() ?? null;
}

// Revisions have no gaps, so one that does not follow shows that the stream lost its beginning.
function checkNext({ name, direction, from: first }: StreamRange, due: number | "end", revision: number): void {
  const isFirstBackwards = direction === "backwards" && due === first;
  if (due === "end" || revision === due || (isFirstBackwards && revision < due)) return;
  throw truncated(name, due);
}

/** The error for a stream whose beginning another program had removed. */
export function truncated(name: string, revision: number): StoreCorruptedError {
  return new StoreCorruptedError(
    `revision ${revision} of ${name} is missing: the stream has $maxCount, $maxAge or $tb in its metadata, or was deleted; remove those settings, and restore the events from a copy`,
  );
}
