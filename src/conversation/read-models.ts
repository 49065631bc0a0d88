import { type ConversationId, conversationStream } from "../domain/ids.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { billOf } from "../projections/bill.ts";
import { conversationList } from "../projections/conversation-list.ts";
import { rowsOfStream, searchTexts } from "../projections/search-texts.ts";
import { usage } from "../projections/usage.ts";
import { answerCounts } from "../providers/answer-counts.ts";
import { createRowProjector, type RowProjector } from "../read-models/row-projector.ts";

/** The operations of a projector for any type of view. */
export type AnyProjector = Pick<
  RowProjector<unknown>,
  "name" | "status" | "catchUp" | "rebuild" | "retry" | "read" | "degraded" | "mismatchedRow" | "orphanRows"
>;

/** Requests, tokens and told money, a row for each conversation. */
export const billing = billOf(answerCounts);

/** The projections over the whole log: three with one row a conversation, and the search index, which has many. */
export const readModels = (events: EventStore): readonly AnyProjector[] => [
  createRowProjector(events, conversationList),
  createRowProjector(events, usage),
  createRowProjector(events, billing),
  createRowProjector(events, searchTexts),
];

/** The keys of the rows of a conversation with this many events. */
export const rowsOfConversation = (id: ConversationId, events: number): readonly string[] => {
  const stream = conversationStream(id);
  return [stream, ...rowsOfStream(stream, events)];
};

/** The projections whose rows of a conversation have those keys. */
export const rowsKept: ReadonlySet<string> = new Set([
  ...[conversationList.name, usage.name, billing.name, searchTexts.name],
]);
