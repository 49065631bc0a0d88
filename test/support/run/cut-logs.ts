import { commit } from "../../../src/conversation/commit.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { Block } from "../../../src/domain/block.ts";
import { blockFromJson } from "../../../src/domain/block-json.ts";
import { blocksIn } from "../../../src/domain/events/blocks-in.ts";
import type { ConversationEvent } from "../../../src/domain/events/event.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { type ConversationId, conversationStream } from "../../../src/domain/ids.ts";
import { settle } from "../../../src/log/codec/stream-names.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

/** A log as a crash may leave it: with so many of its events. */
export async function beginningOf(events: EventStore, id: ConversationId, length: number): Promise<TurnlogStore> {
  const cut = createMemoryStore();
  const stream = conversationStream(id);
  const envelopes = [];
  for await (const { position: _, ...envelope } of events.readStream(stream, { limit: length }))
    envelopes.push(envelope);
  const namingKey = await events.namingKey?.(stream);
  const key = typeof namingKey === "string" ? { namingKey } : {};
  await cut.append({ stream, expectedHead: null, envelopes, ...key });
  return new TurnlogStore(cut);
}

/** The same log with other events in the place of each. */
export async function rewritten(
  log: readonly RecordedEvent[],
  id: ConversationId,
  others: (event: ConversationEvent) => readonly ConversationEvent[],
): Promise<TurnlogStore> {
  const store = new TurnlogStore(createMemoryStore());
  // The events have the names of the store that they are from.
  const [names] = log.flatMap(({ event }) => blocksIn(event)).map((json) => Block.namesOf(blockFromJson(json)));
  if (names !== undefined) settle(store.log.store, conversationStream(id), names);
  for (const { event: recorded, actor, frame, runId } of log) {
    const by = { actor, ...(frame === null ? {} : { frame }), ...(runId === null ? {} : { runId }) };
    for (const event of others(recorded)) {
      // Only their own calls record them.
      if (event.type !== "EventSkipped" && event.type !== "AncestorEventsSkipped" && event.type !== "LinesErased")
        await store.conversation(id)[commit]([{ event, ...by }]);
    }
  }
  return store;
}
