import { expect, test } from "vitest";
import * as z from "zod";
import { user } from "../../../src/domain/make-block.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { answering, eventStream, serve } from "../../support/providers/loopback.ts";
import { createWorkshop } from "../../support/workshop.ts";

const odd = '"score":1e400,"serial":12345678901234567890,"angle":-0,"ratio":0.12345678901234567890,"plain":1.5';
const said = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[{${odd}}]}],${odd}}`;
const response = `{"id":"resp_1","object":"response","status":"completed","previous_response_id":null,"output":[${said}],"usage":{"total_tokens":9007199254740993},"extra":{${odd}}}`;

test.each([
  ["json", response, {}],
  ["sse", `event: response.completed\ndata: {"type":"response.completed","response":${response}}\n\n`, eventStream],
] as const)(
  "numbers that JavaScript cannot hold are kept as they came, and sent again so (%s)",
  async (transport, body, headers) => {
    await using server = await serve(answering(body, 200, headers));
    const { conversation, engine, store } = createWorkshop();
    const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseURL, transport });
    const asks = engine({ provider, mode: "stateless" });
    await conversation.append("hello");
    expect((await conversation.run(asks)).text).toBe("hi");
    const stream = `conversation-${conversation.id}`;
    const texts: string[] = [];
    for await (const { type, data } of store.events.readStream(stream))
      if (type === "ResponseReceived") texts.push(data);
    expect(texts.join()).toContain(`"annotations":[{${odd}}]`);
    expect(texts.join()).toContain(`"extra":{${odd}}`);
    expect(texts.join()).toContain('"reported":{"total_tokens":9007199254740993}');
    await conversation.append("go on");
    await conversation.run(asks);
    expect(server.received[1]?.body).toContain(`"annotations":[{${odd}}]`);
    const reports: unknown[] = [];
    for await (const report of verifyStore(store.events, { codecs })) reports.push(report);
    expect(reports).toMatchObject([{ stream, requests: 2, problem: null }]);
    expect((await replayFolds(conversation)).difference).toBeNull();
  },
);

test("a number that a provider rounded is logged as JavaScript writes it, and is not a failure", async () => {
  const { conversation, engine, store } = createWorkshop();
  const model = scripted([
    { items: [{ type: "message", role: "assistant", content: "hi", serial: 2 ** 60, angle: -0 }] },
  ]);
  await conversation.append("hello");
  expect((await conversation.run(engine({ provider: model }))).text).toBe("hi");
  const texts: string[] = [];
  for await (const { data } of store.events.readStream(`conversation-${conversation.id}`)) texts.push(data);
  expect(texts.join()).toContain('"serial":1152921504606847000,"angle":-0');
});

test("numbers that JavaScript cannot hold are refused from callers by their place", async () => {
  const { conversation, scripted } = createWorkshop();
  for (const number of [2 ** 53, -0, Number.NaN]) {
    expect(() => user("hello").withPayload({ role: "user", content: "hello", score: [number] })).toThrow("score[0]");
    const hostile = { type: "function", name: "n", parameters: { number }, strict: null } as const;
    expect(() => openaiResponses({ model: "m", apiKey: "sk-test", tools: [hostile] })).toThrow(
      "tools[0].parameters.number",
    );
  }
  const lookUp = tool({
    ...{ name: "look-up", description: "Looks up.", inputSchema: z.object({}) },
    execute: () => ({ serial: 2 ** 60 }),
  });
  const calls = [{ name: "look-up", arguments: {} }];
  await conversation.append("hello");
  const turn = await (await conversation.run(scripted([{ calls }, "done"], { tools: [lookUp] }).engine)).turn();
  expect(turn.blocks.find(({ kind }) => kind === "tool_result")?.text).toContain("an integer beyond 2^53");
});
