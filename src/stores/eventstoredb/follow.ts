import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { type Cursor, createCursor, ownEnvelopes } from "./cursor.ts";
import { readLogToEnd } from "./log.ts";
import type { Session } from "./session.ts";
import type { Tail } from "./tail.ts";

export type FollowOptions = {
  /** Begins after this position. */
  readonly after: string | undefined;
  readonly streamPrefix: string;
  /** Ends it, without an error. */
  readonly signal: AbortSignal;
};

/**
 * The store's own events, then every one as it comes, each once. What was there before is read; what comes is the tail's,
 * which is one for all. Who takes so much time that the tail cannot keep what came for him reads that too.
 */
export async function* followOwnLog(
  session: Session,
  tail: Tail,
  { after, streamPrefix, signal }: FollowOptions,
): AsyncGenerator<readonly StoredEnvelope[], void> {
  const cursor = createCursor(session.names.pattern(streamPrefix), after ?? null);
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    const attached = tail.attach(streamPrefix);
    try {
      const to = await attached.begins(signal);
      if (!isBeyond(cursor, to)) {
        for await (const events of readLogToEnd(session, { cursor, to, forMs: Number.POSITIVE_INFINITY, signal }))
          yield ownEnvelopes(session, events, streamPrefix);
      }
      for (let events = await attached.next(signal); events !== null; events = await attached.next(signal))
        yield ownEnvelopes(session, cursor.takeEvents(events), streamPrefix);
    } catch (error) {
      if (!isOver()) throw error;
    } finally {
      attached.leave();
    }
  }
}

/** Whether there is nothing to read before the tail begins. */
function isBeyond(cursor: Cursor, to: string | null): boolean {
  const position = cursor.position();
  return to === null || (position !== null && comparePositions(position, to) >= 0);
}
