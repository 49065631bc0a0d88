import { anything, kindOf, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type ConversationId, conversationOfStream } from "../../domain/ids.ts";
import { blobStream, readBlob } from "../../log/codec/blobs.ts";
import { envelopeBytes } from "../../log/codec/bounds.ts";
import { ConversationErasedError, isErased } from "../../log/codec/erased.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { headOf } from "../../log/codec/idempotent-append.ts";
import type { BlobReference } from "../../log/codec/references.ts";
import { maxAppendBytes } from "../../log/ports/event-bounds.ts";
import { type Envelope, type EventStore, envelopeAt, type Head } from "../../log/ports/event-store.ts";
import { type ExportMade, orderedSince, orderStreams, recordExport } from "../../log/system-streams/exports.ts";
import { blobsOf, type CopySource, eventsUpTo, openStoreSource } from "./copy-source.ts";

export type CopyOptions = {
  /** Stops the copy with the signal's reason. What was copied stays, and the next copy continues from there. */
  readonly signal?: AbortSignal;
  /** How much is done: every event is read, written and read again. */
  readonly onProgress?: (done: number, total: number) => void;
};

export type CopyConversationsOptions = CopyOptions & {
  readonly conversations?: readonly ConversationId[];
  /** Told why a copy could not be recorded in the store that it was made of (`ExportMade`): an erasure there will not name it. */
  readonly onUnrecorded?: (reason: string) => void;
};

export const copyOptions = optionsOf<CopyOptions>({ signal: anything, onProgress: anything });
const conversationsOptions = optionsOf<CopyConversationsOptions>({
  ...{ ...copyOptions.table, conversations: anything, onUnrecorded: anything },
});

export type CopiedStream = {
  readonly stream: string;
  /** Null for a blob's stream. */
  readonly conversation: ConversationId | null;
  /** The newest event of the source. */
  readonly head: Head;
  /** How many of its events the target lacked. */
  readonly copied: number;
};

/** An open store, whose events are copied. */
export type OpenStore = {
  readonly events: EventStore;
  /** Where to record that conversations have left the store. */
  readonly log?: EventLog;
};

/**
 * Copies conversations, or all of them, from one store to another, with their blobs and ancestors: the same streams and events,
 * ids, times and digests. Events that the target already has stay unchanged. Call it again to continue an interrupted copy, or after
 * the source has grown.
 *
 * @throws {TurnlogError} `copy-diverged` if the target has other events in a stream, or another naming key; nothing was written then.
 * @throws {ConversationErasedError} if a conversation was erased in the target; nothing was written then.
 * @throws {StoreCorruptedError} if the source is damaged (nothing was written then), or if the target afterwards does not hold
 *   what was written.
 */
export async function copyConversations(
  from: OpenStore,
  to: OpenStore,
  options: CopyConversationsOptions = {},
): Promise<readonly CopiedStream[]> {
  conversationsOptions.check("copyConversations", options);
  checkOpenStores("copyConversations takes two open stores", "them", [from, to]);
  const { conversations = null, onUnrecorded } = options;
  const ordersBefore = await orderStreams(from.events);
  const source = await openStoreSource(from.events, options.conversations);
  const copied = await copyEvents(source, to.events, options);
  // A copy without new events reveals nothing.
  if (copied.every((stream) => stream.copied === 0)) return copied;
  const made = { kind: "copy", isRedacted: false, sha256: null, storeId: to.events.storeId } as const;
  const about = { ...made, conversations: conversations && carriedIn(source) };
  await recordCarried(from, about, { ordersBefore, onUnrecorded });
  return copied;
}

/** The conversations that leave a store with those that are named: their ancestors leave it as well. */
export const carriedIn = ({ heads }: CopySource): ConversationId[] =>
  heads.flatMap(({ stream }) => conversationOfStream(stream) ?? []);

type Carrying = {
  /** The orders that there were before anything was read. */
  readonly ordersBefore: ReadonlySet<string>;
  readonly onUnrecorded?: ((reason: string) => void) | undefined;
};

/** Records in a store that conversations have left it. */
export async function recordCarried(
  { log, events }: OpenStore,
  made: ExportMade,
  { ordersBefore, onUnrecorded = () => undefined }: Carrying,
): Promise<void> {
  const reason = log === undefined ? "its events alone were given" : await recordExport(log, made);
  if (reason !== null) {
    onUnrecorded(reason);
    return;
  }
  const orderId = await orderedSince(events, ordersBefore, made.conversations);
  if (orderId !== null)
    onUnrecorded(`the erasure ${orderId} was ordered meanwhile, and its receipt does not list this: make it again`);
}

/**
 * Rejects values that are not open stores.
 *
 * @param takes - What the function takes, in words; `word` refers to it.
 */
export function checkOpenStores(takes: string, word: "it" | "them", given: readonly unknown[]): void {
  const other = given.find((store) => !isOpenStore(store));
  if (given.every(isOpenStore)) return;
  throw new TypeError(`${takes}, not ${kindOf(other)}: open ${word} with openStore`);
}

const isOpenStore = (given: unknown): given is OpenStore =>
  typeof given === "object" && given !== null && "events" in given && typeof given.events === "object";

