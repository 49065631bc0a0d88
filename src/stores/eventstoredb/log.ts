import { comparePositions } from "../../log/ports/event-store.ts";
import type { Cursor } from "./cursor.ts";
import type { RecordedEvent } from "./driver.ts";
import { positionOf } from "./envelope.ts";
import { Failure } from "./failure.ts";
import { positionText } from "./position.ts";
import { type ReadCallOptions, readMessages } from "./read-call.ts";
import { createPatience } from "./retry-policy.ts";
import { eventOf, type Session } from "./session.ts";

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
  const { connection, requests, address } = session;
  const { cursor, to, signal } = options;
  const patience = createPatience({ forMs: options.forMs, signal });
  for (;;) {
    try {
      if (to !== null) await expectReadable(session, to, signal);
      const request = requests.subscribe({ from: cursor.position(), pattern: cursor.pattern });
      const call = { signal, silenceMs: address.silenceMs.read };
      let last: readonly RecordedEvent[] | null = null;
      for await (const messages of readMessages(connection, request, call)) {
        patience.restore();
        const events = cursor.take(messages);
        if (messages.some((message) => message.hasCaughtUp())) {
          last = events;
          break;
        }
        if (events.length > 0) yield events;
        patience.restore();
      }
      if (last === null) throw new Failure("passing", "the server ended the reading");
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
  options: Pick<ReadCallOptions, "signal" | "beside">,
): Promise<string | null> {
  const { connection, requests, address } = session;
  const call = { ...options, silenceMs: address.silenceMs.read, isShort: true };
  for await (const messages of readMessages(connection, requests.endOfLog(), call))
    for (const message of messages) {
      const event = eventOf(message);
      if (event !== null) return positionText(positionOf(event));
    }
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
