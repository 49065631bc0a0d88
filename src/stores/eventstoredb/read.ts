import type { AccessRequest } from "../../log/access/authorized-store.ts";
import type { Head, ReadLogOptions, ReadStreamOptions, StoredEnvelope } from "../../log/ports/event-store.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { envelopeOf } from "./envelope.ts";
import { createTail, followOwnLog } from "./follow.ts";
import { createCursor, endOfLog, ownEnvelopes, readLogToEnd } from "./log.ts";
import type { EsdbEvent } from "./messages.ts";
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
  const { heads, names, refuseIfClosed, translate } = session;
  const tail = createTail(session);
  let ending: Promise<string | null> | null = null;

  /** Yields the events of a read until the caller stops, aborts, or closes the store. */
  async function* reading(
    what: AccessRequest,
    { limit = Number.POSITIVE_INFINITY, signal }: Pick<ReadLogOptions, "limit" | "signal">,
    begin: (end: AbortSignal) => AsyncIterable<Iterable<StoredEnvelope>>,
  ): AsyncIterable<StoredEnvelope> {
    const mustGoOn = (): void => {
      refuseIfClosed();
      signal?.throwIfAborted();
    };
    mustGoOn();
    let left = limit;
    try {
      if (left <= 0) return;
      for await (const envelopes of begin(endOf(session, signal))) {
        for (const envelope of envelopes) {
          yield envelope;
          mustGoOn();
          left -= 1;
          if (left <= 0) return;
        }
      }
    } catch (error) {
      mustGoOn();
      throw translate(error, what);
    }
  }

  function readStream(stream: string, options: ReadStreamOptions = {}): AsyncIterable<StoredEnvelope> {
    const { direction = "forwards", limit = Number.POSITIVE_INFINITY, signal } = options;
    const range: OwnRange = { from: options.from ?? (direction === "forwards" ? 0 : "end"), direction, count: limit };
    // The server gets the limit, so the call ends by itself.
    return reading({ action: "read", stream }, signal === undefined ? {} : { signal }, async function* (end) {
      const how = { patience: session.patience(end), signal: end };
      for await (const events of readOwnStream(session, stream, range, how)) yield envelopesOf(events, stream);
    });
  }

  function readLog(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    const { streamPrefix = "", after = null } = options;
    return reading({ action: "read", stream: `${streamPrefix}*` }, options, async function* (signal) {
      const cursor = createCursor(names.pattern(streamPrefix), after);
      const log = readLogToEnd(session, { cursor, to: heads.position(), patience: session.patience(signal), signal });
      for await (const events of log) yield ownEnvelopes(session, events, streamPrefix);
    });
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

  /** The end of the log, after checking that it is the store that was opened. */
  async function readEnd(): Promise<string | null> {
    const signal = endOf(session, undefined);
    const patience = session.patience(signal);
    for (;;) {
      try {
        await session.sameStore.confirm(patience, signal);
        return await endOfLog(session, { patience, signal });
      } catch (error) {
        await patience.wait(error);
        if (signal.aborted) throw error;
      }
    }
  }

  return {
    readStream,
    readLog,
    subscribe,
    async end() {
      refuseIfClosed();
      // Concurrent callers share one answer.
      ending ??= readEnd().finally(() => {
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
    // The server has no list of streams, so find their last events by reading the whole log.
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

/** Lazily, so that envelopes before an unreadable one are still returned. */
function* envelopesOf(events: readonly EsdbEvent[], stream: string): Iterable<StoredEnvelope> {
  for (const event of events) yield ownEnvelope(event, stream);
}

/** An envelope of a stream; a stream that others write to cannot be folded. */
export function ownEnvelope(event: EsdbEvent, stream: string): StoredEnvelope {
  const envelope = envelopeOf(event, stream);
  if (envelope !== null) return envelope;
  throw new StoreCorruptedError(
    `another program wrote event ${event.revision} of ${stream}: keep other programs off turnlog's streams, or give turnlog its own names (turnlogNamespace=… in the address)`,
  );
}
