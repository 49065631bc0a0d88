import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { envelopeOf } from "./envelope.ts";
import { createRetryPolicy, Failure } from "./failure.ts";
import type { ReadMessage, RecordedEvent } from "./messages.ts";
import { type ReadCallOptions, readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

/** How far a reading of the log has come. */
export type Cursor = {
  /** What the server is asked for: an expression for the names of streams. */
  readonly pattern: string;
  /** The last position that was seen; null at the beginning. */
  readonly position: () => string | null;
  /** The events that are new. Positions that are none, and those that were seen, are passed over. */
  readonly take: (messages: readonly ReadMessage[]) => readonly RecordedEvent[];
  /** The same of events that came another way. */
  readonly takeEvents: (events: readonly RecordedEvent[]) => readonly RecordedEvent[];
};

export function createCursor(pattern: string, after: string | null): Cursor {
  let seen = after;

  /** Whether it is new. A read begins with the event at its position, and after a loss the same may come twice. */
  function moveTo(position: string): boolean {
    if (seen !== null && comparePositions(position, seen) <= 0) return false;
    seen = position;
    return true;
  }
  function take({ event, checkpoint }: ReadMessage): RecordedEvent | null {
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
  events: readonly RecordedEvent[],
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
  readonly forMs: number;
  /** Ends it, with an error. */
  readonly signal: AbortSignal;
};

/**
 * The events of the log after the cursor, as many at a time as have come, to the end as it is when the reading gets there.
 * However much lies between, the cursor moves on, and the reading goes on there when the connection is lost.
 */
export async function* readLogToEnd(
  session: Session,
  options: LogOptions,
): AsyncGenerator<readonly RecordedEvent[], void> {
  const { connection, address } = session;
  const { cursor, to, signal } = options;
  const retry = createRetryPolicy({ forMs: options.forMs, signal });
  for (;;) {
    try {
      if (to !== null) await expectReadable(session, to, signal);
      const request = connection.messages.subscribe({ from: cursor.position(), pattern: cursor.pattern });
      const call = { signal, silenceMs: address.silenceMs.read };
      let last: readonly RecordedEvent[] | null = null;
      for await (const messages of readMessages(connection, request, call)) {
        retry.restore();
        const events = cursor.take(messages);
        if (messages.some(({ isCaughtUp }) => isCaughtUp)) {
          last = events;
          break;
        }
        if (events.length > 0) yield events;
        retry.restore();
      }
      if (last === null) throw new Failure("passing", "the server ended the reading");
      // By now the call is over, so that nobody waits for its place.
      if (last.length > 0) yield last;
      return;
    } catch (error) {
      await retry.wait(named(error, cursor));
      if (signal.aborted) throw error;
    }
  }
}

/** The place of the newest event of the whole log that can be read; null when there is none. */
export async function endOfLog(
  session: Session,
  options: Pick<ReadCallOptions, "signal" | "beside">,
): Promise<string | null> {
  const { connection, address } = session;
  const call = { ...options, silenceMs: address.silenceMs.read, isShort: true };
  for await (const messages of readMessages(connection, connection.messages.endOfLog(), call))
    for (const { event } of messages) if (event !== null) return event.position;
  return null;
}

/** @throws {Failure} when the server's index has not come so far: then an end that it tells is none. */
async function expectReadable(session: Session, position: string, signal: AbortSignal): Promise<void> {
  const end = await endOfLog(session, { signal });
  if (end !== null && comparePositions(end, position) >= 0) return;
  throw new Failure("passing", `what was written at ${position} cannot be read yet`);
}

/** A refused position with its name, which the server does not repeat. */
function named(error: unknown, cursor: Cursor): unknown {
  if (!(error instanceof Failure) || error.kind !== "position") return error;
  return new Failure("position", `${cursor.position() ?? "the beginning"}: ${error.message}`, { cause: error.cause });
}
