import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { scripted } from "../../../src/entries/testing.ts";
import { createEngine, toolResult } from "../../../src/index.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

test("a Turn of which nothing can be sent fails the run by name, and no request leaves", async () => {
  const provider = scripted(["never said"]);
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  await conversation.append(toolResult({ callId: "call_of_nobody", output: "42" }));
  await expect(conversation.run(createEngine({ provider }))).rejects.toMatchObject({ kind: "nothing-to-send" });
  expect(provider.requests).toEqual([]);
});
