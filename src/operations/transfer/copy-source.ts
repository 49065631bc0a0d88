import { err, ok, type Result } from "../../base/result.ts";
import {
  blobStreamsOf,
  type ConversationId,
  conversationOfBlob,
  conversationOfStream,
  conversationStream,
} from "../../domain/ids.ts";
import { blobStream } from "../../log/codec/blobs.ts";
import { decodeData } from "../../log/codec/data.ts";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { ConversationErasedError, isErased } from "../../log/codec/erased.ts";
import type { BlobReference } from "../../log/codec/references.ts";
import { lastAtOf, parentOf } from "../../log/history/parent.ts";
import { type Envelope, type EventStore, envelopeAt, type Head } from "../../log/ports/event-store.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { erasureOrders, erasureStream } from "../../log/system-streams/erasures.ts";

export type StreamHead = { readonly stream: string; readonly head: Head };

/** Whole conversations to copy, from a store or a bundle. */
export type CopySource = {
  /** The streams, each after those it needs: its blobs, and its parent conversation. */
  readonly heads: readonly StreamHead[];
  /**
   * Every event up to the heads, stream by stream in that order; may be called again.
   *
   * @throws {StoreCorruptedError} in place of an event whose chain does not hold, and where one is missing.
   */
  readonly events: () => AsyncIterable<Envelope>;
  /** The naming keys of the conversations, by stream, as far as the source has them. */
  readonly keys: ReadonlyMap<string, string>;
};

/**
 * Conversations of a store in their current state, with their blobs and ancestors; all conversations if none are named.
 *
 * @throws {StoreCorruptedError} if a conversation or one of its ancestors is missing.
 * @throws {ConversationErasedError} if a named one was erased; among all conversations it is left out.
 */
export async function openStoreSource(
  store: EventStore,
  conversations?: readonly ConversationId[],
): Promise<CopySource> {
  const streams: StreamHead[] = [];
  const seen = new Set<ConversationId>();
  async function add(id: ConversationId, child: ConversationId | null): Promise<void> {
    if (seen.has(id)) return;
    seen.add(id);
    const stream = conversationStream(id);
    const head = await store.head(stream);
    if (head === null) {
      const why = child === null ? "" : `, from which ${child} began`;
      throw new StoreCorruptedError(`conversation ${id}${why}, is not in the store`);
    }
    const newest = await envelopeAt(store, stream, head.revision);
    if (newest !== null && isErased(newest)) {
      // Erased: a child has none of its content, and a copy of all leaves it out. Only a caller that names it gets the error.
      if (conversations === undefined || child !== null) return;
      throw new ConversationErasedError(newest);
    }
    const parent = await parentOf(store, stream);
    if (parent !== null) await add(parent, id);
    streams.push({ stream, head });
  }
  for (const id of await oldestFirst(store, conversations ?? (await conversationsOf(store)))) await add(id, null);
  // Searched for after the heads: a blob is durable before the event that refers to it.
  const heads = [...(await ordersOf(store, seen)), ...(await withBlobs(store, streams, conversations === undefined))];
  return { heads, events: () => eventsUpTo(store, heads), keys: await keysOf(store, streams) };
}

/** The erasure orders that took lines out of these conversations: without them, the lines would be missing for no reason. */
async function ordersOf(store: EventStore, ids: ReadonlySet<ConversationId>): Promise<readonly StreamHead[]> {
  const orders: StreamHead[] = [];
  for await (const { orderId, conversations, isRefused } of erasureOrders(store)) {
    const isNeeded = !isRefused && conversations.some(({ id, places }) => places !== undefined && ids.has(id));
    const stream = erasureStream(orderId);
    const head = isNeeded ? await store.head(stream) : null;
    if (head !== null) orders.push({ stream, head });
  }
  return orders;
}

async function keysOf(store: EventStore, streams: readonly StreamHead[]): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for (const { stream } of streams) {
    const key = (await store.namingKey?.(stream)) ?? null;
    if (key !== null) keys.set(stream, key);
  }
  return keys;
}

/** The events of a store's streams up to heads, checked like those of a source. */
export async function* eventsUpTo(store: EventStore, heads: readonly StreamHead[]): AsyncIterable<Envelope> {
  const check = createSourceCheck(heads);
  for (const { stream, head } of heads) {
    for await (const { position: _, ...envelope } of store.readStream(stream, { limit: head.revision + 1 })) {
      const checked = check.take(envelope);
      if (!checked.ok)
        throw new StoreCorruptedError(`event ${envelope.revision} of ${stream}: ${checked.error}; ${notCarried}`);
      yield envelope;
    }
  }
  const ended = check.end();
  if (!ended.ok) throw new StoreCorruptedError(ended.error);
}

