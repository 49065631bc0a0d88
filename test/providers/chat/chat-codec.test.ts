import { expect, test } from "vitest";
import { type JsonObject, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import {
  assistant,
  audio,
  file,
  image,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { blocksOf } from "../../../src/engine/planning/response.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import type { Draft } from "../../../src/engine/ports/codec.ts";
import { tokensIn } from "../../../src/providers/chat/chat-answer.ts";
import { chatCodecs } from "../../../src/providers/chat/chat-codec.ts";
import { type ChatDialectName, chatDialectNames } from "../../../src/providers/chat/chat-dialects.ts";
import { codecChecks } from "../../../src/testing/rehearsal/codec-checks.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";

const usage = {
  ...{ prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 },
  ...{ prompt_tokens_details: { cached_tokens: 16 }, completion_tokens_details: { reasoning_tokens: 4 } },
};
const completion = (message: JsonObject, finish = "stop"): JsonObject => ({
  ...{ id: "chatcmpl-1", object: "chat.completion", created: 1_767_225_600, model: "any" },
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason: finish }],
  usage,
});
const call = (id: string, given = '{"city":"Paris"}'): JsonObject => ({
  ...{ id, type: "function", function: { name: "look-up", arguments: given } },
});
const answers = [
  completion({ content: "Sunny.", refusal: null, annotations: [] }),
  completion({ content: null, tool_calls: [call("call_1"), call("call_2", '{ "city" : "Rome"}')] }, "tool_calls"),
  completion({ content: null, refusal: "No." }),
  completion({ content: "It is", audio: { id: "audio_1" } }, "length"),
  { id: "chatcmpl-2", object: "chat.completion", choices: [], usage: null },
  { error: { message: "overloaded", code: "server_error" } },
];
const thoughtful = [
  completion({ content: "I look.", reasoning_content: "Where?", tool_calls: [call("call_3")] }, "tool_calls"),
  completion({ content: "Warm.", reasoning: "It is summer." }),
  completion({
    content: [
      { type: "thinking", thinking: [{ type: "text", text: "Hm." }], signature: "c2ln", closed: true },
      { type: "text", text: "Yes." },
    ],
  }),
];
/** They show what their models think, and do not take it back. */
const takesNone: readonly ChatDialectName[] = ["openai", "groq", "gemini-openai"];

/** Mistral gives ids of nine letters and digits. */
const withItsIds = (answer: JsonObject): JsonObject =>
  parseJson(JSON.stringify(answer).replaceAll(/call_(\d)/g, "callid00$1")) as JsonObject;

for (const dialect of chatDialectNames) {
  const given = takesNone.includes(dialect) ? answers : [...answers, ...thoughtful];
  const samples = dialect === "mistral" ? given.map(withItsIds) : given;
  for (const { name, run } of codecChecks(chatCodecs[dialect], { answers: samples })) test(`${dialect}: ${name}`, run);
}

test("the tokens that DeepSeek took from its cache are counted, by the name that it gives them", () => {
  const told = { prompt_tokens: 20, prompt_cache_hit_tokens: 16, prompt_cache_miss_tokens: 4, completion_tokens: 9 };
  expect(tokensIn(told)).toEqual({ inputTokens: 20, cachedInputTokens: 16, outputTokens: 9, reasoningTokens: 0 });
});

/** The messages of a request. */
function sent(
  blocks: readonly Block[],
  dialect: ChatDialectName = "openai",
  settings: JsonObject = { model: "m" },
): JsonObject {
  const input = blocks.map((block) => ({ block, withId: false }));
  const body = chatCodecs[dialect].encodeRequest({ settings, input, anchor: null, transport: "json" });
  return parseJson(body) as JsonObject;
}

const exchange = [
  user("Where is it warm?"),
  assistant("I look."),
  toolCall({ callId: "call_1", name: "look-up", arguments: "{}" }),
  toolCall({ callId: "call_2", name: "look-up", arguments: '{"n":1.0}' }),
  toolResult({ callId: "call_1", output: "Rome" }),
  toolResult({ callId: "call_2", output: [text("Athens")] }),
  assistant("In Rome."),
];

test("what the model said between two words of others is one message, with its calls", () => {
  expect(sent(exchange)["messages"]).toEqual([
    { role: "user", content: "Where is it warm?" },
    {
      role: "assistant",
      content: "I look.",
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "look-up", arguments: "{}" } },
        { id: "call_2", type: "function", function: { name: "look-up", arguments: '{"n":1.0}' } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "Rome" },
    { role: "tool", tool_call_id: "call_2", content: "Athens" },
    { role: "assistant", content: "In Rome." },
  ]);
});

