import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { envelopeOf } from "./envelope.ts";
import { EsdbFailure } from "./failure.ts";
import type { EsdbEvent, ReadMessage } from "./messages.ts";
import { forPart, type Patience } from "./patience.ts";
import { type ReadCallOptions, readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

/** How far a read of the log has come. */
export type Cursor = {
  /** The filter for the server: a regular expression for the names of streams. */
  readonly pattern: string;
  /** The last position seen; null at the beginning. */
  readonly position: () => string | null;
  /** Returns the new events, without invalid positions and those already seen. */
  readonly take: (messages: readonly ReadMessage[]) => readonly EsdbEvent[];
  /** The same for events from another source. */
  readonly takeEvents: (events: readonly EsdbEvent[]) => readonly EsdbEvent[];
};

export function createCursor(pattern: string, after: string | null): Cursor {
  let seen = after;

  /** Whether the position is new. A read begins with the event at its position, and after a loss an event may come twice. */
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

/** The envelopes of events in streams with the prefix. This comparison decides, not the server's. */
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
  /** The position that the read must reach: everything before it was seen by others, or acknowledged. */
  readonly to: string | null;
  /** How long to keep trying without success. */
  readonly patience: Patience;
  /** Ends it with an error. */
  readonly signal: AbortSignal;
};

/**
 * The events of the log after the cursor, in batches as they arrive, up to the end of the log when the read reaches it.
 * The cursor also moves past other events, so that a read resumes there after the connection is lost.
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
      // The call has ended, so its slot is free.
      if (last.length > 0) yield last;
      return;
    } catch (error) {
      await patience.wait(named(error, cursor));
      if (signal.aborted) throw error;
    }
  }
}

/** The position of the newest readable event of the whole log; null if there is none. */
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

/** Whether the readable log reaches this position; until its index does, an end that the server reports is not the end. */
async function isReached(session: Session, position: string, reaching: Reaching): Promise<boolean> {
  const end = await endOfLog(session, reaching);
  return end !== null && comparePositions(end, position) >= 0;
}

/**
 * Resolves when the log reaches the position from which a read will start. From a position beyond the end, the server would silently
 * skip new events.
 *
 * @throws {EsdbFailure} of kind `behind` if it does not in time.
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

/** Adds the position to the error of a rejected one, because the server does not repeat it. */
function named(error: unknown, cursor: Cursor): unknown {
  if (!(error instanceof EsdbFailure) || error.kind !== "position") return error;
  return new EsdbFailure("position", `${cursor.position() ?? "the beginning"}: ${error.message}`, {
    cause: error.cause,
  });
}
