import { expect, test } from "vitest";
import { fillConversation } from "../../../bench/studio-stores.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

test("the studio is measured on a conversation that has its naming key, as every copy has", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const id = await fillConversation(store, 20);
  expect(await store.events.namingKey?.(`conversation-${id}`)).toMatch(/^[0-9a-f]{64}$/);
});