test("two answers that follow each other stay two messages", () => {
  expect(sent([user("Hi."), assistant("Hello."), assistant("And welcome.")])["messages"]).toMatchObject([
    { role: "user" },
    { role: "assistant", content: "Hello." },
    { role: "assistant", content: "And welcome." },
  ]);
});

test("Mistral's ids of calls have nine letters and digits, the same for a call and its result", () => {
  const turn = Turn.of(exchange.map((block) => block.withId(freshBlockId())));
  const options = {
    ...{ scope: "s", codec: chatCodecs.mistral, itemIds: false },
    ...{ quarantined: new Set<string>() },
  };
  const repairs = shape(turn, 0, { ...options, heldFrom: 0, settings: {} });
  const blocks = shapedBlocks(turn, 0, repairs, options).map(({ block }) => block);
  const messages = sent(blocks, "mistral")["messages"] as readonly JsonObject[];
  const calls = messages[1]?.["tool_calls"] as readonly JsonObject[];
  const ids = calls.map(({ id }) => id);
  expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
  expect(new Set(ids).size).toBe(2);
  expect(messages.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(ids);
  expect(chatCodecs.mistral.callIdFor?.("D681PevKs")).toBe("D681PevKs");
});

test("images, files and audio of the user go as this wire has them", () => {
  const parts = [text("See."), image("https://a.example/i.png"), file({ fileId: "file_1" }), audio("AAAA", "wav")];
  expect(sent([user(parts)])["messages"]).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "See." },
        { type: "image_url", image_url: { url: "https://a.example/i.png", detail: "auto" } },
        { type: "file", file: { file_id: "file_1" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      ],
    },
  ]);
});

test("instructions are the first message; system messages keep their role and place", () => {
  const blocks = [system("Be brief.", "developer"), user("Hi.")];
  expect(sent(blocks, "openai", { model: "m", instructions: "Be kind." })["messages"]).toEqual([
    { role: "system", content: "Be kind." },
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Hi." },
  ]);
});

test("thoughts are read everywhere, and go back where the dialect takes them", () => {
  const members = chatDialectNames.map((dialect) => {
    const codec = chatCodecs[dialect];
    const asked = { inferenceId: "inf_1", settings: {}, capabilities: {} };
    const [thought, said] = codec.readAnswer(completion({ content: "A.", reasoning: "B." }), asked).blocks.map(blockOf);
    if (thought === undefined || said === undefined) throw new Error("two blocks are read");
    const isTaken = codec.unsendableReason(thought, { withId: false }) === null;
    const [message = {}] = sent([thought, said], dialect)["messages"] as readonly JsonObject[];
    const { role: _, ...members } = message;
    return [dialect, isTaken ? members : null];
  });
  expect(Object.fromEntries(members)).toEqual({
    openai: null,
    deepseek: { content: "A.", reasoning_content: "B." },
    mistral: {
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "B." }] },
        { type: "text", text: "A." },
      ],
    },
    groq: null,
    openrouter: { content: "A.", reasoning: "B." },
    "gemini-openai": null,
    vllm: { content: "A.", reasoning: "B." },
    "llama.cpp": { content: "A.", reasoning_content: "B." },
    ollama: { content: "A.", reasoning: "B." },
  });
});

const blockOf = ({ kind, payload }: Draft): Block => new Block({ id: null, kind, payload });

test.each([
  [{ structured: true }, '{"structured":true}', "result-as-json"],
  [[1, { type: "row" }], '[1,{"type":"row"}]', "result-as-json"],
  [[text("a"), text("b")], [text("a"), text("b")], null],
  ["plain", "plain", null],
])("a result is said as text, and what is said otherwise is on record: %j", (output, content, reason) => {
  const call = toolCall({ callId: "call_1", name: "look", arguments: "{}" });
  const result = toolResult({ callId: "call_1", output });
  const { openai: codec } = chatCodecs;
  const input = [call, result].map((block) => ({ block, withId: false }));
  const body = parseJson(codec.encodeRequest({ settings: {}, input, anchor: null, transport: "json" }));
  expect(body).toMatchObject({ messages: [{}, { role: "tool", tool_call_id: "call_1", content }] });
  expect(codec.restated?.(result, call)).toBe(reason);
  expect(codec.unsendableReason(result, { withId: false })).toBe(null);
});

test("what a run asks otherwise is said in the words of this wire", () => {
  const asked = {
    temperature: 0,
    topP: 0.5,
    maxOutputTokens: 9,
    toolChoice: { tool: "look-up" },
    reasoningEffort: "low",
  };
  expect(chatCodecs.openai.adjust?.({ model: "m" }, asked)).toEqual({
    ...{ model: "m", temperature: 0, top_p: 0.5, max_completion_tokens: 9, reasoning_effort: "low" },
    tool_choice: { type: "function", function: { name: "look-up" } },
  });
  expect(chatCodecs.mistral.adjust?.({}, { maxOutputTokens: 9 })).toEqual({ max_tokens: 9 });
});

