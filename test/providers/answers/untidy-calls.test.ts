import { describe, expect, test } from "vitest";
import * as z from "zod";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { type JsonObject, type JsonValue, objectOf, objectsOf, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import { toolResult, user } from "../../../src/domain/make-block.ts";
import { blocksOf } from "../../../src/engine/planning/response.ts";
import type { Answer, Codec } from "../../../src/engine/ports/codec.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { createEngine, openStore, tool } from "../../../src/index.ts";
import { aiSdkCodec } from "../../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../../../src/providers/chat/chat-codec.ts";
import { chatDialectNames } from "../../../src/providers/chat/chat-dialects.ts";
import { geminiCodec } from "../../../src/providers/google/gemini-codec.ts";
import { interactionsCodec } from "../../../src/providers/google/interactions-codec.ts";
import { ollamaCodec } from "../../../src/providers/ollama/ollama-codec.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";

type Said = { readonly id?: JsonValue; readonly name?: JsonValue; readonly given?: JsonValue };

/** A whole answer with one call, as each wire says it. */
const wires: readonly (readonly [string, Codec, (said: Said) => JsonObject])[] = [
  ...chatDialectNames.map(
    (dialect) =>
      [
        `chat-${dialect}`,
        chatCodecs[dialect],
        ({ id, ...said }: Said) => completion({ id, function: named(said) }),
      ] as const,
  ),
  [
    "chat, in the member of old",
    chatCodecs.vllm,
    ({ id: _, ...said }) => ({
      choices: [{ index: 0, message: { content: "", function_call: named(said) }, finish_reason: "function_call" }],
    }),
  ],
  [
    "ollama",
    ollamaCodec,
    ({ id, ...said }) => ({
      ...{ model: "m", done: true, done_reason: "stop" },
      message: { role: "assistant", content: "", tool_calls: [{ id, function: named(said) }] },
    }),
  ],
  [
    "anthropic",
    messagesCodec,
    ({ id, name, given }) => ({
      ...{ id: "msg_1", type: "message", role: "assistant", stop_reason: "tool_use" },
      content: [{ type: "tool_use", id, name, input: given }],
    }),
  ],
  [
    "google-gemini",
    geminiCodec,
    ({ id, name, given }) => ({
      candidates: [
        { content: { role: "model", parts: [{ functionCall: { id, name, args: given } }] }, finishReason: "STOP" },
      ],
    }),
  ],
  [
    "google-interactions",
    interactionsCodec,
    ({ id, name, given }) => ({
      ...{ id: "int_1", status: "requires_action" },
      steps: [{ type: "function_call", id, name, arguments: given }],
    }),
  ],
  [
    "ai-sdk",
    aiSdkCodec,
    ({ id, name, given }) => ({
      content: [{ type: "tool-call", toolCallId: id, toolName: name, input: given }],
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
    }),
  ],
  [
    "responses",
    responsesCodec,
    ({ id, name, given }) => ({
      ...{ id: "resp_1", status: "completed" },
      output: [{ type: "function_call", id: "fc_1", call_id: id, name, arguments: given }],
    }),
  ],
];

const named = ({ name, given }: Omit<Said, "id">): JsonObject => ({ name, arguments: given });
const completion = (call: JsonValue): JsonObject => ({
  choices: [{ index: 0, message: { content: null, tool_calls: [call] }, finish_reason: "tool_calls" }],
});

/** As the wire brings it: members that are undefined are not there. */
const wired = (answer: JsonObject): JsonObject => parseJson(JSON.stringify(answer)) as JsonObject;
const asked = { inferenceId: "inf_0000000000000001", settings: { model: "m" }, capabilities: {} };

function readBack(codec: Codec, answer: JsonObject): { readonly read: Answer; readonly blocks: readonly Block[] } {
  const read = codec.readAnswer(answer, asked);
  const received = {
    scope: "s",
    inferenceId: asked.inferenceId,
    isMasked: false,
    newBlockId: freshBlockId,
    names: plainNames,
  };
  const blocks = blocksOf(read, received);
  // Whatever was said, the log gives it back.
  const told = parseJson(JSON.stringify(codec.writeAnswer({ ...read, blocks })));
  expect(parseJson(canonicalJson(told))).toEqual(parseJson(canonicalJson(answer)));
  return { read, blocks };
}

/** The body that says the call again, with its result. */
function sentAgain(codec: Codec, call: Block): string {
  const result = toolResult({ callId: call.callId ?? "", output: "done" });
  expect(codec.unsendableReason(call, { withId: false })).toBeNull();
  const input = [user("Please."), call, result].map((block) => ({ block, withId: false }));
  return codec.encodeRequest({ settings: { model: "m" }, input, anchor: null, transport: "json" });
}

describe.each(wires)("%s", (_, codec, answer) => {
  test.each<readonly [string, Said, string]>([
    ["absent", {}, "{}"],
    ["null", { given: null }, "{}"],
    ["a text of nothing", { given: "" }, "{}"],
    ["a text of blanks", { given: " \n" }, "{}"],
    ["an object", { given: { city: "Rome" } }, '{"city":"Rome"}'],
    ["a text of JSON", { given: '{"city":"Rome"}' }, '{"city":"Rome"}'],
  ])("arguments that are %s are those of a call, which is sent again in a form that servers take", (_, said, text) => {
    const { read, blocks } = readBack(codec, wired(answer({ id: "call_1", name: "look-up", ...said })));
    expect(read).toMatchObject({ isComplete: true, blocks: [{ kind: "tool_call", payload: { arguments: text } }] });
    expect(read.failure).toBeUndefined();
    const [call] = blocks;
    if (call === undefined) throw new Error("there is a call");
    const tidy = readBack(
      codec,
      wired(answer({ id: "call_1", name: "look-up", given: said.given === undefined ? {} : parseJson(text) })),
    ).blocks[0];
    if (tidy === undefined) throw new Error("there is a call");
    // Gemini takes a call without the member as one without arguments.
    const [given, wanted] = [call, tidy].map((each) => sentAgain(codec, each).replaceAll(',"args":{}', ""));
    expect(parseJson(given ?? "")).toEqual(parseJson(wanted ?? ""));
  });

  test.each<readonly [string, JsonValue | undefined]>([
    ["absent", undefined],
    ["null", null],
    ["empty", ""],
  ])("an id that is %s is made, and the result names it", (_, id) => {
    const { blocks } = readBack(codec, wired(answer({ ...(id === undefined ? {} : { id }), name: "look-up" })));
    expect(blocks.map((block) => [block.kind, block.callId === null || block.callId === ""])).toEqual([
      ["tool_call", false],
    ]);
    for (const call of blocks) sentAgain(codec, call);
  });

  test.each<readonly [string, Said]>([
    ["without a name", { given: "{}" }],
    ["with a name that is null", { name: null, given: "{}" }],
    ["with a name of nothing", { name: "", given: "{}" }],
    ["with arguments that are a list", { name: "look-up", given: ["Rome"] }],
    ["with arguments that are a number", { name: "look-up", given: 7 }],
  ])("a call %s makes the answer a failure that names it, and all of it is on record", (_, said) => {
    const { read, blocks } = readBack(codec, wired(answer({ id: "call_1", ...said })));
    expect(read).toMatchObject({ isComplete: false, failure: { code: "unreadable-call" } });
    expect(read.failure?.message).toContain(JSON.stringify(said.given));
    // What is partial is neither executed nor sent.
    expect(blocks.filter(({ kind, wire }) => kind === "tool_call" && wire?.partial !== true)).toEqual([]);
  });

  test("arguments of nothing that another wire recorded are sent as none", () => {
    const payload = { type: "function", callId: "call_1", name: "look-up", arguments: "" };
    const call = new Block({ id: null, kind: "tool_call", payload });
    expect(codec.unsendableReason(call, { withId: false })).toBeNull();
    expect(sentAgain(codec, call)).toContain("look-up");
  });
});

test.each<readonly [JsonValue | undefined, string]>([
  ["ls -l", "ls -l"],
  ["", ""],
  [null, ""],
  [undefined, ""],
])("a custom call whose input is %j gives its tool that text, on both wires that have them", (input, text) => {
  const chat = { id: "call_1", type: "custom", custom: { name: "shell", input } };
  const item = { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "shell", input };
  const answers = [
    [chatCodecs.openai, completion(chat)],
    [responsesCodec, { id: "resp_1", status: "completed", output: [item] }],
  ] as const;
  for (const [codec, answer] of answers) {
    const { blocks } = readBack(codec, wired(answer));
    expect(blocks).toMatchObject([{ kind: "tool_call", type: "custom", name: "shell", arguments: text }]);
    for (const call of blocks)
      for (const [other] of answers) expect(sentAgain(other, call)).toContain(`"input":"${text}"`);
  }
});

test.each<readonly [string, JsonValue]>([
  ["a custom call without a name", { id: "call_1", type: "custom", custom: { input: "ls" } }],
  ["a call that is a text", "look-up()"],
  ["a call of no tool", { id: "call_1", type: "function" }],
])("%s makes a completion a failure", (_, call) => {
  expect(readBack(chatCodecs.openai, wired(completion(call))).read.failure?.code).toBe("unreadable-call");
});

test("a call that was cut off in its name is no failure of its own: the answer says that it was cut", () => {
  const message = { content: "I look.", tool_calls: [{ id: "call_1", function: { arguments: "" } }] };
  const { read } = readBack(chatCodecs.vllm, { choices: [{ index: 0, message, finish_reason: "length" }] });
  expect(read).toMatchObject({ isComplete: false, status: "length" });
  expect(read.failure).toBeUndefined();
});

test.each<readonly [string, JsonValue, string]>([
  ["texts among parts", ["Sun", { type: "text", text: "ny." }], "Sunny."],
  ["a part without a type", [{ text: "Sunny." }], "Sunny."],
  [
    "a part without its text",
    [
      { type: "text", text: null },
      { type: "text", text: "Sunny." },
    ],
    "Sunny.",
  ],
  ["one part and no list", { type: "text", text: "Sunny." }, "Sunny."],
  ["an image without an address", [{ type: "text", text: "Sunny." }, { type: "image_url" }], "Sunny."],
])("content with %s is read as far as it says something", (_, content, text) => {
  const answer = { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] };
  const { blocks } = readBack(chatCodecs.vllm, answer);
  expect(blocks.map((block) => block.text).join("")).toBe(text);
});

