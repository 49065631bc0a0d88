import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { EventLog } from "../codec/event-log.ts";
import type { EventStore } from "../ports/event-store.ts";
import { readRecorded } from "../recorded.ts";
import type { ConversationWriter } from "./conversation-writer.ts";

/**
 * The events of a conversation from a revision on, whoever writes them, each once it is durable, until the signal aborts. By
 * default those that come after what its writer knows now.
 */
export async function* followStream(
  log: EventLog,
  stream: ConversationWriter,
  { from, signal }: { readonly from?: number | undefined; readonly signal: AbortSignal },
): AsyncIterable<RecordedEvent> {
  const { store } = log;
  // Taken before the first wait: what is appended after this line is given.
  const isNew = from === undefined && stream.head === null;
  const after = isNew && store.end !== undefined ? await store.end() : await placeBefore(store, stream, from);
  const options = { streamPrefix: stream.name, signal, ...(after === null ? {} : { after }) };
  for await (const { revision, stream: name } of store.subscribe(options)) {
    if (name !== stream.name || (from !== undefined && revision < from)) continue;
    const range = { from: revision, to: revision, blobs: "resolve" } as const;
    for await (const stored of log.read(name, range)) yield readRecorded(stored);
  }
}

/** The position of the event before a revision, by default of the newest event; null where there is none. */
async function placeBefore(
  store: EventStore,
  { name, head }: ConversationWriter,
  from?: number,
): Promise<string | null> {
  const known = from === undefined ? (head ?? (await store.head(name)))?.revision : from - 1;
  if (known === undefined || known < 0) return null;
  for await (const { position } of store.readStream(name, { from: known, limit: 1 })) return position;
  return null;
}