test("tools are offered as functions, beside those that the settings have", () => {
  const codec = chatCodecs.openai;
  const own = { type: "function", function: { name: "mine", parameters: {} } };
  const tools = [{ name: "look-up", description: "Looks up.", parameters: { type: "object" } }];
  const settings = codec.offer({ model: "m", tools: [own] }, { tools, capabilities: {} });
  expect(codec.offeredTools(settings)).toEqual(["mine", "look-up"]);
  expect(sent([user("Hi.")], "openai", settings)["tools"]).toEqual([
    own,
    { type: "function", function: { name: "look-up", description: "Looks up.", parameters: { type: "object" } } },
  ]);
});

/** The blocks of an answer as the log has them, of an endpoint. */
function received(answer: JsonObject, scope = "mine", codec = chatCodecs.openai): readonly Block[] {
  const asked = { inferenceId: "inf_0000000000000001", settings: {}, capabilities: {} };
  const from = { scope, inferenceId: asked.inferenceId, isMasked: false, newBlockId: freshBlockId, names: plainNames };
  return blocksOf(codec.readAnswer(answer, asked), from);
}

/** The messages that an endpoint is sent, shaped as a run shapes them. */
function shapedMessages(blocks: readonly Block[], scope = "mine", codec = chatCodecs.openai): readonly JsonObject[] {
  const turn = Turn.of(blocks.map((block) => (block.id === null ? block.withId(freshBlockId()) : block)));
  const options = { ...{ scope, codec, itemIds: false }, quarantined: new Set<string>() };
  const repairs = shape(turn, 0, { ...options, heldFrom: 0, settings: {} });
  const input = shapedBlocks(turn, 0, repairs, options);
  const body = parseJson(codec.encodeRequest({ settings: {}, input, anchor: null, transport: "json" }));
  return (body as { readonly messages: readonly JsonObject[] }).messages;
}

const signed = { google: { thought_signature: "c2ln" } };

test("what a call has beside it goes back to the server that gave it, and to no other", () => {
  const answer = completion(
    { content: null, tool_calls: [{ ...call("call_1"), extra_content: signed }] },
    "tool_calls",
  );
  const blocks = [user("Where?"), ...received(answer), toolResult({ callId: "call_1", output: "Rome" })];
  const extras = (scope: string) => shapedMessages(blocks, scope)[1]?.["tool_calls"];
  expect(extras("mine")).toEqual([{ ...call("call_1"), extra_content: signed }]);
  expect(extras("another")).toEqual([call("call_1")]);
});

test("reasoning in details goes back as it came, also where a dialect takes no other, and to no other server", () => {
  const details = [
    { type: "reasoning.text", index: 0, text: "Where?", signature: "c2ln" },
    { type: "reasoning.encrypted", index: 1, data: "QQ==" },
  ];
  for (const reasoning of [{ reasoning: "Where?" }, {}]) {
    const answer = completion({ content: "In Rome.", ...reasoning, reasoning_details: details });
    const blocks = [user("Where?"), ...received(answer), user("And?")];
    expect(blocks[1]?.text).toBe("Where?");
    expect(shapedMessages(blocks)[1]).toEqual({ role: "assistant", content: "In Rome.", reasoning_details: details });
    expect(shapedMessages(blocks, "another")[1]).toEqual({ role: "assistant", content: "In Rome." });
  }
  const [, sealed = {}] = details;
  const secret = completion({ content: null, tool_calls: [call("call_1")], reasoning_details: [sealed] }, "tool_calls");
  const blocks = [user("Where?"), ...received(secret), toolResult({ callId: "call_1", output: "Rome" })];
  expect(shapedMessages(blocks)[1]).toMatchObject({ reasoning_details: [sealed], tool_calls: [call("call_1")] });
});

for (const { name, run } of codecChecks(chatCodecs.openai, {
  answers: [
    completion({ content: null, tool_calls: [{ ...call("call_1"), extra_content: signed }] }, "tool_calls"),
    completion({ content: "A.", reasoning: "B.", reasoning_details: [{ type: "reasoning.text", text: "B." }] }),
  ],
}))
  test(`with what servers want back: ${name}`, run);

test("tokens of thoughts and of a cache are counted by the names that OpenAI gives them", () => {
  const told = {
    ...{ prompt_tokens: 20, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 12 } },
    completion_tokens_details: { reasoning_tokens: 5 },
  };
  expect(tokensIn(told)).toEqual({ inputTokens: 20, cachedInputTokens: 12, outputTokens: 9, reasoningTokens: 5 });
});
