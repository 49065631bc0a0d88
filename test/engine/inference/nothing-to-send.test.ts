import { expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";

import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { blockAppending } from "../../../src/domain/events/blocks-in.ts";
import { blockIdSchema } from "../../../src/domain/ids.ts";
import { scripted, startReferenceServer } from "../../../src/entries/testing.ts";
import { audio, createEngine, toolResult, user } from "../../../src/index.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

test("a Turn of which nothing can be sent fails the run by name, and no request leaves", async () => {
  const provider = scripted(["never said"]);
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const orphan = toolResult({ callId: "call_of_nobody", output: "42" }).withId(
    blockIdSchema.parse("blk_of_nobody_000000"),
  );
  await conversation[commit]([{ event: blockAppending(orphan), actor: { kind: "import" } }]);
  await expect(conversation.run(createEngine({ provider }))).rejects.toMatchObject({ kind: "nothing-to-send" });
  expect(provider.requests).toEqual([]);
});

test("no user message is added to a Turn of which nothing is sent", async () => {
  await using server = await startReferenceServer();
  const provider = anthropic({ model: "claude-sonnet-5", apiKey: "none", baseURL: server.url });
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  await conversation.append(user([audio("UklGRg==", "wav")]));
  const failure = await conversation.run(createEngine({ provider })).catch((error: unknown) => error);
  expect(failure).toMatchObject({ kind: "nothing-to-send" });
  expect(String(failure)).toMatch(/of the last one: .*audio/);
  expect(server.requests).toEqual([]);
});
