import { isJsonObject } from "../../base/json.ts";
import { type ConversationId, conversationIdSchema, conversationStream } from "../../domain/ids.ts";
import { decodeData } from "../codec/data.ts";
import { type EventStore, envelopeAt } from "../ports/event-store.ts";

/** The parent of a fork or a child conversation, from its first event, which is the same in every version. */
export async function parentOf(store: EventStore, stream: string): Promise<ConversationId | null> {
  const first = await envelopeAt(store, stream, 0);
  const origin = first === null ? null : decodeData(first).data["origin"];
  const id = isJsonObject(origin) ? conversationIdSchema.safeParse(origin["conversationId"]) : null;
  return id?.success === true ? id.data : null;
}

/** The time of a conversation's newest event; null if it has none. */
export async function lastAtOf(store: EventStore, id: ConversationId): Promise<string | null> {
  const newest = store.readStream(conversationStream(id), { direction: "backwards", limit: 1 });
  for await (const { at } of newest) return at;
  return null;
}
