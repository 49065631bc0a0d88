import { describe, expect, test } from "vitest";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import type { Repair } from "../../../src/domain/events/inference-events.ts";
import { blockIdSchema } from "../../../src/domain/ids.ts";
import {
  assistant,
  audio,
  file,
  image,
  other,
  reasoning,
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
import { codecChecks } from "../../../src/entries/testing.ts";
import { geminiCodec } from "../../../src/providers/google/gemini-codec.ts";

const codec = geminiCodec;
const scope = "here";
const inferenceId = "inf_0000000000000001";
let ids = 0;
const newBlockId = () => {
  ids += 1;
  return blockIdSchema.parse(`blk_${String(ids).padStart(16, "0")}`);
};
const answerOf = (parts: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
  usageMetadata: {
    promptTokenCount: 3,
    candidatesTokenCount: 2,
    thoughtsTokenCount: 5,
    cachedContentTokenCount: 1,
    totalTokenCount: 10,
  },
  ...{ modelVersion: "gemini-3-flash", responseId: "r1" },
  ...more,
});
const read = (response: JsonObject) => codec.readAnswer(response, { inferenceId, settings: {}, capabilities: {} });
const received = (parts: readonly JsonObject[], from = scope): readonly Block[] =>
  blocksOf(read(answerOf(parts)), { scope: from, inferenceId, isMasked: false, newBlockId, names: plainNames });
const named = (block: Block): Block => (block.id === null ? block.withId(newBlockId()) : block);

/** What is sent of these blocks, shaped, and what shaping has changed. */
function sent(blocks: readonly Block[], settings: JsonObject = { model: "gemini-3-flash-preview" }) {
  const turn = Turn.of(blocks.map(named));
  const repairs = shape(turn, 0, { codec, scope, settings, itemIds: false, quarantined: new Set(), heldFrom: 0 });
  const input = shapedBlocks(turn, 0, repairs, { codec, scope, itemIds: false });
  return { body: bodyOf(codec.encodeRequest({ settings, input, anchor: null, transport: "json" })), repairs };
}

function bodyOf(bodyText: string): JsonObject {
  const body = parseJson(bodyText);
  return isJsonObject(body) ? body : {};
}

const contentsOf = (blocks: readonly Block[], settings?: JsonObject): JsonValue | undefined =>
  sent(blocks, settings).body["contents"];
const rules = (repairs: readonly Repair[]) => repairs.map(({ rule, index, detail }) => [rule, index, detail["reason"]]);

const call = (n: number, more: JsonObject = {}): JsonObject => ({
  functionCall: { name: `f${n}`, args: { n }, ...more },
});
const signed = (part: JsonObject, thoughtSignature = "c2lnbmVk"): JsonObject => ({ ...part, thoughtSignature });

describe("the codec google-gemini/1", () => {
  const answers = [
    answerOf([{ text: "Hello." }]),
    answerOf([{ text: "Hm.", thought: true }, signed({ text: "Hello." })]),
    answerOf([signed(call(1)), call(2, { id: "a1" }), call(3)]),
    answerOf([
      signed({ executableCode: { language: "PYTHON", code: "1" } }),
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
      { text: "1" },
    ]),
    answerOf([
      signed({ toolCall: { toolType: "GOOGLE_SEARCH", args: {}, id: "t" } }),
      signed({ toolResponse: { id: "t", response: {} } }),
      { text: "Found." },
    ]),
    answerOf([{ text: "Hel" }], {
      candidates: [{ content: { role: "model", parts: [{ text: "Hel" }] }, finishReason: "MAX_TOKENS" }],
    }),
    answerOf([], { candidates: [{ finishReason: "SAFETY", safetyRatings: [{ category: "X" }] }] }),
    answerOf([{ text: "A" }], {
      candidates: [
        { content: { parts: [{ text: "A" }] }, finishReason: "STOP" },
        { content: { parts: [{ text: "B" }] }, index: 1 },
      ],
    }),
    answerOf([{ somethingNew: { deep: [1] } }, { inlineData: { mimeType: "image/png", data: "AA==" } }]),
    { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } },
  ];
  const requests = [
    {
      parts: {
        settings: {
          model: "gemini-3-flash-preview",
          instructions: "Be exact.",
          tools: [{ name: "n", description: "d", parameters: { type: "object" } }],
        },
        input: [
          user("A"),
          user([
            text("B"),
            image("data:image/png;base64,AA=="),
            audio("BB==", "wav"),
            file({ name: "a.pdf", data: "data:application/pdf;base64,CC==" }),
          ]),
          toolCall({ callId: "toolu_1", name: "n", arguments: '{"b":1,"a":2}' }),
          toolResult({ callId: "toolu_1", output: "1" }),
          assistant("C"),
        ].map((block) => ({ block, withId: false })),
        ...{ anchor: null, transport: "json" },
      },
      body: '{"systemInstruction":{"parts":[{"text":"Be exact."}]},"tools":[{"functionDeclarations":[{"name":"n","description":"d","parametersJsonSchema":{"type":"object"}}]}],"contents":[{"role":"user","parts":[{"text":"A"},{"text":"B"},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"inlineData":{"mimeType":"audio/wav","data":"BB=="}},{"inlineData":{"mimeType":"application/pdf","data":"CC=="}}]},{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"n","args":{"b":1,"a":2}}}]},{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"n","response":{"output":"1"}}}]},{"role":"model","parts":[{"text":"C"}]}]}',
    },
  ];
  for (const { name, run } of codecChecks(codec, { answers, requests })) test(name, run);
});

