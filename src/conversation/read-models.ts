import { cacheProjector } from "../analysis/costs/rows/looked-at.ts";
import { billing, caching } from "../analysis/costs/rows/rows.ts";
import type { AnyProjector } from "../analysis/lists/any-projector.ts";
import { type ConversationId, conversationStream } from "../domain/ids.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { createRowProjector } from "../log/read-models/row-projector.ts";
import { usage } from "../projections/usage.ts";
import { conversationList } from "../projections/views/conversation-list.ts";
import { rowsOfStream, searchTexts } from "../projections/views/search-texts.ts";

/** The projections over the whole log: four with one row a conversation, and the search index, which has many. */
export const readModels = (events: EventStore): readonly AnyProjector[] => [
  createRowProjector(events, conversationList),
  createRowProjector(events, usage),
  createRowProjector(events, billing),
  cacheProjector(events, caching),
  createRowProjector(events, searchTexts),
];

/** The keys of the rows of a conversation with this many events. */
export const rowsOfConversation = (id: ConversationId, events: number): readonly string[] => {
  const stream = conversationStream(id);
  return [stream, ...rowsOfStream(stream, events)];
};

/** The projections whose rows of a conversation have those keys. */
export const rowsKept: ReadonlySet<string> = new Set([
  ...[conversationList.name, usage.name, billing.name, caching.name, searchTexts.name],
]);
