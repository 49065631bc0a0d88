import type { RecordedEvent } from "../../domain/events/recorded.ts";
import {
  type EventStore,
  type ReadStreamOptions,
  StoreCorruptedError,
  type StoredEnvelope,
} from "../ports/event-store.ts";
import type { EventReader } from "./event-log.ts";
import { type BlobReading, readEvent } from "./recorded.ts";

export type ReadEventsOptions = ReadStreamOptions & {
  /** The last revision to give, in the direction of reading. */
  readonly to?: number | undefined;
  readonly blobs?: BlobReading | undefined;
};

/**
 * The events of a stream, all of them. It knows nothing of skips and of ancestors: who reads a conversation reads it by `log/history`.
 *
 * @throws {StoreCorruptedError} at one that is no JSON, or whose blob is not there as it was written.
 * @throws {UnreadableEventError} at one that this turnlog does not know.
 */
export async function* rawEvents(
  reader: EventReader,
  stream: string,
  options: ReadEventsOptions = {},
): AsyncGenerator<RecordedEvent> {
  const { store, look } = reader;
  const { to, blobs, ...range } = options;
  const isBackwards = range.direction === "backwards";
  for await (const envelope of store.readStream(stream, { ...range, ...limitOf(options) })) {
    const { revision } = envelope;
    if (to !== undefined && (isBackwards ? revision < to : revision > to)) return;
    look?.(envelope);
    // Most events name no blob: what is at hand is not waited for.
    const recorded = rawEvent(store, envelope, blobs);
    yield recorded instanceof Promise ? await recorded : recorded;
    if (revision === to) return;
  }
}

/** The event of a stream at a revision; null when it is not there. */
export async function rawEventAt(reader: EventReader, stream: string, revision: number): Promise<RecordedEvent | null> {
  for await (const recorded of rawEvents(reader, stream, { from: revision, to: revision })) return recorded;
  return null;
}

/** What an envelope says; what cannot be read is named by its place. */
export function rawEvent(
  store: EventStore,
  envelope: StoredEnvelope,
  blobs?: BlobReading,
): RecordedEvent | Promise<RecordedEvent> {
  try {
    const recorded = readEvent(store, envelope, blobs);
    return recorded instanceof Promise ? recorded.catch((error: unknown) => throwNamed(envelope, error)) : recorded;
  } catch (error) {
    return throwNamed(envelope, error);
  }
}

function throwNamed({ revision, stream }: StoredEnvelope, cause: unknown): never {
  if (!(cause instanceof StoreCorruptedError)) throw cause;
  throw new StoreCorruptedError(`event ${revision} of ${stream} cannot be read: ${cause.message}`, { cause });
}

/** How many events a range has at most, so that a store at the end of a wire sends no more. */
export function limitOf({ from, to, limit = Number.POSITIVE_INFINITY }: ReadEventsOptions): {
  readonly limit?: number;
} {
  return from === undefined || to === undefined ? {} : { limit: Math.min(limit, Math.abs(to - from) + 1) };
}
