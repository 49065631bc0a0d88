import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import type { ReadResp, RecordedEvent } from "./driver.ts";
import { envelopeOf, positionOf, textOf } from "./envelope.ts";
import { isPosition, positionText } from "./position.ts";
import { eventOf, type Session } from "./session.ts";

/** How far a reading of the log has come. */
export type Cursor = {
  /** What the server is asked for: an expression for the names of streams. */
  readonly pattern: string;
  /** The last position that was seen; null at the beginning. */
  readonly position: () => string | null;
  /** The events that are new. Positions that are none, and those that were seen, are passed over. */
  readonly take: (messages: readonly ReadResp[]) => readonly RecordedEvent[];
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
  function take(message: ReadResp): RecordedEvent | null {
    const event = eventOf(message);
    if (event !== null) return moveTo(positionText(positionOf(event))) ? event : null;
    const position = checkpointOf(message);
    if (position !== null) moveTo(position);
    return null;
  }

  return {
    pattern,
    position: () => seen,
    take: (messages) => messages.map(take).filter((event) => event !== null),
    takeEvents: (events) => events.filter((event) => moveTo(positionText(positionOf(event)))),
  };
}

function checkpointOf(message: ReadResp): string | null {
  const checkpoint = message.getCheckpoint();
  if (checkpoint === undefined) return null;
  const place = { commit: checkpoint.getCommitPosition(), prepare: checkpoint.getPreparePosition() };
  return isPosition(place) ? positionText(place) : null;
}

/** The stream of an event; null when it is not this store's. */
export const streamOf = ({ names }: Pick<Session, "names">, event: RecordedEvent): string | null =>
  names.toStream(nameOf(event));

const nameOf = (event: RecordedEvent): string =>
  textOf(event.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array());

/** The envelopes of the events that belong to streams whose names begin so. The comparison is this one, not the server's. */
export function ownEnvelopes(
  session: Pick<Session, "names" | "warnOfForeign">,
  events: readonly RecordedEvent[],
  streamPrefix: string,
): readonly StoredEnvelope[] {
  const envelopes: StoredEnvelope[] = [];
  for (const event of events) {
    const stream = streamOf(session, event);
    if (stream?.startsWith(streamPrefix) !== true) continue;
    const envelope = envelopeOf(event, stream);
    if (envelope === null) session.warnOfForeign(event, nameOf(event));
    else envelopes.push(envelope);
  }
  return envelopes;
}
