import { isActor } from "../../domain/actor.ts";
import { parseConversationEvent, UnreadableEventError } from "../../domain/events/event.ts";
import type { EventPlace, RecordedEvent } from "../../domain/events/recorded.ts";
import { type Envelope, type EventStore, envelopeAt, type StoredEnvelope } from "../ports/event-store.ts";
import { readBlob } from "./blobs.ts";
import { decodeData, fillBlobs } from "./data.ts";

/** `resolve` puts the texts of blobs back into the data (the default); `keep` leaves `BlobReference`s in it. */
export type BlobReading = "resolve" | "keep";

/**
 * A stored event as projections see it: validated, in its current version.
 *
 * @throws {StoreCorruptedError} when it is no JSON, or a blob is not there as it was written.
 * @throws {UnreadableEventError} for an unknown type or version, data that is not of its schema, or an actor that is none.
 */
export async function readEvent(
  store: EventStore,
  envelope: Envelope,
  blobs: BlobReading = "resolve",
): Promise<RecordedEvent> {
  const decoded = decodeData(envelope.data);
  if (blobs === "keep" || decoded.blobs.length === 0) return parse(envelope, decoded);
  const textBySha256 = new Map<string, string>();
  for (const blob of decoded.blobs) {
    const { sha256 } = blob.$blob;
    if (!textBySha256.has(sha256)) textBySha256.set(sha256, await readBlob(store, envelope.stream, blob));
  }
  return parse(envelope, { data: fillBlobs(decoded.data, textBySha256) });
}

/** The same without asking the store; null where the event names blobs. */
export function readAtOnce(envelope: Envelope): RecordedEvent | null {
  const decoded = decodeData(envelope.data);
  return decoded.blobs.length > 0 ? null : parse(envelope, decoded);
}

function parse(envelope: Envelope, { data }: Pick<ReturnType<typeof decodeData>, "data">): RecordedEvent {
  if (!isActor(envelope.actor)) throw new UnreadableEventError("its actor is damaged");
  return recordedAs(envelope, parseConversationEvent(envelope.type, envelope.version, data));
}

/** An event whose content is at hand, at its place. */
export const recordedAs = <Event>(envelope: Envelope, event: Event): EventPlace & { readonly event: Event } => ({
  ...placeOf(envelope),
  event,
});

/** The place of an event, which no damage to its content hides. */
export const placeOf = (envelope: Envelope): EventPlace => ({
  stream: envelope.stream,
  revision: envelope.revision,
  id: envelope.id,
  at: envelope.at,
  actor: envelope.actor,
  runId: envelope.runId ?? null,
  frame: envelope.frame ?? null,
  digest: envelope.digest,
});

/** An event that could be read, or the envelope of one that could not, and why. */
export type EventReading =
  | { readonly isRead: true; readonly recorded: RecordedEvent }
  | { readonly isRead: false; readonly envelope: StoredEnvelope; readonly error: Error };

/** The events of a conversation for views, which show a bad event and go on (law 5). */
export async function* readEach(
  store: EventStore,
  envelopes: AsyncIterable<StoredEnvelope>,
): AsyncIterable<EventReading> {
  for await (const envelope of envelopes) yield await tryToRead(store, envelope);
}

async function tryToRead(store: EventStore, envelope: StoredEnvelope): Promise<EventReading> {
  try {
    return { isRead: true, recorded: await readEvent(store, envelope) };
  } catch (error) {
    if (!(error instanceof Error) || isOfTheStore(error)) throw error;
    return { isRead: false, envelope, error };
  }
}

/** Whether an error says that the store cannot be read now, and nothing about what it holds. */
export const isOfTheStore = (error: Error): boolean =>
  "code" in error && (error.code === "store-unavailable" || error.code === "store-closed");

/**
 * The events of a stream from a revision on, then every one as it comes, whoever writes it and once it is durable, until the
 * signal aborts.
 */
export async function* followEnvelopes(
  store: EventStore,
  stream: string,
  { from = 0, signal }: { readonly from?: number; readonly signal: AbortSignal },
): AsyncIterable<StoredEnvelope> {
  // Where the stream has none yet, those after what the log held before it was read are given.
  const end = from === 0 ? await store.end?.() : undefined;
  let last = from === 0 ? null : await envelopeAt(store, stream, from - 1);
  for await (const envelope of store.readStream(stream, { from })) {
    yield envelope;
    if (signal.aborted) return;
    last = envelope;
  }
  const after = last?.position ?? end ?? null;
  for await (const envelope of store.subscribe({
    streamPrefix: stream,
    signal,
    ...(after === null ? {} : { after }),
  })) {
    // Another stream's name may begin with this one's.
    if (envelope.stream === stream && envelope.revision >= from) yield envelope;
  }
}
