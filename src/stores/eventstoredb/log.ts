import { comparePositions, type StoredEnvelope } from "../../engine/ports/event-store.ts";
import type { ReadResp, RecordedEvent } from "./driver.ts";
import { envelopeOf, positionOf, textOf } from "./envelope.ts";
import { Failure } from "./failure.ts";
import { createPatience } from "./patience.ts";
import { type Position, positionText } from "./position.ts";
import { readMessages } from "./read-call.ts";
import { eventOf, type Session } from "./session.ts";

export type LogOptions = {
  /** Begins after this position. */
  readonly after: string | undefined;
  readonly streamPrefix: string;
  /** Ends it, with an error for `readOwnLog` and without one for `followOwnLog`. */
  readonly signal: AbortSignal;
};

/**
 * The store's own events in the order of the log, to its end. The server filters by name, because the client's own read
 * of the log cannot; it goes on where it was when the connection is lost.
 */
export async function* readOwnLog(
  session: Session,
  options: LogOptions,
): AsyncGenerator<readonly StoredEnvelope[], void> {
  const { connection, requests, address } = session;
  const { signal } = options;
  const cursor = createCursor(session, options);
  const patience = createPatience({ forMs: address.timeoutMs, signal });
  for (;;) {
    try {
      const request = requests.readLog({ from: cursor.position(), prefix: cursor.prefix });
      const silenceMs = address.timeoutMs * searchFactor;
      for await (const messages of readMessages(connection, request, { signal, silenceMs })) {
        patience.restore();
        yield cursor.takeAll(messages);
      }
      return;
    } catch (error) {
      await patience.wait(error);
      if (signal.aborted) throw error;
    }
  }
}

/** The server says nothing while it searches a long log for a rare name. */
const searchFactor = 10;

/**
 * The store's own events, then every one as it comes, each once: after a loss of the connection it asks again from the
 * last event or checkpoint, for as long as it takes.
 */
export async function* followOwnLog(
  session: Session,
  options: LogOptions,
): AsyncGenerator<readonly StoredEnvelope[], void> {
  const { connection, requests, address } = session;
  const { signal } = options;
  const isOver = (): boolean => signal.aborted;
  const cursor = createCursor(session, options);
  const patience = createPatience({ forMs: Number.POSITIVE_INFINITY, signal });
  let isLost = false;
  while (!isOver()) {
    let failure: unknown = new Failure("passing", "the server ended the subscription");
    try {
      const request = requests.subscribe({ from: cursor.position(), prefix: cursor.prefix });
      const call = { signal, silenceMs: address.timeoutMs, maySleep: true };
      for await (const messages of readMessages(connection, request, call)) {
        patience.restore();
        isLost = false;
        yield cursor.takeAll(messages);
        if (isOver()) return;
      }
    } catch (error) {
      failure = error;
    }
    if (isOver()) return;
    await patience.wait(failure);
    if (!isLost) session.warn(`lost the connection to ${address.shown}, and tries again: ${String(failure)}`);
    isLost = true;
  }
}

type Cursor = {
  readonly prefix: string | null;
  /** The last position that was seen; null at the beginning. */
  readonly position: () => string | null;
  /** The messages' events that are the store's own and new. */
  readonly takeAll: (messages: readonly ReadResp[]) => readonly StoredEnvelope[];
};

function createCursor(session: Session, { after, streamPrefix }: LogOptions): Cursor {
  const { names, warnOfForeign } = session;
  let seen = after ?? null;

  function own(event: RecordedEvent): StoredEnvelope | null {
    const name = textOf(event.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array());
    const stream = names.toStream(name);
    if (stream?.startsWith(streamPrefix) !== true) return null;
    const envelope = envelopeOf(event, stream);
    if (envelope === null) warnOfForeign(name);
    return envelope;
  }

  function take(message: ReadResp): StoredEnvelope | null {
    const checkpoint = message.getCheckpoint();
    const event = eventOf(message);
    const place = event === null ? checkpoint && placeOf(checkpoint) : positionOf(event);
    if (place === undefined) return null;
    const position = positionText(place);
    // A read begins with the event at its position, and after a loss the same may come twice.
    if (seen !== null && comparePositions(position, seen) <= 0) return null;
    seen = position;
    return event === null ? null : own(event);
  }

  return {
    prefix: names.prefix(streamPrefix),
    position: () => seen,
    takeAll: (messages) => messages.map(take).filter((envelope) => envelope !== null),
  };
}

type Checkpoint = NonNullable<ReturnType<ReadResp["getCheckpoint"]>>;

const placeOf = (checkpoint: Checkpoint): Position => ({
  commit: checkpoint.getCommitPosition(),
  prepare: checkpoint.getPreparePosition(),
});
