import { firstRevision, isSameHead, resolveHeadMismatch } from "../../log/codec/idempotent-append.ts";
import {
  type AppendResult,
  type EventStore,
  envelopeAt,
  type Head,
  type PreparedAppend,
  type ReadStreamOptions,
  type StoredEnvelope,
} from "../../log/ports/event-store.ts";

/** How many events of a stream an overlay shows of the store below; of other streams it shows all. */
export type ShownEvents = ReadonlyMap<string, number>;

/**
 * The events of a store as they were at some time, and in memory the events that are appended to them. Nothing is written to the store
 * below. It holds the streams of one conversation and its ancestors: it has no log, and closing it closes nothing.
 */
export function createOverlayStore(below: EventStore, shown: ShownEvents): EventStore {
  const appended = new Map<string, StoredEnvelope[]>();
  const heads = new Map<string, Head | null>();

  /** The head of the part that is below. */
  async function headBelow(stream: string): Promise<Head | null> {
    const known = heads.get(stream);
    if (known !== undefined) return known;
    const head = await readHeadBelow(stream);
    heads.set(stream, head);
    return head;
  }

  async function readHeadBelow(stream: string): Promise<Head | null> {
    const count = shown.get(stream);
    if (count === undefined) return below.head(stream);
    const last = count === 0 ? null : await envelopeAt(below, stream, count - 1);
    return last === null ? null : { revision: last.revision, digest: last.digest };
  }

  async function head(stream: string): Promise<Head | null> {
    const last = appended.get(stream)?.at(-1);
    return last === undefined ? headBelow(stream) : { revision: last.revision, digest: last.digest };
  }

  async function append(prepared: PreparedAppend): Promise<AppendResult> {
    const { stream, expectedHead, envelopes } = prepared;
    const actual = await head(stream);
    if (!isSameHead(expectedHead, actual)) {
      const present: StoredEnvelope[] = [];
      const range = { from: firstRevision(prepared), limit: envelopes.length };
      for await (const envelope of readStream(stream, range)) present.push(envelope);
      return resolveHeadMismatch(prepared, actual, present);
    }
    const events = appended.get(stream) ?? [];
    for (const envelope of envelopes) events.push({ ...envelope, position: String(envelope.revision + 1) });
    appended.set(stream, events);
    const last = events.at(-1);
    if (last === undefined) return { status: "conflict", actual };
    return { status: "appended", head: { revision: last.revision, digest: last.digest }, position: last.position };
  }

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncGenerator<StoredEnvelope> {
    const { direction = "forwards", limit = Number.POSITIVE_INFINITY, signal } = options;
    const isForwards = direction === "forwards";
    const count = ((await headBelow(stream))?.revision ?? -1) + 1;
    const own = appended.get(stream) ?? [];
    const from = options.from ?? (isForwards ? 0 : count + own.length - 1);
    const ofOwn = isForwards
      ? own.slice(Math.max(0, from - count))
      : own.slice(0, Math.max(0, from - count + 1)).reverse();
    let left = limit;
    const take = function* (events: readonly StoredEnvelope[]): Generator<StoredEnvelope> {
      for (const event of events.slice(0, left)) {
        left -= 1;
        yield event;
      }
    };
    if (!isForwards) yield* take(ofOwn);
    const places = isForwards ? count - from : Math.min(from, count - 1) + 1;
    const wanted = Math.min(left, places);
    if (wanted > 0) {
      const range = { from: isForwards ? from : Math.min(from, count - 1), limit: wanted, direction };
      for await (const event of below.readStream(stream, signal === undefined ? range : { ...range, signal })) {
        left -= 1;
        yield event;
      }
    }
    if (isForwards) yield* take(ofOwn);
  }

  return {
    storeId: crypto.randomUUID(),
    takesLines: () => true,
    namingKey: async (stream) => (await below.namingKey?.(stream)) ?? null,
    ...{ head, append, readStream },
    readLog: nothing,
    subscribe: nothing,
    heads: nothing,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function* nothing(): AsyncGenerator<never> {
  // An overlay has streams only.
}
