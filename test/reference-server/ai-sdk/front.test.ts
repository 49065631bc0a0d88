import { expect, test } from "vitest";
import { languageModel } from "../../../packages/reference-server/src/ai-sdk/language-model.ts";
import {
  functionCall,
  message,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";

const user = { role: "user", content: [{ type: "text", text: "Where is it warm?" }] };
const call = (...ids: readonly string[]) => ({
  role: "assistant",
  content: ids.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "look-up", input: { a: 1 } })),
});
const result = (toolCallId: string) => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId, toolName: "look-up", output: { type: "text", value: "Rome" } }],
});

const talking: ReferenceServerOptions = {
  ...{ seed: "ai-sdk", deltaLength: 3, now: () => 0 },
  answer: () => ({ output: [reasoning({ summary: "Hm." }), message("I look."), functionCall("look-up", '{"a": 1}')] }),
};

const said = [
  { type: "reasoning", text: "Hm.", providerMetadata: { reference: { signature: expect.any(String) as unknown } } },
  { type: "text", text: "I look." },
  { type: "tool-call", toolCallId: expect.any(String) as unknown, toolName: "look-up", input: '{"a": 1}' },
];

test("a model gives its answer whole, and in parts of a stream", async () => {
  await using server = await startReferenceServer(talking);
  const model = languageModel(server.baseUrl);
  const whole = await model.doGenerate({ prompt: [user] });
  expect(whole).toMatchObject({ content: said, finishReason: { unified: "tool-calls" }, warnings: [] });
  const parts: unknown[] = [];
  for await (const part of (await model.doStream({ prompt: [user] })).stream) parts.push(part);
  expect(parts).toMatchObject([
    { type: "stream-start" },
    { type: "response-metadata", modelId: "reference" },
    ...[{ type: "reasoning-start" }, { type: "reasoning-delta", delta: "Hm." }, { type: "reasoning-end" }],
    ...[{ type: "text-start" }, { delta: "I l" }, { delta: "ook" }, { delta: "." }, { type: "text-end" }],
    { type: "tool-input-start", toolName: "look-up" },
    ...[{ delta: '{"a' }, { delta: '": ' }, { delta: "1}" }, { type: "tool-input-end" }],
    said[2],
    // The whole prompt was sent before.
    { type: "finish", usage: { inputTokens: { cacheRead: expect.any(Number) as unknown, noCache: 0 } } },
  ]);
});

test("what the model reads is shown in the lines of every dialect", async () => {
  await using server = await startReferenceServer({ seed: "ai-sdk" });
  const prompt = [{ role: "system", content: "Be brief." }, user, call("c1"), result("c1")];
  await languageModel(server.baseUrl).doGenerate({ prompt });
  const lines = readItems(server.reading(0)?.items ?? []);
  const told = readItems([
    { type: "message", role: "system", content: "Be brief." },
    { type: "message", role: "user", content: "Where is it warm?" },
    { type: "function_call", call_id: "c1", name: "look-up", arguments: '{"a":1}' },
    { type: "function_call_output", call_id: "c1", output: "Rome" },
  ]);
  expect(lines).toEqual(told);
});

test.each([
  ["no list of messages", "hello", /list of messages/],
  ["an unknown role", [{ role: "robot", content: [] }], /no role robot/],
  ["a message without parts", [{ role: "user", content: [] }], /list of parts/],
  ["a part of another role", [{ role: "user", content: [{ type: "reasoning", text: "Hm." }] }], /no part of it/],
  ["a call without its result", [user, call("c1"), user], /the calls c1 have no result/],
  ["half of the results", [user, call("c1", "c2"), result("c1"), user], /the calls c2 have no result/],
  ["a call at the end", [user, call("c1")], /The calls c1 have no result/],
  ["a result without its call", [user, result("c1")], /no call of c1/],
  ["two calls of one id", [user, call("c1", "c1"), result("c1")], /two calls have one id/],
])("refuses %s", async (_, prompt, message) => {
  await using server = await startReferenceServer();
  const asked = languageModel(server.baseUrl).doGenerate({ prompt });
  await expect(asked).rejects.toMatchObject({
    statusCode: 400,
    responseBody: expect.stringMatching(message) as unknown,
  });
});

test("refuses a prompt that is too long, and tells a fault in its stream", async () => {
  await using server = await startReferenceServer({ maxContextTokens: 1 });
  const model = languageModel(server.baseUrl);
  await expect(model.doGenerate({ prompt: [user] })).rejects.toMatchObject({ statusCode: 400 });
  await using other = await startReferenceServer();
  other.inject({ kind: "stream-error", isNested: false, error: { message: "overloaded" } });
  const { stream } = await languageModel(other.baseUrl).doStream({ prompt: [user] });
  const parts: unknown[] = [];
  for await (const part of stream) parts.push(part);
  expect(parts.at(-1)).toEqual({ type: "error", error: { message: "overloaded" } });
});
