import type { EventStore, StoredEnvelope } from "../log/ports/event-store.ts";
import type { Checkpoint } from "../log/ports/view-store.ts";

/** The events that a projector follows: those of all conversations, or of one stream. */
export type EventSource = {
  /** What comes after a checkpoint, to the end as it is when the reading gets there. */
  readonly read: (after: Checkpoint | null, signal?: AbortSignal) => AsyncIterable<StoredEnvelope>;
  /** The same, then every event as it comes, until the signal aborts. */
  readonly follow: (after: Checkpoint | null, signal: AbortSignal) => AsyncIterable<StoredEnvelope>;
};

const conversations = "conversation-";

export function createSource(store: EventStore, stream: string | null): EventSource {
  const place = (after: Checkpoint | null) => ({
    streamPrefix: stream ?? conversations,
    ...(after === null ? {} : { after: after.position }),
  });
  return {
    read: (after, signal) => {
      const options = signal === undefined ? {} : { signal };
      return stream === null
        ? store.readLog({ ...place(after), ...options })
        : store.readStream(stream, { from: (after?.revision ?? -1) + 1, ...options });
    },
    follow: (after, signal) => {
      const events = store.subscribe({ ...place(after), signal });
      return stream === null ? events : ofStream(events, stream);
    },
  };
}

/** A prefix is the beginning of other names, too. */
async function* ofStream(events: AsyncIterable<StoredEnvelope>, stream: string): AsyncIterable<StoredEnvelope> {
  for await (const event of events) if (event.stream === stream) yield event;
}
