import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { envelopeOf } from "./envelope.ts";
import { EsdbFailure } from "./failure.ts";
import type { EsdbEvent, ReadMessage } from "./messages.ts";
import { forPart, type Patience } from "./patience.ts";
import { type ReadCallOptions, readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

/** How far a reading of the log has come. */
export type Cursor = {
  /** What the server is asked for: an expression for the names of streams. */
  readonly pattern: string;
  /** The last position that was seen; null at the beginning. */
  readonly position: () => string | null;
  /** The events that are new. Positions that are none, and those that were seen, are passed over. */
  readonly take: (messages: readonly ReadMessage[]) => readonly EsdbEvent[];
  /** The same of events that came another way. */
  readonly takeEvents: (events: readonly EsdbEvent[]) => readonly EsdbEvent[];
};

export function createCursor(pattern: string, after: string | null): Cursor {
  let seen = after;

  /** Whether it is new. A read begins with the event at its position, and after a loss the same may come twice. */
  function moveTo(position: string): boolean {
    if (seen !== null && comparePositions(position, seen) <= 0) return false;
    seen = position;
    return true;
  }
  function take({ event, checkpoint }: ReadMessage): EsdbEvent | null {
    if (event !== null) return moveTo(event.position) ? event : null;
    if (checkpoint !== null) moveTo(checkpoint);
    return null;
  }

  return {
    pattern,
    position: () => seen,
    take: (messages) => messages.map(take).filter((event) => event !== null),
    takeEvents: (events) => events.filter(({ position }) => moveTo(position)),
  };
}

/** The envelopes of the events that belong to streams whose names begin so. The comparison is this one, not the server's. */
export function ownEnvelopes(
  session: Pick<Session, "names" | "warnOfForeign">,
  events: readonly EsdbEvent[],
  streamPrefix: string,
): readonly StoredEnvelope[] {
  const envelopes: StoredEnvelope[] = [];
  for (const event of events) {
    const stream = session.names.toStream(event.name);
    if (stream?.startsWith(streamPrefix) !== true) continue;
    const envelope = envelopeOf(event, stream);
    if (envelope === null) session.warnOfForeign(event);
    else envelopes.push(envelope);
  }
  return envelopes;
}

export type LogOptions = {
  readonly cursor: Cursor;
  /** A place that the reading has to get to: what lies before it was seen by others, or acknowledged. */
  readonly to: string | null;
  /** How long to go on without success. */
  readonly patience: Patience;
  /** Ends it, with an error. */
  readonly signal: AbortSignal;
};

/**
 * The events of the log after the cursor, as many at a time as have come, to the end as it is when the reading gets there.
 * However much lies between, the cursor moves on, and the reading goes on there when the connection is lost.
 */
export async function* readLogToEnd(session: Session, options: LogOptions): AsyncGenerator<readonly EsdbEvent[], void> {
  const { connection, address, sameStore } = session;
  const { cursor, to, patience, signal } = options;
  await expectReached(session, cursor.position(), { patience: forPart(patience), signal });
  for (;;) {
    try {
      await sameStore.confirm(patience, signal);
      if (to !== null && !(await isReached(session, to, { patience, signal })))
        throw new EsdbFailure("passing", `what was written at ${to} cannot be read yet`);
      const request = connection.messages.subscribe({ from: cursor.position(), pattern: cursor.pattern });
      const call = { signal, silenceMs: Math.min(address.silenceMs.read, patience.leftMs()) };
      let last: readonly EsdbEvent[] | null = null;
      for await (const messages of readMessages(connection, request, call)) {
        patience.restore();
        const events = cursor.take(messages);
        sameStore.note(events.at(-1));
        if (messages.some(({ isCaughtUp }) => isCaughtUp)) {
          last = events;
          break;
        }
        if (events.length > 0) yield events;
        patience.restore();
      }
      if (last === null) throw new EsdbFailure("passing", "the server ended the reading");
      // By now the call is over, so that nobody waits for its place.
      if (last.length > 0) yield last;
      return;
    } catch (error) {
      await patience.wait(named(error, cursor));
      if (signal.aborted) throw error;
    }
  }
}

/** The place of the newest event of the whole log that can be read; null when there is none. */
export async function endOfLog(
  session: Session,
  { patience, ...options }: Pick<ReadCallOptions, "signal" | "beside"> & { readonly patience: Patience },
): Promise<string | null> {
  const { connection, address } = session;
  const call = { ...options, silenceMs: Math.min(address.silenceMs.read, patience.leftMs()), isShort: true };
  for await (const messages of readMessages(connection, connection.messages.endOfLog(), call))
    for (const { event } of messages) if (event !== null) return event.position;
  return null;
}

type Reaching = { readonly patience: Patience; readonly signal: AbortSignal };

/** Whether the log that can be read comes so far; while its index does not, an end that the server tells is none. */
async function isReached(session: Session, position: string, reaching: Reaching): Promise<boolean> {
  const end = await endOfLog(session, reaching);
  return end !== null && comparePositions(end, position) >= 0;
}

/**
 * Resolves when the log comes as far as a place from which it is to be read. From one beyond the end the server would pass
 * over what comes, without a word.
 *
 * @throws {EsdbFailure} of kind `behind` when it does not in time.
 */
export async function expectReached(
  session: Session,
  position: string | null,
  { patience, signal }: Reaching,
): Promise<void> {
  if (position === null) return;
  for (;;) {
    try {
      if (await isReached(session, position, { patience, signal })) return;
      throw new EsdbFailure("behind", `its log ends before ${position}`);
    } catch (error) {
      await patience.wait(error);
      if (signal.aborted) throw error;
    }
  }
}

/** A refused position with its name, which the server does not repeat. */
function named(error: unknown, cursor: Cursor): unknown {
  if (!(error instanceof EsdbFailure) || error.kind !== "position") return error;
  return new EsdbFailure("position", `${cursor.position() ?? "the beginning"}: ${error.message}`, {
    cause: error.cause,
  });
}
