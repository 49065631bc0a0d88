import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import type { StreamDelta } from "../../../src/engine/ports/provider.ts";
import { MessageStream } from "../../../src/providers/anthropic/message-stream.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";

const usage = {
  ...{ input_tokens: 20, cache_read_input_tokens: 5, cache_creation_input_tokens: 3, output_tokens: 1 },
  cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
};
const start = {
  type: "message_start",
  message: { id: "msg_1", type: "message", role: "assistant", content: [], usage },
};
const end = (told: JsonObject): readonly JsonObject[] => [
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: told },
  { type: "message_stop" },
];

function played(events: readonly JsonObject[]) {
  const deltas: StreamDelta[] = [];
  const stream = new MessageStream((delta) => deltas.push(delta));
  const message = events.map((event) => stream.take(null, event)).at(-1) ?? {};
  const asked = { inferenceId: "inf_0000000000000001", settings: {}, capabilities: {} };
  return { message, deltas, answer: messagesCodec.readAnswer(message, asked) };
}

test.each([
  ["null", { input_tokens: null, cache_read_input_tokens: null, cache_creation: null, output_tokens: 9 }],
  ["0", { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 9 }],
  ["0 within", { cache_creation: { ephemeral_5m_input_tokens: 0 }, output_tokens: 9 }],
  ["only what is new", { output_tokens: 9 }],
])("counts that the end of a stream says as %s are those of its start", (_, told) => {
  const { message, answer } = played([start, ...end(told)]);
  expect(message["usage"]).toEqual({ ...usage, output_tokens: 9 });
  expect(answer.usage).toMatchObject({ inputTokens: 28, cachedInputTokens: 5, outputTokens: 9 });
});

test("counts that rise are the newest", () => {
  expect(played([start, ...end({ input_tokens: 90, output_tokens: 9 })]).answer.usage).toMatchObject({
    inputTokens: 98,
  });
});

test("what an advisor and a compaction have cost is counted, and what the sums hold is not counted twice", () => {
  const iterations = [
    { type: "message", input_tokens: 20, output_tokens: 9 },
    { type: "advisor_message", input_tokens: 100, cache_read_input_tokens: 7, output_tokens: 38 },
    { type: "compaction", input_tokens: 1_000, output_tokens: 50 },
  ];
  const { answer } = played([start, ...end({ output_tokens: 9, iterations })]);
  expect(answer.usage).toMatchObject({
    inputTokens: 28 + 107 + 1_000,
    cachedInputTokens: 12,
    outputTokens: 9 + 38 + 50,
  });
});

const begun = (index: number, block: JsonObject): JsonObject => ({
  type: "content_block_start",
  index,
  content_block: block,
});
const grown = (index: number, delta: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta });
const call = (id: string): JsonObject => ({ type: "tool_use", id, name: "look-up", input: {} });

test("blocks that all say index 0 are as many as were begun, stopped or not", () => {
  const { message, deltas } = played([
    start,
    begun(0, { type: "text", text: "" }),
    grown(0, { type: "text_delta", text: "I look." }),
    { type: "content_block_stop", index: 0 },
    begun(0, call("toolu_1")),
    grown(0, { type: "input_json_delta", partial_json: '{"n":1}' }),
    begun(0, call("toolu_2")),
    grown(0, { type: "input_json_delta", partial_json: '{"n":2}' }),
    ...end({ output_tokens: 9 }),
  ]);
  expect(message["content"]).toEqual([
    { type: "text", text: "I look." },
    { ...call("toolu_1"), input: { n: 1 } },
    { ...call("toolu_2"), input: { n: 2 } },
  ]);
  expect(deltas.flatMap((delta) => (delta.type === "item-done" ? delta.outputIndex : []))).toEqual([0, 1, 2]);
});

test("a block that begins with its first delta is one", () => {
  const { message } = played([
    start,
    grown(0, { type: "text_delta", text: "Hel" }),
    grown(0, { type: "text_delta", text: "lo." }),
    ...end({}),
  ]);
  expect(message["content"]).toEqual([{ type: "text", text: "Hello." }]);
});

test("every citation of a text is kept, in the order in which they came", () => {
  const cited = (n: number) => ({ type: "char_location", cited_text: `Text ${n}.`, document_index: n });
  const { message } = played([
    start,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: [] } },
    { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: cited(1) } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "So it is." } },
    { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: cited(2) } },
    { type: "content_block_stop", index: 0 },
    ...end(usage),
  ]);
  expect(message["content"]).toEqual([{ type: "text", text: "So it is.", citations: [cited(1), cited(2)] }]);
});