test("calls of one answer come first, then their results in the order of the calls, and made ids are not sent", () => {
  const [first, second] = received([signed(call(1)), call(2)]);
  if (first?.callId == null || second?.callId == null) throw new Error("there are two calls");
  const results = [
    toolResult({ callId: second.callId, output: "two" }),
    toolResult({ callId: first.callId, output: "one" }),
  ];
  expect(contentsOf([user("Go."), first, second, ...results])).toEqual([
    { role: "user", parts: [{ text: "Go." }] },
    { role: "model", parts: [signed(call(1)), call(2)] },
    {
      role: "user",
      parts: [
        { functionResponse: { name: "f1", response: { output: "one" } } },
        { functionResponse: { name: "f2", response: { output: "two" } } },
      ],
    },
  ]);
});

test("ids that the server gave go with the call and with its result", () => {
  const blocks = received([signed(call(1, { id: "abc" }))]);
  const contents = contentsOf([user("Go."), ...blocks, toolResult({ callId: "abc", output: "one" })]);
  expect(JSON.stringify(contents).match(/"id":"abc"/g)?.length).toBe(2);
});

test("results are a message of their own, before the user's next message", () => {
  const blocks = received([signed(call(1, { id: "abc" }))]);
  const contents = contentsOf([user("Go."), ...blocks, toolResult({ callId: "abc", output: "one" }), user("And?")]);
  expect(isJsonList(contents) ? contents.map((each) => (isJsonObject(each) ? each["role"] : null)) : []).toEqual([
    "user",
    "model",
    "user",
    "user",
  ]);
});

test("images and files that a tool gave are sent beside its texts", () => {
  const blocks = received([signed(call(1, { id: "abc" }))]);
  const output = [text("See."), image("data:image/png;base64,AA=="), image("https://here.example/a.png")];
  const contents = contentsOf([user("Go."), ...blocks, toolResult({ callId: "abc", output })]);
  expect(isJsonList(contents) ? contents[2] : null).toEqual({
    role: "user",
    parts: [
      {
        functionResponse: {
          ...{ id: "abc", name: "f1", response: { output: "See." } },
          parts: [
            { inlineData: { mimeType: "image/png", data: "AA==" } },
            { fileData: { mimeType: "image/png", fileUri: "https://here.example/a.png" } },
          ],
        },
      },
    ],
  });
});

describe("a call without a signature of this endpoint", () => {
  const result = (callId: string) => toolResult({ callId, output: "1" });
  const standIn = "skip_thought_signature_validator";
  const signaturesIn = (blocks: readonly Block[], settings?: JsonObject) =>
    [...JSON.stringify(contentsOf(blocks, settings)).matchAll(/"thoughtSignature":"([^"]+)"/g)].map(
      ([, found]) => found,
    );

  test("goes with what stands for one where it is the first of its step, which is recorded", () => {
    const [own] = received([signed(call(1, { id: "a" }))]);
    if (own === undefined) throw new Error("there is a call");
    const blocks = [
      user("Go."),
      toolCall({ callId: "x", name: "f", arguments: "{}" }),
      toolCall({ callId: "y", name: "f", arguments: "{}" }),
      ...[result("x"), result("y")],
      ...[own.withText('{"n":7}'), result("a")],
      ...received([signed(call(3, { id: "c" }))]),
      result("c"),
    ];
    expect(signaturesIn(blocks)).toEqual([standIn, standIn, "c2lnbmVk"]);
    expect(rules(sent(blocks).repairs)).toEqual([
      ["stand-in", 1, "no-signature"],
      ["stand-in", 5, "no-signature"],
    ]);
  });

  test("goes without where the model does not look", () => {
    const blocks = [user("Go."), toolCall({ callId: "x", name: "f", arguments: "{}" }), result("x")];
    expect(sent(blocks, { model: "gemini-2.5-flash" }).repairs).toEqual([]);
  });

  test("goes without the signature of another endpoint, as texts do", () => {
    const blocks = [
      user("Go."),
      ...received([signed(call(1, { id: "a" }))], "elsewhere"),
      result("a"),
      ...received([signed({ text: "Well." })], "elsewhere"),
    ];
    expect(signaturesIn(blocks)).toEqual([standIn]);
    expect(signaturesIn(blocks, { model: "gemini-2.5-pro" })).toEqual([]);
    expect(rules(sent(blocks).repairs)).toEqual([
      ["stand-in", 1, "foreign-signature"],
      ["stand-in", 3, "foreign-signature"],
    ]);
  });
});

