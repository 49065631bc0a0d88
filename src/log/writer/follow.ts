import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { EventLog } from "../codec/event-log.ts";
import { readEvent } from "../codec/recorded.ts";
import { type EventStore, envelopeAt } from "../ports/event-store.ts";
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
  for await (const envelope of store.subscribe(options)) {
    if (envelope.stream === stream.name && envelope.revision >= (from ?? 0)) yield await readEvent(store, envelope);
  }
}

/** The position of the event before a revision, by default of the newest event; null where there is none. */
async function placeBefore(
  store: EventStore,
  { name, head }: ConversationWriter,
  from?: number,
): Promise<string | null> {
  const known = from === undefined ? (head ?? (await store.head(name)))?.revision : from - 1;
  return known === undefined || known < 0 ? null : ((await envelopeAt(store, name, known))?.position ?? null);
}
