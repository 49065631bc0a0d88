import {
  type Head,
  type ReadLogOptions,
  type ReadStreamOptions,
  StoreCorruptedError,
  type StoredEnvelope,
} from "../../log/ports/event-store.ts";
import { envelopeOf } from "./envelope.ts";
import { createTail, followOwnLog } from "./follow.ts";
import { createCursor, endOfLog, ownEnvelopes, readLogToEnd } from "./log.ts";
import type { RecordedEvent } from "./messages.ts";
import { endOf, type Session } from "./session.ts";
import { type OwnRange, readOwnStream } from "./stream.ts";

export type Reads = {
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<StoredEnvelope>;
  readLog(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;
  subscribe(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;
  end(): Promise<string | null>;
  head(stream: string): Promise<Head | null>;
  heads(streamPrefix?: string): AsyncIterable<{ readonly stream: string; readonly head: Head }>;
};

export function createReads(session: Session): Reads {
  const { address, heads, names, refuseIfClosed, translate } = session;
  const tail = createTail(session);
  let ending: Promise<string | null> | null = null;

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncIterable<StoredEnvelope> {
    const { direction = "forwards", limit = Number.POSITIVE_INFINITY, signal } = options;
    refuseIfClosed();
    signal?.throwIfAborted();
    const first = direction === "forwards" ? 0 : "end";
    const end = endOf(session, signal);
    try {
      const range: OwnRange = { from: options.from ?? first, direction, count: limit };
      for await (const events of readOwnStream(session, stream, range, end)) {
        for (const event of events) {
          yield ownEnvelope(event, stream);
          refuseIfClosed();
          signal?.throwIfAborted();
        }
      }
    } catch (error) {
      refuseIfClosed();
      signal?.throwIfAborted();
      throw translate(error, { action: "read", stream });
    }
  }

  async function* readLog(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    const { streamPrefix = "", limit = Number.POSITIVE_INFINITY, signal } = options;
    refuseIfClosed();
    signal?.throwIfAborted();
    const end = endOf(session, signal);
    let left = limit;
    try {
      if (left <= 0) return;
      const cursor = createCursor(names.pattern(streamPrefix), options.after ?? null);
      const reading = { cursor, to: heads.position(), forMs: address.timeoutMs, signal: end };
      for await (const events of readLogToEnd(session, reading)) {
        for (const envelope of ownEnvelopes(session, events, streamPrefix)) {
          yield envelope;
          refuseIfClosed();
          signal?.throwIfAborted();
          left -= 1;
          if (left <= 0) return;
        }
      }
    } catch (error) {
      refuseIfClosed();
      signal?.throwIfAborted();
      throw translate(error, { action: "read", stream: `${streamPrefix}*` });
    }
  }

  async function* subscribe(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    const { streamPrefix = "", limit = Number.POSITIVE_INFINITY, signal } = options;
    refuseIfClosed();
    const end = endOf(session, signal);
    let left = limit;
    try {
      if (left <= 0) return;
      for await (const envelopes of followOwnLog(session, tail, { after: options.after, streamPrefix, signal: end })) {
        for (const envelope of envelopes) {
          yield envelope;
          left -= 1;
          if (left <= 0 || end.aborted) return;
        }
      }
    } catch (error) {
      throw translate(error, { action: "subscribe", stream: `${streamPrefix}*` });
    }
  }

  return {
    readStream,
    readLog,
    subscribe,
    async end() {
      refuseIfClosed();
      // All who ask at once are given one answer.
      ending ??= endOfLog(session, { signal: endOf(session, undefined) }).finally(() => {
        ending = null;
      });
      try {
        return await ending;
      } catch (error) {
        refuseIfClosed();
        throw translate(error, { action: "read", stream: "*" });
      }
    },
    async head(stream) {
      for await (const { revision, digest } of readStream(stream, { direction: "backwards", limit: 1 }))
        return { revision, digest };
      return null;
    },
    // The server has no list of streams: their last events are found by reading all of them.
    async *heads(streamPrefix = "") {
      const headByStream = new Map<string, Head>();
      for await (const { stream, revision, digest } of readLog({ streamPrefix }))
        headByStream.set(stream, { revision, digest });
      const inOrder = [...headByStream].sort(([left], [right]) =>
        Buffer.compare(Buffer.from(left), Buffer.from(right)),
      );
      for (const [stream, head] of inOrder) {
        refuseIfClosed();
        yield { stream, head };
      }
    },
  };
}

/** An envelope of a stream; streams that others write to cannot be folded. */
export function ownEnvelope(event: RecordedEvent, stream: string): StoredEnvelope {
  const envelope = envelopeOf(event, stream);
  if (envelope !== null) return envelope;
  throw new StoreCorruptedError(
    `event ${event.revision} of ${stream} was written by another program: keep other programs off turnlog's streams, or give turnlog names of its own (turnlogNamespace=… in the address)`,
  );
}