/** A copy is checked, unlike a file that is copied byte by byte, which proves nothing new. */
const notCarried =
  "what is not as it was written is not copied or exported: restore a backup, or take the whole sqlite store as it is with `turnlog store backup`";

/** Checks a source's events. It describes a problem, and the caller adds where it is. */
export type SourceCheck = {
  readonly take: (envelope: Envelope) => Result<Head, string>;
  /** After the last event. */
  readonly end: () => Result<null, string>;
};

/** Checks that an event follows from the one before it in its stream. */
export type EnvelopeCheck = typeof checkEnvelope;

/** Checks that each stream is complete up to its head, that its chain holds, and that its blobs come first. */
export function createSourceCheck(
  heads: readonly StreamHead[],
  { check = checkEnvelope, blobs = blobsOf }: { readonly check?: EnvelopeCheck; readonly blobs?: typeof blobsOf } = {},
): SourceCheck {
  const passed = new Set<string>();
  let index = 0;
  let head: Head | null = null;
  return {
    take(envelope) {
      const due = heads[index];
      if (envelope.stream !== due?.stream) return err(`it stands where ${missing(due, head)} is due`);
      const checked = check(head, envelope);
      if (!checked.ok) return err(checked.error.reason);
      for (const blob of blobs(envelope)) {
        const name = blobStream(envelope.stream, blob);
        if (!passed.has(name)) return err(`it names ${name}, which is not there`);
      }
      head = checked.value;
      if (head.revision < due.head.revision) return checked;
      if (head.digest !== due.head.digest) return err("it is another event than the head");
      passed.add(due.stream);
      index += 1;
      head = null;
      return checked;
    },
    end: () => (index === heads.length ? ok(null) : err(`${missing(heads[index], head)} is missing`)),
  };
}

const missing = (due: StreamHead | undefined, head: Head | null): string =>
  due === undefined ? "nothing more" : `event ${head === null ? 0 : head.revision + 1} of ${due.stream}`;

/** The blobs that an event refers to. */
export function blobsOf(envelope: Envelope): readonly BlobReference[] {
  const { stream, data } = envelope;
  return conversationOfStream(stream) === null || !data.includes('"$blob"') ? [] : decodeData(envelope).blobs;
}

const conversationsOf = async (store: EventStore): Promise<readonly ConversationId[]> =>
  (await headsOf(store, "conversation-")).flatMap(({ stream }) => conversationOfStream(stream) ?? []);

/**
 * Orders conversations by their newest event, which becomes their order in the target's log. A fork or child comes after its parent,
 * but not before the parent's own place: otherwise the newest conversation would be among older ones.
 */
async function oldestFirst(
  store: EventStore,
  conversations: readonly ConversationId[],
): Promise<readonly ConversationId[]> {
  const turns = new Map<ConversationId, string | null>();
  const turnOf = async (id: ConversationId): Promise<string | null> => {
    const known = turns.get(id);
    if (known !== undefined) return known;
    const at = await lastAtOf(store, id);
    // A circle is damage, which the copy reports.
    turns.set(id, at);
    const parent = at === null ? null : await parentOf(store, conversationStream(id));
    const before = parent === null ? null : await turnOf(parent);
    const turn = before !== null && at !== null && before > at ? before : at;
    turns.set(id, turn);
    return turn;
  };
  const written: { readonly id: ConversationId; readonly at: string }[] = [];
  for (const id of conversations) {
    const at = await turnOf(id);
    if (at !== null) written.push({ id, at });
  }
  const known = written.toSorted((left, right) => (left.at < right.at ? -1 : left.at > right.at ? 1 : 0));
  // A missing one is reported at its place.
  const there = new Set(known.map(({ id }) => id));
  return [...known.map(({ id }) => id), ...conversations.filter((id) => !there.has(id))];
}

/** Each stream after its own blobs. Looks them up per conversation for a few, and in one scan for all. */
async function withBlobs(
  store: EventStore,
  streams: readonly StreamHead[],
  isAll: boolean,
): Promise<readonly StreamHead[]> {
  const blobs = async (prefix: string) =>
    Map.groupBy(await headsOf(store, prefix), ({ stream }) => conversationOfBlob(stream));
  const all = isAll ? await blobs("blob-") : null;
  const ordered: StreamHead[] = [];
  for (const each of streams) {
    const id = conversationOfStream(each.stream);
    const own = id === null ? [] : ((all ?? (await blobs(blobStreamsOf(id)))).get(id) ?? []);
    ordered.push(...own, each);
  }
  return ordered;
}

async function headsOf(store: EventStore, prefix: string): Promise<readonly StreamHead[]> {
  const heads: StreamHead[] = [];
  for await (const { stream, head } of store.heads(prefix)) heads.push({ stream, head });
  return heads;
}
