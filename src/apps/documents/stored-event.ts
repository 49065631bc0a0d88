import type * as z from "zod";
import { type JsonValue, parseJson } from "../../base/json.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { joinLines } from "../../log/codec/lines.ts";
import { asReading, readEvent } from "../../log/codec/recorded.ts";
import { type EventStore, envelopeAt, type StoredEnvelope } from "../../log/ports/event-store.ts";
import type { catDocument } from "./conversations.ts";

type Place = { readonly id: ConversationId; readonly stream: string; readonly revision: number };

/** One event as it is stored, as `turnlog cat` prints it; null if the store no longer holds it. */
export async function storedEventDocument(
  events: EventStore,
  { id, stream, revision }: Place,
  { full }: { readonly full: boolean },
): Promise<z.infer<typeof catDocument> | null> {
  const envelope = await envelopeAt(events, stream, revision);
  if (envelope === null) return null;
  const previous = revision === 0 ? null : await envelopeAt(events, stream, revision - 1);
  const { data: _, ...rest } = envelope;
  const { problem: unread, event } = await reading(events, envelope);
  const checked = checkEnvelope(previous, envelope);
  const problem = unread ?? (checked.ok ? null : checked.error.reason);
  const told = full && event !== null ? event : stored(envelope);
  return { conversation: id, ...rest, previousDigest: previous?.digest ?? null, problem, data: told };
}

/** The data as the store holds it, with externally stored texts by reference, its lines put together; a text if it cannot be read. */
function stored({ encoding, data }: StoredEnvelope): JsonValue {
  try {
    return encoding === "lines" ? joinLines(data) : parseJson(data);
  } catch {
    return data;
  }
}

/** The event with everything stored beside it, or why it cannot be read. */
async function reading(store: EventStore, envelope: StoredEnvelope) {
  try {
    const { event } = await readEvent(store, envelope);
    const whole: JsonValue = parseJson(JSON.stringify(event.data));
    return { problem: null, event: whole };
  } catch (error) {
    return { problem: asReading(error).message, event: null };
  }
}
