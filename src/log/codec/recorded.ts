import { isActor } from "../../domain/actor.ts";
import { readBlock } from "../../domain/block-json.ts";
import { type BlockNames, plainNames } from "../../domain/block-names.ts";
import { blocksIn, declaredIn } from "../../domain/events/blocks-in.ts";
import { parseConversationEvent, UnreadableEventError } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import {
  comparePositions,
  type Envelope,
  type EventStore,
  envelopeAt,
  ofStream,
  type StoredEnvelope,
} from "../ports/event-store.ts";
import { readBlob } from "./blobs.ts";
import { decodeData, fillBlobs } from "./data.ts";
import { ConversationErasedError, isErased, linesErased } from "./erased.ts";
import { recordedAs } from "./place.ts";
import { forgetErased, namesOf } from "./stream-names.ts";

/** `resolve` (the default) puts the texts of blobs back into the data; `keep` leaves `BlobReference`s in it. */
export type BlobReading = "resolve" | "keep";

/**
 * A stored event as folds see it: validated, in its current version, its blocks with the names of the conversation. Returns a promise only
 * if it has to read blobs or names from the store, so that a fold of many events need not wait for the others.
 *
 * @throws {StoreCorruptedError} if it is not JSON, or a blob is missing or changed.
 * @throws {UnreadableEventError} for an unknown type or version, or if the data or the actor does not match its schema.
 * @throws {ConversationErasedError} if its conversation was erased.
 */
export function readEvent(
  store: EventStore,
  envelope: Envelope,
  { blobs, first }: { readonly blobs?: BlobReading | undefined; readonly first?: Envelope | null } = {},
): RecordedEvent | Promise<RecordedEvent> {
  const read = readUnnamed(store, envelope, blobs);
  // The erasure renewed the key, so names that were read before it are the old ones.
  if (envelope.type === linesErased) forgetErased(store, envelope);
  if (envelope.encoding !== "lines") return read;
  return read instanceof Promise ? read.then((recorded) => named(store, recorded, first)) : named(store, read, first);
}

function named(
  store: EventStore,
  recorded: RecordedEvent,
  first: Envelope | null = null,
): RecordedEvent | Promise<RecordedEvent> {
  const blocks = blocksIn(recorded.event);
  const declared = declaredIn(recorded.event);
  if (blocks.length === 0 && declared === null) return recorded;
  const withNames = (names: BlockNames): RecordedEvent => {
    // Settings without what was erased are not those of that name.
    if (declared !== null && recorded.hasErased !== true) names.noteSettings?.(declared);
    if (names !== plainNames) for (const json of blocks) readBlock(json, names);
    return recorded;
  };
  const names = namesOf(store, recorded.stream, first);
  return names instanceof Promise ? names.then(withNames) : withNames(names);
}

/** The same for readers that compare no blocks. */
function readUnnamed(
  store: EventStore,
  envelope: Envelope,
  blobs: BlobReading = "resolve",
): RecordedEvent | Promise<RecordedEvent> {
  if (isErased(envelope)) throw new ConversationErasedError(envelope);
  const decoded = decodeData(envelope);
  const isWhole = blobs === "keep" || decoded.blobs.length === 0;
  return isWhole ? parse(envelope, decoded) : readWithBlobs(store, envelope, decoded);
}

async function readWithBlobs(store: EventStore, envelope: Envelope, decoded: Decoded): Promise<RecordedEvent> {
  const textBySha256 = new Map<string, string>();
  for (const blob of decoded.blobs) {
    const { sha256 } = blob.$blob;
    if (!textBySha256.has(sha256)) textBySha256.set(sha256, await readBlob(store, envelope.stream, blob));
  }
  return parse(envelope, { ...decoded, data: fillBlobs(decoded.data, textBySha256) });
}

type Decoded = ReturnType<typeof decodeData>;

function parse(envelope: Envelope, { data, hasErased }: Omit<Decoded, "blobs">): RecordedEvent {
  if (!isActor(envelope.actor)) throw new UnreadableEventError("its actor is damaged");
  const recorded = recordedAs(envelope, parseConversationEvent(envelope.type, envelope.version, data));
  return hasErased ? { ...recorded, hasErased } : recorded;
}

/** An event for a view, or the error that prevents reading it. */
export type Reading = RecordedEvent | Error;

/**
 * Reads an event for views, which show a bad event and continue (rule: Nothing is lost).
 *
 * @throws {StoreUnavailableError} if the store is unavailable.
 */
export function tryToRead(store: EventStore, envelope: Envelope): Reading | Promise<Reading> {
  try {
    const recorded = readUnnamed(store, envelope);
    return recorded instanceof Promise ? recorded.catch(asReading) : recorded;
  } catch (error) {
    return asReading(error);
  }
}

/** Returns the error if the event is at fault, and throws it if the store is unavailable. */
export function asReading(error: unknown): Error {
  if (!(error instanceof Error) || isOfTheStore(error)) throw error;
  return error;
}

/** Whether an error means that the store cannot be read now, which says nothing about its content. */
export const isOfTheStore = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "store-unavailable" || error.code === "store-closed");

/**
 * The events of a stream from a revision on, then every new one from any writer, once it is durable, until the
 * signal aborts.
 */
export async function* followEnvelopes(
  store: EventStore,
  stream: string,
  { from = 0, signal }: { readonly from?: number; readonly signal: AbortSignal },
): AsyncIterable<StoredEnvelope> {
  // Ask for the log's end before reading the stream: then the subscription need not search anything before that end.
  const end = (await store.end?.()) ?? null;
  let last = from === 0 ? null : await envelopeAt(store, stream, from - 1);
  for await (const envelope of store.readStream(stream, { from })) {
    yield envelope;
    if (signal.aborted) return;
    last = envelope;
  }
  const after = later(last?.position ?? null, end);
  const place = { stream, streamPrefix: stream, ...(after === null ? {} : { after }) };
  for await (const envelope of ofStream(store.subscribe({ ...place, signal }), stream))
    if (envelope.revision >= from) yield envelope;
}

/** The later of two positions; null if there is none. */
function later(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return comparePositions(one, other) < 0 ? other : one;
}
