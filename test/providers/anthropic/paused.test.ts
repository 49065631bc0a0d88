import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/stack/create-engine.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

const searched = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sun" } };
const answers: readonly JsonObject[] = [
  { id: "msg_1", stop_reason: "pause_turn", content: [{ type: "text", text: "I look." }, searched] },
  { id: "msg_2", stop_reason: "end_turn", content: [{ type: "text", text: "It is sunny." }] },
];

test("an answer that a server's tool paused is gone on with as it stands, when the run is asked again", async () => {
  const messages: unknown[] = [];
  const provider = anthropic({
    ...{ model: "claude-sonnet-5", apiKey: "none", transport: "json", cache: false },
    fetch: async (input, init) => {
      const asked: unknown = await new Request(input, init).json();
      if (isJsonObject(asked)) messages.push(asked["messages"]);
      const usage = { input_tokens: 1, output_tokens: 1 };
      return Response.json({ ...answers[messages.length - 1], type: "message", role: "assistant", usage });
    },
  });
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  await conversation.append("How is the weather?");
  const engine = createEngine({ provider });
  const { steps } = await conversation.run(engine);
  expect(steps.at(-1)?.status).toBe("pause_turn");
  expect((await conversation.run(engine, { again: true })).text).toBe("It is sunny.");
  const asked = { role: "user", content: [{ type: "text", text: "How is the weather?" }] };
  const paused = { role: "assistant", content: [{ type: "text", text: "I look." }, searched] };
  expect(messages).toEqual([[asked], [asked, paused]]);
});
