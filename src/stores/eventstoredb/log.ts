import { comparePositions, type StoredEnvelope } from "../../engine/event-store.ts";
import type { ReadResp, RecordedEvent } from "./driver.ts";
import { envelopeOf, positionOf, textOf } from "./envelope.ts";
import { createPatience } from "./patience.ts";
import { positionText } from "./position.ts";
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
export async function* readOwnLog(session: Session, options: LogOptions): AsyncGenerator<StoredEnvelope, void> {
  const { connection, requests, address } = session;
  const { signal } = options;
  const cursor = createCursor(session, options);
  const patience = createPatience({ forMs: address.timeoutMs, signal });
  for (;;) {
    try {
      const request = requests.readLog({ from: cursor.position(), prefix: cursor.prefix });
      const silenceMs = address.timeoutMs * searchFactor;
      for await (const message of readMessages(connection, request, { signal, silenceMs })) {
        patience.restore();
        const envelope = cursor.take(message);
        if (envelope !== null) yield envelope;
      }
      return;
    } catch (error) {
      await patience.wait(error);
      if (signal.aborted) throw error;
    }
  }
}

/** The server says nothing while it searches a long log for a rare name. */
const searchFactor = 30;

/**
 * The store's own events, then every one as it comes, each once: after a loss of the connection it asks again from the
 * last event or checkpoint, for as long as it takes.
 */
export async function* followOwnLog(session: Session, options: LogOptions): AsyncGenerator<StoredEnvelope, void> {
  const { connection, requests, address } = session;
  const { signal } = options;
  const cursor = createCursor(session, options);
  const patience = createPatience({ forMs: Number.POSITIVE_INFINITY, signal });
  let isLost = false;
  while (!signal.aborted) {
    try {
      const request = requests.subscribe({ from: cursor.position(), prefix: cursor.prefix });
      const call = { signal, silenceMs: address.timeoutMs, maySleep: true };
      for await (const message of readMessages(connection, request, call)) {
        patience.restore();
        isLost = false;
        const envelope = cursor.take(message);
        if (envelope !== null) yield envelope;
        if (signal.aborted) return;
      }
      await patience.wait(ended);
    } catch (error) {
      if (signal.aborted) return;
      await patience.wait(error);
      if (!isLost) session.warn(`lost the connection to ${address.shown}, and tries again: ${String(error)}`);
      isLost = true;
    }
  }
}
