import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { EventLog } from "./codec/event-log.ts";
import type { ConversationStream } from "./conversation-stream.ts";
import { readRecorded } from "./recorded.ts";

/** The events of a conversation that come after those which its writer knows now, until the signal aborts. */
export async function* followStream(
  log: EventLog,
  stream: ConversationStream,
  signal: AbortSignal,
): AsyncIterable<RecordedEvent> {
  const { store } = log;
  // Taken before the first wait: what is appended after this line is given.
  const known = stream.head ?? (await store.head(stream.name));
  let after: string | undefined;
  if (known !== null) {
    for await (const { position } of store.readStream(stream.name, { from: known.revision, limit: 1 }))
      after = position;
  }
  const options = { streamPrefix: stream.name, signal, ...(after === undefined ? {} : { after }) };
  for await (const { revision, stream: name } of store.subscribe(options)) {
    if (name !== stream.name) continue;
    const range = { from: revision, to: revision, blobs: "resolve" } as const;
    for await (const stored of log.read(name, range)) yield readRecorded(stored);
  }
}