test("texts of nothing that an answer says as null go back as texts", () => {
  const nothing = { type: "text", text: null };
  const message = {
    id: "msg_1",
    type: "message",
    stop_reason: "end_turn",
    content: [nothing, { type: "text", text: "A." }],
  };
  const items = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: null }] }];
  for (const [codec, answer] of [
    [messagesCodec, message],
    [responsesCodec, { id: "resp_1", status: "completed", output: items }],
  ] as const) {
    const { blocks } = readBack(codec, answer);
    const input = blocks.map((block) => ({ block, withId: false }));
    const body = codec.encodeRequest({ settings: { model: "m" }, input, anchor: null, transport: "json" });
    expect(body).not.toContain('"text":null');
  }
});

test("counts that a server says as texts are counted", () => {
  const usage = { prompt_tokens: "20", completion_tokens: "9", prompt_tokens_details: null };
  const { read } = readBack(chatCodecs.vllm, { choices: [], usage });
  expect(read.usage).toMatchObject({ inputTokens: 20, outputTokens: 9, cachedInputTokens: 0 });
});

/** A provider whose server answers with these, one after another. */
function answering(answers: readonly JsonObject[]): Provider & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  return {
    ...{ name: "untidy", scope: "untidy", codec: chatCodecs.vllm, capabilities: {}, transport: "json" },
    settings: { model: "m" },
    asked,
    async infer({ bodyText }) {
      const response = answers[asked.length];
      asked.push(bodyText);
      if (response === undefined) throw new Error("no more answers");
      return { response };
    },
  };
}