test("shaping leaves out what Gemini cannot read, with the reason", () => {
  const reasons = [
    toolCall({ callId: "x", name: "f", arguments: "[1]" }),
    toolCall({ callId: "x", name: "f", arguments: "{" }),
    other({ type: "custom", callId: "x" }),
    user([{ type: "file", fileId: "file-1" }]),
    user(""),
  ].map((block) => codec.unsendableReason(block, { withId: false }));
  expect(reasons.map((reason) => reason === null)).toEqual([false, false, true, false, false]);
  expect(rules(sent([user("Go."), reasoning("Mine."), other({ type: "web_search_call" })]).repairs)).toEqual([
    ["omit", 1, "edited-item"],
    ["omit", 2, "edited-item"],
  ]);
});

test("instructions within a conversation go as the user's words, and a refusal as the model's, which is recorded", () => {
  const blocks = [user("Go."), assistant([{ type: "refusal", refusal: "No." }]), system("Be kind.")];
  expect(contentsOf(blocks)).toEqual([
    { role: "user", parts: [{ text: "Go." }] },
    { role: "model", parts: [{ text: "No." }] },
    { role: "user", parts: [{ text: "Be kind." }] },
  ]);
  expect(rules(sent(blocks).repairs)).toEqual([
    ["restate", 1, "refusal-as-text"],
    ["restate", 2, "system-as-user"],
  ]);
});

test("a signature that came on a text of nothing goes back so, and stays with the block before", () => {
  const parts = [{ text: "Well." }, signed({ text: "" })];
  const blocks = received(parts);
  expect(blocks.map(({ text: words }) => words)).toEqual(["Well."]);
  const contents = (own: readonly Block[]) => JSON.stringify(contentsOf([user("Go."), ...own, user("And?")]));
  expect(contents(blocks)).toContain(JSON.stringify(parts));
  expect(contents(received(parts, "elsewhere"))).toContain('"parts":[{"text":"Well."}]');
  expect(contents(blocks.map((block) => block.withText("Ill.")))).toContain('"parts":[{"text":"Ill."}]');
});

test("an answer says what it has cost, thoughts among what was said", () => {
  const reported = answerOf([])["usageMetadata"];
  expect(read(answerOf([])).usage).toEqual({
    inputTokens: 3,
    cachedInputTokens: 1,
    outputTokens: 7,
    reasoningTokens: 5,
    reported,
  });
});

test("a blocked prompt and a malformed call are failures; what was cut short is not complete", () => {
  expect(read({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }).failure?.code).toBe("PROHIBITED_CONTENT");
  const ended = (finishReason: string) => read({ candidates: [{ finishReason, finishMessage: "why" }] });
  expect(ended("MALFORMED_FUNCTION_CALL").failure?.message).toMatch(/MALFORMED_FUNCTION_CALL.*why/);
  for (const reason of ["MAX_TOKENS", "SAFETY", "SOMETHING_NEW"]) {
    expect(ended(reason).isComplete).toBe(false);
    expect(ended(reason).failure).toBeUndefined();
  }
});

describe("settings", () => {
  const adjust = (settings: JsonObject, adjustments: JsonObject) => codec.adjust?.(settings, adjustments);

  test("of one run are said in Gemini's words", () => {
    const settings = {
      model: "gemini-3-pro",
      generationConfig: { seed: 1, thinkingConfig: { includeThoughts: true } },
    };
    const adjustments = {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 10,
      reasoningEffort: "low",
      toolChoice: { tool: "f" },
      output: { type: "object" },
      instructions: "Be brief.",
    };
    expect(adjust(settings, adjustments)).toEqual({
      model: "gemini-3-pro",
      instructions: "Be brief.",
      generationConfig: {
        ...{ seed: 1, temperature: 0.5, topP: 0.9, maxOutputTokens: 10 },
        ...{ responseMimeType: "application/json", responseJsonSchema: { type: "object" } },
        thinkingConfig: { includeThoughts: true, thinkingLevel: "low" },
      },
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    });
    expect(adjust({ model: "gemini-3-pro" }, { model: "gemini-2.5-flash", reasoningEffort: "none" })).toEqual({
      ...{ model: "gemini-2.5-flash", generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    });
  });

  test("that Gemini does not have are refused by name", () => {
    expect(() => adjust({ model: "gemini-3-pro" }, { reasoningEffort: "xhigh" })).toThrow(/reasoningEffort is 'xhigh'/);
    expect(() => adjust({}, { parallelToolCalls: false })).toThrow(/parallelToolCalls/);
    expect(() => adjust({}, { toolChoice: "sometimes" })).toThrow(/toolChoice is 'sometimes'/);
  });
});
