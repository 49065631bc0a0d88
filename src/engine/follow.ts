import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { EventLog } from "./codec/event-log.ts";
import type { ConversationStream } from "./conversation-stream.ts";
import { readRecorded } from "./recorded.ts";

/**
 * The events of a conversation from a revision on, whoever writes them, each once it is durable, until the signal aborts. By
 * default those that come after what its writer knows now.
 */
export async function* followStream(
  log: EventLog,
  stream: ConversationStream,
  { from, signal }: { readonly from?: number | undefined; readonly signal: AbortSignal },
): AsyncIterable<RecordedEvent> {
  const { store } = log;
  // Taken before the first wait: what is appended after this line is given.
  const known = from === undefined ? (stream.head ?? (await store.head(stream.name)))?.revision : from - 1;
  let after: string | undefined;
  if (known !== undefined && known >= 0) {
    for await (const { position } of store.readStream(stream.name, { from: known, limit: 1 })) after = position;
  }
  const options = { streamPrefix: stream.name, signal, ...(after === undefined ? {} : { after }) };
  for await (const { revision, stream: name } of store.subscribe(options)) {
    if (name !== stream.name || (from !== undefined && revision < from)) continue;
    const range = { from: revision, to: revision, blobs: "resolve" } as const;
    for await (const stored of log.read(name, range)) yield readRecorded(stored);
  }
}
