import { isActor } from "../../domain/actor.ts";
import type { EventHole, ReadEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { EventReader } from "../codec/event-log.ts";
import { placeOf } from "../codec/place.ts";
import { limitOf, type ReadEventsOptions, rawEvent, rawEventAt } from "../codec/raw-reader.ts";
import { asReading, followEnvelopes } from "../codec/recorded.ts";
import type { StoredEnvelope } from "../ports/event-store.ts";
import { damageAt } from "./damage.ts";
import { type RecordedSkip, type SkippedEvents, skipAt } from "./skipped-events.ts";

type ReadOptions = ReadEventsOptions & {
  /** The events that folds leave out, as far as they know. */
  readonly skipped: SkippedEvents;
};

/**
 * The only reader of a conversation's own events: each as recorded, with a hole in place of each event that an operator skipped, whose
 * data is not read. To fold a conversation, read its lineage with `readHistory`, which leaves out the same events.
 *
 * @throws {ConversationDamagedError} at an event that cannot be read and was not skipped.
 */
export async function* readEvents(
  reader: EventReader,
  stream: string,
  { skipped, ...options }: ReadOptions,
): AsyncGenerator<ReadEvent> {
  const { to, blobs, ...range } = options;
  for await (const envelope of reader.store.readStream(stream, { ...range, ...limitOf(options) })) {
    const { revision } = envelope;
    if (to !== undefined && (range.direction === "backwards" ? revision < to : revision > to)) return;
    reader.look?.(envelope);
    yield await readAs(reader, envelope, { skipped, blobs });
  }
}

/** The same from a revision on, then every new event from any writer, once it is durable, until the signal aborts. */
export async function* followEvents(
  reader: EventReader,
  stream: string,
  { skipped, ...options }: Pick<ReadOptions, "skipped"> & { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<ReadEvent> {
  for await (const envelope of followEnvelopes(reader.store, stream, options))
    yield await readAs(reader, envelope, { skipped });
}

/** Reads again an event that a fold has applied; null if it is gone. */
export async function recordedAt(reader: EventReader, stream: string, revision: number): Promise<RecordedEvent | null> {
  try {
    return await rawEventAt(reader, stream, revision);
  } catch (error) {
    throw damageAt(stream, revision, error) ?? error;
  }
}

/**
 * An event for views that show a bad one and continue (rule: Nothing is lost): the event, or the error that prevents reading it. Returns a
 * promise only if it has to read blobs or names from the store.
 *
 * @throws {StoreUnavailableError} if the store is unavailable.
 */
export function lookAt(
  { store }: EventReader,
  envelope: StoredEnvelope,
): RecordedEvent | Error | Promise<RecordedEvent | Error> {
  try {
    const recorded = rawEvent(store, envelope);
    return recorded instanceof Promise ? recorded.catch(asReading) : recorded;
  } catch (error) {
    return asReading(error);
  }
}

/** Who skipped an event, and why; null if folds apply it. */
export async function skipOf(
  reader: EventReader,
  { stream, revision }: StoredEnvelope,
  skipped: SkippedEvents,
): Promise<RecordedSkip | null> {
  const skippedAt = skipped.skippedAt(stream, revision);
  return skippedAt === undefined ? null : skipAt(reader, stream, skippedAt);
}

function holeOf(envelope: StoredEnvelope, { by, reason, skippedAt }: RecordedSkip): EventHole {
  const { actor, ...place } = placeOf(envelope);
  return { ...place, actor: isActor(actor) ? actor : null, event: { type: "skipped", by, reason, skippedAt } };
}

async function readAs(
  reader: EventReader,
  envelope: StoredEnvelope,
  { skipped, blobs }: Pick<ReadOptions, "skipped" | "blobs">,
): Promise<ReadEvent> {
  const { stream, revision } = envelope;
  const skip = await skipOf(reader, envelope, skipped);
  if (skip !== null) return holeOf(envelope, skip);
  try {
    return await rawEvent(reader.store, envelope, { blobs });
  } catch (error) {
    throw damageAt(stream, revision, error) ?? error;
  }
}
