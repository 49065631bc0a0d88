import {
  comparePositions,
  type Head,
  type ReadLogOptions,
  type ReadStreamOptions,
  StoreCorruptedError,
  type StoredEnvelope,
} from "../../engine/event-store.ts";
import { envelopeOf, positionOf } from "./envelope.ts";
import { createPatience } from "./patience.ts";
import { positionText } from "./position.ts";
import { readMessages } from "./read-call.ts";
import { eventOf, readServerStream, type Session } from "./session.ts";

export type Reads = {
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<StoredEnvelope>;
  readLog(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;
  head(stream: string): Promise<Head | null>;
  heads(streamPrefix?: string): AsyncIterable<{ readonly stream: string; readonly head: Head }>;
};

export function createReads(session: Session, give: GiveOwn): Reads {
  const { names, closing, refuseIfClosed, translate } = session;

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncIterable<StoredEnvelope> {
    const { direction = "forwards", limit = Number.POSITIVE_INFINITY, signal } = options;
    refuseIfClosed();
    signal?.throwIfAborted();
    const from = options.from ?? (direction === "forwards" ? 0 : "end");
    const over = anyOf(closing, signal);
    try {
      const range = { name: names.toServer(stream), from, direction, count: limit };
      for await (const event of readServerStream(session, range, over)) {
        yield ownEnvelope(envelopeOf(event, stream), stream);
        refuseIfClosed();
        signal?.throwIfAborted();
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
    const over = anyOf(closing, signal);
    let left = limit;
    try {
      if (left <= 0) return;
      for await (const envelope of readOwnLog(session, { after: options.after, streamPrefix, signal: over, give })) {
        yield envelope;
        refuseIfClosed();
        signal?.throwIfAborted();
        left -= 1;
        if (left <= 0) return;
      }
    } catch (error) {
      refuseIfClosed();
      signal?.throwIfAborted();
      throw translate(error, { action: "read", stream: `${streamPrefix}*` });
    }
  }

  return {
    readStream,
    readLog,
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
      const inOrder = [...headByStream].sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
      for (const [stream, head] of inOrder) {
        refuseIfClosed();
        yield { stream, head };
      }
    },
  };
}
