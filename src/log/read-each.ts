import type { RecordedEvent } from "../domain/events/recorded.ts";
import { decodeData } from "./codec/data.ts";
import { withTexts } from "./codec/event-log.ts";
import type { EventStore, StoredEnvelope } from "./ports/event-store.ts";
import { readRecorded } from "./recorded.ts";

/** An event that could be read, or the envelope of one that could not, and why. */
export type EventReading =
  | { readonly isRead: true; readonly recorded: RecordedEvent }
  | { readonly isRead: false; readonly envelope: StoredEnvelope; readonly error: Error };

/** The events of a conversation for views, which show a bad event and go on (law 5). */
export async function* readEach(store: EventStore, stream: string): AsyncIterable<EventReading> {
  for await (const envelope of store.readStream(stream)) yield await readOne(store, envelope);
}

/** The same, and then every event as it comes, whoever writes it, until the signal aborts. */
export async function* followEach(store: EventStore, stream: string, signal: AbortSignal): AsyncIterable<EventReading> {
  let last: string | null = null;
  for await (const envelope of store.readStream(stream)) {
    yield await readOne(store, envelope);
    if (signal.aborted) return;
    last = envelope.position;
  }
  const range = { streamPrefix: stream, signal, ...(last === null ? {} : { after: last }) };
  for await (const envelope of store.subscribe(range)) {
    // Another stream's name may begin with this one's.
    if (envelope.stream === stream) yield await readOne(store, envelope);
  }
}

async function readOne(store: EventStore, envelope: StoredEnvelope): Promise<EventReading> {
  try {
    return { isRead: true, recorded: await readEnvelope(store, envelope) };
  } catch (error) {
    if (!(error instanceof Error) || isOfTheStore(error)) throw error;
    return { isRead: false, envelope, error };
  }
}

/**
 * An envelope of a conversation as projections see it, the texts of its blobs put back.
 *
 * @throws {StoreCorruptedError} when it is no JSON, or a blob is not there as it was written.
 * @throws {UnreadableEventError} when it is no event that this turnlog knows.
 */
export async function readEnvelope(store: EventStore, envelope: StoredEnvelope): Promise<RecordedEvent> {
  const decoded = decodeData(envelope.data);
  const isWhole = decoded.blobs.length === 0;
  return readRecorded({ ...envelope, data: isWhole ? decoded.data : await withTexts(store, envelope.stream, decoded) });
}

/** Whether an error says that the store cannot be read now, and nothing about what it holds. */
export const isOfTheStore = (error: Error): boolean =>
  "code" in error && (error.code === "store-unavailable" || error.code === "store-closed");
