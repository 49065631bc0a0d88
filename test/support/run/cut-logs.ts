import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ConversationEvent } from "../../../src/domain/events/event.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { type ConversationId, conversationStream } from "../../../src/domain/ids.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

/** A log as a crash may leave it: with so many of its events. */
export async function beginningOf(events: EventStore, id: ConversationId, length: number): Promise<TurnlogStore> {
  const cut = createMemoryStore();
  const stream = conversationStream(id);
  const envelopes = [];
  for await (const { position: _, ...envelope } of events.readStream(stream, { limit: length }))
    envelopes.push(envelope);
  await cut.append({ stream, expectedHead: null, envelopes });
  return new TurnlogStore(cut);
}

/** The same log with other events in the place of each. */
export async function rewritten(
  log: readonly RecordedEvent[],
  id: ConversationId,
  others: (event: ConversationEvent) => readonly ConversationEvent[],
): Promise<TurnlogStore> {
  const store = new TurnlogStore(createMemoryStore());
  for (const { event: recorded, actor, frame, runId } of log) {
    const by = { actor, ...(frame === null ? {} : { frame }), ...(runId === null ? {} : { runId }) };
    for (const event of others(recorded)) {
      // Only its own call records it.
      if (event.type !== "EventSkipped") await store.conversation(id).commit([{ event, ...by }]);
    }
  }
  return store;
}