const done = { choices: [{ index: 0, message: { content: "Done." }, finish_reason: "stop" }] };
const lookUp = tool({ name: "look-up", description: "Looks up.", inputSchema: z.object({}), execute: () => "found" });

test("a run calls a tool whose call has no arguments, and goes on", async () => {
  const provider = answering([completion({ id: "call_1", function: { name: "look-up" } }), done]);
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Look.");
  const { text, steps } = await conversation.run(createEngine({ provider, tools: [lookUp] }));
  expect([text, steps.length, provider.asked.length]).toEqual(["Done.", 2, 2]);
});

test("a run whose answer has a call without a name fails with that kind, keeps what was paid, and the next goes on", async () => {
  const provider = answering([completion({ id: "call_1", function: { name: "", arguments: "{}" } }), done]);
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Look.");
  const engine = createEngine({ provider, tools: [lookUp] });
  const failed = await conversation.run(engine).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: "run-failed", kind: "unreadable-call" });
  const events: unknown[] = [];
  for await (const event of conversation.events()) events.push(event);
  expect(JSON.stringify(events)).toContain('"call_1"');
  expect(await conversation.run(engine)).toMatchObject({ text: "Done." });
  expect(await store.verify()).toMatchObject({ isSound: true });
});

test("items that came under an empty id go back under none", async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [message("It is so."), message("So it is.")] }),
  });
  const provider = openaiResponses({
    model: "m",
    apiKey: "sk-test-key",
    baseURL: server.baseUrl,
    ...{ transport: "json", capabilities: { chain: false } },
  });
  const infer: Provider["infer"] = async (request) => {
    const { response, ...told } = await provider.infer(request);
    const output = objectsOf(response["output"]).map((item) => ({ ...item, id: "" }));
    return { ...told, response: { ...response, output } };
  };
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const engine = createEngine({ provider: { ...provider, infer } });
  for (const said of ["Is it?", "And now?"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  const ids = objectsOf(objectOf(server.requests[1]?.body)["input"]).map((item) => Object.hasOwn(item, "id"));
  expect(ids).toEqual([false, false, false, false]);
});
