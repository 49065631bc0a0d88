import { expect, test } from "vitest";
import { z } from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/stack/create-engine.ts";
import { tool } from "../../src/engine/stack/tool.ts";
import { functionCall, message } from "../../src/reference-server/answers.ts";
import { startReferenceServer } from "../../src/reference-server/server.ts";
import { rehearsedProviders } from "../../src/rehearsal/rehearsed-providers.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { replayed } from "../support/replayed.ts";

const names = ["responses", "chat", "chat-deepseek", "ai-sdk", "ollama", "google"] as const;
const pairs = names.flatMap((a) => names.flatMap((b) => (a === b ? [] : [[a, b] as const])));

test.each(pairs)(
  "three exchanges with tools on %s, three on %s, and back: all is accepted, and nothing lost",
  async (a, b) => {
    let asked = 0;
    const isCalling = (): boolean => asked % 2 === 1;
    await using server = await startReferenceServer({
      seed: "handoff",
      answer: () => {
        asked += 1;
        return { output: [isCalling() ? functionCall("look", '{"of":"it"}') : message(`answer ${asked}`)] };
      },
    });
    const look = tool({
      name: "look",
      description: "Looks.",
      inputSchema: z.object({ of: z.string() }),
      execute: () => "seen",
    });
    const providers = [a, b].map((name) => rehearsedProviders[name].provider(server.baseUrl, "json"));
    const store = new TurnlogStore(createMemoryStore(), { codecs: providers.map(({ codec }) => codec) });
    const engines = providers.map((provider) => createEngine({ provider, tools: [look] }));
    const conversation = store.conversation();
    for (const [n, which] of [0, 0, 0, 1, 1, 1, 0].entries()) {
      await conversation.append(`question ${n}`);
      const [first, second] = engines;
      const engine = which === 0 ? first : second;
      if (engine === undefined) throw new Error("there are two engines");
      expect((await conversation.run(engine)).status).toBe("completed");
    }
    expect(server.requests.map(({ status }) => status)).toEqual(server.requests.map(() => 200));
    const kinds = (await conversation.turn()).blocks.map(({ kind }) => kind).filter((kind) => kind !== "reasoning");
    expect(kinds).toEqual(Array.from({ length: 7 }, () => ["user", "tool_call", "tool_result", "assistant"]).flat());
    expect((await replayed(store, conversation)).difference).toBeNull();
    const strategies: string[] = [];
    for await (const { event } of conversation.events())
      if (event.type === "InferenceRequested") strategies.push(event.data.decision.strategy);
    expect(strategies).toHaveLength(14);
    // Back at a server that keeps responses, the first request goes on from what that holds.
    if (a === "responses") expect(strategies[12]).toBe("chained");
  },
);