/** The same for events from any source. */
export async function copyEvents(
  source: CopySource,
  to: EventStore,
  { signal, onProgress = () => undefined }: CopyOptions = {},
): Promise<readonly CopiedStream[]> {
  const total = 3 * source.heads.reduce((sum, { head }) => sum + head.revision + 1, 0);
  let done = 0;
  async function* counted(events: AsyncIterable<Envelope>): AsyncIterable<Envelope> {
    for await (const envelope of events) {
      signal?.throwIfAborted();
      yield envelope;
      done += 1;
      onProgress(done, total);
    }
  }
  const survey = await lookAtBoth(counted(source.events()), source, to);
  await write(counted(source.events()), { ...survey, keys: source.keys }, to);
  // Read back what was written, and compare it with the source's heads.
  for await (const _ of counted(eventsUpTo(to, source.heads)));
  for (const { stream, blob } of survey.blobs.values()) await readBlob(to, stream, blob);
  return source.heads.map(({ stream, head }) => ({
    ...{ stream, head, conversation: conversationOfStream(stream) },
    copied: head.revision + 1 - (survey.presentByStream.get(stream) ?? 0),
  }));
}

type Survey = {
  /** How many events of each stream the target already has. */
  readonly presentByStream: ReadonlyMap<string, number>;
  /** Every blob that an event refers to, by the blob's stream. */
  readonly blobs: ReadonlyMap<string, { readonly stream: string; readonly blob: BlobReference }>;
};

/** Reads the source to its end, so that nothing is written if it is damaged or contradicts the target. */
async function lookAtBoth(
  events: AsyncIterable<Envelope>,
  { heads, keys }: CopySource,
  to: EventStore,
): Promise<Survey> {
  const thereByStream = new Map<string, Head>();
  for (const { stream, head } of heads) {
    const there = await lastCommon(to, stream, head);
    if (there === null) continue;
    thereByStream.set(stream, there);
    const [key, known] = [keys.get(stream), (await to.namingKey?.(stream)) ?? null];
    if (key !== undefined && known !== null && key !== known) throw otherKey(stream);
  }
  const blobs = new Map<string, { readonly stream: string; readonly blob: BlobReference }>();
  let takesLines: boolean | null = null;
  for await (const envelope of events) {
    const { stream, revision, digest } = envelope;
    if (envelope.encoding === "lines") {
      takesLines ??= (await to.takesLines?.()) ?? false;
      if (!takesLines) throw noLines(stream);
    }
    const there = thereByStream.get(stream);
    // The chain holds, so the events before two equal events are equal, too.
    if (there?.revision === revision && there.digest !== digest) throw diverged(stream, revision);
    for (const blob of blobsOf(envelope)) blobs.set(blobStream(stream, blob), { stream, blob });
  }
  const present = Array.from(thereByStream, ([stream, { revision }]) => [stream, revision + 1] as const);
  return { presentByStream: new Map(present), blobs };
}

/** The target's newest event of a stream that the source can also have: the target may be ahead. */
async function lastCommon(to: EventStore, stream: string, head: Head): Promise<Head | null> {
  const there = await to.head(stream);
  const newest = there === null ? null : await envelopeAt(to, stream, there.revision);
  // A copy would restore what was erased.
  if (newest !== null && isErased(newest)) throw new ConversationErasedError(newest);
  if (there === null || there.revision <= head.revision) return there;
  const same = await envelopeAt(to, stream, head.revision);
  return same && headOf([same]);
}

async function write(
  events: AsyncIterable<Envelope>,
  { presentByStream, keys }: Pick<Survey, "presentByStream"> & Pick<CopySource, "keys">,
  to: EventStore,
): Promise<void> {
  let batch = emptyBatch(null);
  const flush = async (): Promise<void> => {
    const [first] = batch.envelopes;
    if (first === undefined) return;
    const { stream } = first;
    const key = batch.expected === null ? keys.get(stream) : undefined;
    const withKey = key === undefined ? {} : { namingKey: key };
    const result = await to.append({ stream, expectedHead: batch.expected, envelopes: batch.envelopes, ...withKey });
    if (result.status === "conflict")
      throw new TurnlogError(
        "copy-diverged",
        `somebody else writes to ${stream} at the target: copy again when they have ended`,
      );
    batch = emptyBatch(headOf(batch.envelopes));
  };
  for await (const envelope of events) {
    const bytes = envelopeBytes(envelope);
    const isNext = batch.stream === envelope.stream;
    if (!isNext || batch.bytes + bytes > maxAppendBytes || batch.envelopes.length === maxBatchEvents) await flush();
    if (!isNext) batch = emptyBatch(null);
    batch.stream = envelope.stream;
    if (envelope.revision < (presentByStream.get(envelope.stream) ?? 0)) {
      batch.expected = { revision: envelope.revision, digest: envelope.digest };
      continue;
    }
    batch.envelopes.push(envelope);
    batch.bytes += bytes;
  }
  await flush();
}

/** Many enough that waiting for the disk matters little, and few enough to stop a copy soon. */
const maxBatchEvents = 500;

type Batch = { stream: string | null; expected: Head | null; envelopes: Envelope[]; bytes: number };

const emptyBatch = (expected: Head | null): Batch => ({ stream: null, expected, envelopes: [], bytes: 0 });

const noLines = (stream: string): TurnlogError =>
  new TurnlogError(
    "store-takes-no-lines",
    `${stream} is written as lines, and the target does not take them: copy to a new sqlite store, or begin conversations with openStore(…, { encoding: "json" })`,
  );

const otherKey = (stream: string): TurnlogError =>
  new TurnlogError(
    "copy-diverged",
    `${stream} has another naming key at the target (an erasure replaces it), so its blocks would have other names: nothing was written; copy to another store`,
  );

const diverged = (stream: string, revision: number): TurnlogError =>
  new TurnlogError(
    "copy-diverged",
    `${stream} has other events at the target, from revision ${revision} on at the latest: nothing of it was overwritten; copy to another store`,
  );
