import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { EventStore, ReadStreamOptions, StoredEnvelope } from "../ports/event-store.ts";
import { StoreCorruptedError } from "../ports/store-errors.ts";
import type { EventReader } from "./event-log.ts";
import { type BlobReading, readEvent } from "./recorded.ts";
import { confirmNames, noteFirst } from "./stream-names.ts";

export type ReadEventsOptions = ReadStreamOptions & {
  /** The last revision to read, in the direction of reading. */
  readonly to?: number | undefined;
  readonly blobs?: BlobReading | undefined;
};

/**
 * All events of a stream. This does not know about skips and ancestors: to read a conversation, use `log/history`.
 *
 * @throws {StoreCorruptedError} at an event that is not JSON, or whose blob is missing or changed.
 * @throws {UnreadableEventError} at an event that this turnlog does not know.
 */
export async function* rawEvents(
  reader: EventReader,
  stream: string,
  options: ReadEventsOptions = {},
): AsyncGenerator<RecordedEvent> {
  const { store, look } = reader;
  const { to, blobs, ...range } = options;
  let first: StoredEnvelope | null = null;
  const isBackwards = range.direction === "backwards";
  for await (const envelope of store.readStream(stream, { ...range, ...limitOf(options) })) {
    const { revision } = envelope;
    if (to !== undefined && (isBackwards ? revision < to : revision > to)) return;
    look?.(envelope);
    // Most events name no blob: await only promises, because each wait costs time.
    if (revision === 0) {
      first = envelope;
      noteFirst(store, envelope);
      if (envelope.encoding === "lines" && envelope.stream.startsWith("conversation-"))
        await confirmNames(store, stream);
    }
    const recorded = rawEvent(store, envelope, { blobs, first });
    yield recorded instanceof Promise ? await recorded : recorded;
    if (revision === to) return;
  }
}

/** The event of a stream at a revision; null if there is none. */
export async function rawEventAt(reader: EventReader, stream: string, revision: number): Promise<RecordedEvent | null> {
  for await (const recorded of rawEvents(reader, stream, { from: revision, to: revision })) return recorded;
  return null;
}

/** Reads the event in an envelope. An error names the event's place. */
export function rawEvent(
  store: EventStore,
  envelope: StoredEnvelope,
  reading: { readonly blobs?: BlobReading | undefined; readonly first?: StoredEnvelope | null } = {},
): RecordedEvent | Promise<RecordedEvent> {
  try {
    const recorded = readEvent(store, envelope, reading);
    return recorded instanceof Promise ? recorded.catch((error: unknown) => throwNamed(envelope, error)) : recorded;
  } catch (error) {
    return throwNamed(envelope, error);
  }
}

function throwNamed({ revision, stream }: StoredEnvelope, cause: unknown): never {
  if (!(cause instanceof StoreCorruptedError)) throw cause;
  throw new StoreCorruptedError(`event ${revision} of ${stream} cannot be read: ${cause.message}`, { cause });
}

/** The maximum number of events in a range, so that a remote store sends no more. */
export function limitOf({ from, to, limit = Number.POSITIVE_INFINITY }: ReadEventsOptions): {
  readonly limit?: number;
} {
  return from === undefined || to === undefined ? {} : { limit: Math.min(limit, Math.abs(to - from) + 1) };
}
