import { err, ok, type Result } from "../base/result.ts";
import {
  blobStreamsOf,
  type ConversationId,
  conversationOfBlob,
  conversationOfStream,
  conversationStream,
} from "../domain/ids.ts";
import { blobStream } from "../log/codec/blobs.ts";
import { decodeData } from "../log/codec/data.ts";
import { checkEnvelope } from "../log/codec/envelope.ts";
import { ConversationErasedError, isErased } from "../log/codec/erased.ts";
import type { BlobReference } from "../log/codec/references.ts";
import { lastAtOf, parentOf } from "../log/history/parent.ts";
import {
  type Envelope,
  type EventStore,
  envelopeAt,
  type Head,
  StoreCorruptedError,
} from "../log/ports/event-store.ts";

export type StreamHead = { readonly stream: string; readonly head: Head };

/** Whole conversations that can be carried elsewhere: out of a store, or out of a bundle. */
export type CopySource = {
  /** The streams in an order in which each comes after what it needs: its blobs, and the conversation it began from. */
  readonly heads: readonly StreamHead[];
  /**
   * Every event up to the heads, stream after stream in that order; may be asked for again.
   *
   * @throws {StoreCorruptedError} instead of an event whose chain does not hold, and where one is missing.
   */
  readonly events: () => AsyncIterable<Envelope>;
};

/**
 * Conversations of a store as they are now, with their blobs and ancestors; all of them when none is named.
 *
 * @throws {StoreCorruptedError} when a conversation, or one that it began from, is not there.
 * @throws {ConversationErasedError} when one that is named was erased; of all conversations it is left out.
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
      // A child of it has nothing of it, and of all conversations it is none any more. Who names it is told.
      if (conversations === undefined || child !== null) return;
      throw new ConversationErasedError(newest);
    }
    const parent = await parentOf(store, stream);
    if (parent !== null) await add(parent, id);
    streams.push({ stream, head });
  }
  for (const id of await oldestFirst(store, conversations ?? (await conversationsOf(store)))) await add(id, null);
  // Looked for after the heads: a blob is durable before the event that names it.
  const heads = await withBlobs(store, streams, conversations === undefined);
  return { heads, events: () => eventsUpTo(store, heads) };
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

/** A copy vouches for what it copies. A file that is copied as it is says no more than it did before. */
const notCarried =
  "what is not as it was written is not copied or exported: restore a backup, or take the whole sqlite store as it is with `turnlog store backup`";

/** What has to be true of a source's events; what is wrong is said in words, for the caller, who knows where it stands. */
export type SourceCheck = {
  readonly take: (envelope: Envelope) => Result<Head, string>;
  /** After the last event. */
  readonly end: () => Result<null, string>;
};

/** Checks that each stream is whole up to its head and its chain holds, and that the blobs which it names come first. */
export function createSourceCheck(heads: readonly StreamHead[]): SourceCheck {
  const passed = new Set<string>();
  let index = 0;
  let head: Head | null = null;
  return {
    take(envelope) {
      const due = heads[index];
      if (envelope.stream !== due?.stream) return err(`it stands where ${missing(due, head)} is due`);
      const checked = checkEnvelope(head, envelope);
      if (!checked.ok) return err(checked.error.reason);
      for (const blob of blobsOf(envelope)) {
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

/** The blobs that an event names. */
export function blobsOf({ stream, data }: Envelope): readonly BlobReference[] {
  return conversationOfStream(stream) === null || !data.includes('"$blob"') ? [] : decodeData(data).blobs;
}

const conversationsOf = async (store: EventStore): Promise<readonly ConversationId[]> =>
  (await headsOf(store, "conversation-")).flatMap(({ stream }) => conversationOfStream(stream) ?? []);

/**
 * In the order in which they were written last, which is then that of the target's log, too. What began from another stands behind it:
 * not before that one's turn has come, or the newest of all would be buried among older ones.
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
    // A circle is damage, which is told where it is copied.
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
  // One that is not there is refused where its turn comes.
  const there = new Set(known.map(({ id }) => id));
  return [...known.map(({ id }) => id), ...conversations.filter((id) => !there.has(id))];
}

/** Each stream after its own blobs. Of a few conversations they are asked for one by one, of all at once. */
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
