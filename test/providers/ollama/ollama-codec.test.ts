import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { blockFromJson, blockJsonSchema, blockToJson } from "../../../src/domain/block-json.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { blocksOf } from "../../../src/engine/planning/response.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import {
  assistant,
  other,
  type RequestParts,
  reasoning,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from "../../../src/entries/provider.ts";
import { codecChecks } from "../../../src/entries/testing.ts";
import { ollamaCodec } from "../../../src/providers/ollama/ollama-codec.ts";
import { jsonValue } from "../../support/base/arbitrary-json.ts";
import { cases, firstSeed } from "../../support/cases.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";

const callOf = (of: string, id?: string): JsonObject => ({
  ...(id === undefined ? {} : { id }),
  function: { index: 0, name: "look-up", arguments: { of } },
});
const counts = { total_duration: 12, load_duration: 3, prompt_eval_count: 9, eval_count: 4 };
const end = { model: "m", created_at: "2026-11-20T10:00:00Z", done: true, done_reason: "stop" };

const answers: readonly JsonObject[] = [
  { ...end, message: { role: "assistant", content: "Hello." }, ...counts },
  { ...end, message: { role: "assistant", content: "", thinking: "Hm.", tool_calls: [callOf("a", "call_12345678")] } },
  // An older server: calls without ids, no reason, no counts.
  { model: "m", message: { role: "assistant", content: "Two.", tool_calls: [callOf("a"), callOf("b")] }, done: true },
  { ...end, done_reason: "length", message: { role: "assistant", content: "Hel" }, ...counts },
  { ...end, done_reason: "load", message: { role: "assistant", content: "" } },
  { ...end, message: { role: "assistant", content: "x", mood: "calm", tool_calls: [7, { function: {} }] }, odd: [1] },
  { done: true, message: "no object" },
  { error: "out of memory" },
];

const parts: RequestParts = {
  settings: {
    ...{ model: "m", instructions: "Be brief.", options: { num_ctx: 4096 }, think: "low" },
    tools: [{ name: "look-up", description: "Looks up.", parameters: { type: "object" } }],
  },
  input: [
    system("Be exact.", "developer"),
    user([text("Which?"), { type: "image", url: "data:image/png;base64,QUJD" }]),
    reasoning("Hm."),
    assistant("I look."),
    toolCall({ callId: "call_1", name: "look-up", arguments: '{"of": 12345678901234567890}' }),
    toolCall({ callId: "call_2", name: "look-up", arguments: "{}" }),
    toolResult({ callId: "call_2", output: "two" }),
    toolResult({ callId: "call_1", output: [text("one")] }),
  ].map((block) => ({ block, withId: false })),
  ...{ anchor: null, transport: "ndjson" },
};
const body =
  '{"model":"m","options":{"num_ctx":4096},"think":"low","messages":[{"role":"system","content":"Be brief."},{"role":"system","content":"Be exact."},{"role":"user","content":"Which?","images":["QUJD"]},{"role":"assistant","content":"I look.","thinking":"Hm.","tool_calls":[{"id":"call_1","function":{"name":"look-up","arguments":{"of":12345678901234567890}}},{"id":"call_2","function":{"name":"look-up","arguments":{}}}]},{"role":"tool","content":"two","tool_name":"look-up","tool_call_id":"call_2"},{"role":"tool","content":"one","tool_name":"look-up","tool_call_id":"call_1"}],"tools":[{"type":"function","function":{"name":"look-up","description":"Looks up.","parameters":{"type":"object"}}}],"stream":true,"truncate":false,"shift":false}';

describe("the codec of Ollama", () => {
  for (const { name, run } of codecChecks(ollamaCodec, { answers, requests: [{ parts, body }] })) test(name, run);

  test("tells an answer that is whole from one that stops in the middle, says nothing, has calls that cannot be read, or fails", () => {
    expect(answers.map((answer) => read(answer).isComplete)).toEqual([
      ...[true, true, true, false, false, false, true, false],
    ]);
    expect(read(answers[5] ?? {}).failure).toMatchObject({ code: "unreadable-call" });
    expect(read(answers[7] ?? {}).failure).toEqual({ message: "out of memory", code: null });
  });

  test("counts what it read and wrote", () => {
    expect(read(answers[0] ?? {}).usage).toEqual({
      ...{ inputTokens: 9, cachedInputTokens: 0, outputTokens: 4 },
      reported: counts,
    });
    expect(read(answers[1] ?? {}).usage).toBeUndefined();
  });

  test("gives calls without an id one that is the same whenever the answer is read", () => {
    const ids = read(answers[2] ?? {}).blocks.flatMap(({ payload }) => payload["callId"] ?? []);
    expect(ids).toEqual(["call_inf_1_0", "call_inf_1_1"]);
  });
});

describe("what Ollama has no form for", () => {
  test("is left out, and the decision says so", () => {
    const blocks = [
      user("A"),
      user([{ type: "file", fileId: "file_1" }]),
      user([{ type: "image", url: "https://example.org/a.png" }]),
      new Block({ id: null, kind: "reasoning", payload: { type: "reasoning", summary: [] } }),
      assistant([{ type: "refusal", refusal: "No." }]),
      toolCall({ callId: "c", name: "n", arguments: "[1]" }),
      other({ type: "web_search_call" }),
    ];
    const { sent, repairs } = shaped(blocks);
    expect(sent).toEqual([{ role: "user", content: "A" }]);
    expect(repairs).toEqual([1, 2, 3, 4, 5, 6].map((n) => `omit ${n} "unsendable"`));
  });

  test("is put otherwise where it can be, and the decision says so: the order within a message, joined texts, the developer", () => {
    const group = { id: "inf_1", index: 0, size: 1, stored: false };
    const blocks = [
      system("Be exact.", "developer"),
      user([text("A"), text("B")]),
      assistant("One."),
      reasoning("Hm.").withWire({ scope: "s", group }),
      assistant("Two."),
      toolCall({ callId: "c", name: "n", arguments: "{}" }),
      assistant("Three."),
      toolResult({ callId: "c", output: "done" }),
    ];
    const { sent, repairs } = shaped(blocks);
    expect(sent.slice(1)).toEqual([
      { role: "user", content: "A\n\nB" },
      {
        ...{ role: "assistant", content: "One.\n\nTwo.\n\nThree.", thinking: "Hm." },
        tool_calls: [{ id: "c", function: { name: "n", arguments: {} } }],
      },
      { role: "tool", content: "done", tool_name: "n", tool_call_id: "c" },
    ]);
    expect(repairs).toEqual([
      ...['restate 0 "role"', 'restate 1 "joined-parts"', 'restate 3 "order"', 'restate 6 "order"'],
    ]);
  });

  test("of calls that nothing answers is not mistaken for what the model said in one message", () => {
    const blocks = [toolCall({ callId: "c", name: "n", arguments: "{}" }), user("Stop."), assistant("Yes.")];
    expect(shaped(blocks).repairs).toEqual(['answer 0 "c"']);
  });
});

describe("settings", () => {
  const adjust = (adjustments: Parameters<NonNullable<typeof ollamaCodec.adjust>>[1]): JsonObject =>
    ollamaCodec.adjust?.({ model: "m", options: { num_ctx: 1 } }, adjustments) ?? {};

  test("of a run are those of Ollama", () => {
    const output = { type: "object", properties: {} };
    const given = { model: "n", temperature: 0, topP: 1, maxOutputTokens: 9, output, reasoningEffort: "high" };
    expect(adjust(given)).toEqual({
      ...{ model: "n", format: output, think: "high" },
      options: { num_ctx: 1, temperature: 0, top_p: 1, num_predict: 9 },
    });
    expect(adjust({ reasoningEffort: "none", toolChoice: "auto", parallelToolCalls: true })["think"]).toBe(false);
  });

  test.each([
    [{ toolChoice: "required" }, /^Ollama has no counterpart of toolChoice/],
    [{ parallelToolCalls: false }, /^Ollama has no counterpart of parallelToolCalls/],
    [{ reasoningEffort: "xhigh" }, /^Ollama has no reasoningEffort 'xhigh': give none, low/],
  ] as const)("that it has no counterpart of are refused by name: %j", (adjustments, message) => {
    expect(() => adjust(adjustments)).toThrow(message);
  });
});

const text8 = fc.string({ unit: "binary", minLength: 1, maxLength: 8 }).filter((each) => each.isWellFormed());
const argumentsText = fc
  .dictionary(fc.string({ maxLength: 3 }), jsonValue, { maxKeys: 3 })
  .map((object) => JSON.stringify(object));
const call = fc.record({ callId: text8, name: text8, arguments: argumentsText }).map(toolCall);
const saidAtOnce = fc
  .tuple(
    fc.option(text8.map(reasoning)),
    fc.option(text8.map((said) => assistant(said))),
    fc.array(call, { maxLength: 3 }),
  )
  .map(([thought, said, calls]) => [thought, said, ...calls].filter((block) => block !== null));

describe("laws", () => {
  const options = { numRuns: cases(300, 20_000), seed: firstSeed };

  test("what a model says at once is one message, which reads as the same blocks", () => {
    fc.assert(
      fc.property(saidAtOnce, (blocks) => {
        const [message] = messagesIn(ollamaCodec.encodeRequest({ ...parts, settings: {}, input: sendable(blocks) }));
        const told = blocks.length === 0 ? { role: "assistant", content: "" } : message;
        const read = stored({ ...end, message: told ?? {} });
        expect(read.map(({ digest }) => digest)).toEqual(blocks.map(({ digest }) => digest));
      }),
      options,
    );
  });

  test("whatever an answer holds is given back", () => {
    const message = fc.oneof(
      fc.record(
        {
          role: jsonValue,
          content: fc.oneof(text8, jsonValue),
          thinking: fc.oneof(text8, jsonValue),
          tool_calls: jsonValue,
        },
        { requiredKeys: [] },
      ),
      jsonValue,
    );
    const members = {
      message,
      done: jsonValue,
      done_reason: jsonValue,
      error: jsonValue,
      eval_count: jsonValue,
      x: jsonValue,
    };
    fc.assert(
      fc.property(fc.record(members, { requiredKeys: [] }), (drawn) => {
        const answer = parseJson(JSON.stringify(drawn));
        if (!isJsonObject(answer)) throw new Error("an answer is an object");
        const written = ollamaCodec.writeAnswer({ ...read(answer), blocks: stored(answer) });
        expect(canonicalJson(written)).toBe(canonicalJson(answer));
      }),
      options,
    );
  });
});

function read(answer: JsonObject) {
  return ollamaCodec.readAnswer(answer, { inferenceId: "inf_1", settings: {}, capabilities: {} });
}

/** The blocks of an answer, as the log gives them back. */
function stored(answer: JsonObject): readonly Block[] {
  const from = { scope: "s", inferenceId: "inf_1", isMasked: false, newBlockId: freshBlockId, names: plainNames };
  return blocksOf(read(answer), from).map((block) =>
    blockFromJson(blockJsonSchema.parse(parseJson(JSON.stringify(blockToJson(block))))),
  );
}

function sendable(blocks: readonly Block[]): RequestParts["input"] {
  return blocks.map((block) => {
    expect(ollamaCodec.unsendableReason(block, { withId: false })).toBeNull();
    return { block, withId: false };
  });
}

function shaped(drafts: readonly Block[]) {
  const turn = Turn.of(drafts.map((block) => block.withId(freshBlockId())));
  const options = { codec: ollamaCodec, scope: "s", itemIds: false };
  const repairs = shape(turn, 0, { ...options, quarantined: new Set(), heldFrom: 0, settings: {} });
  const input = shapedBlocks(turn, 0, repairs, options);
  return {
    sent: messagesIn(ollamaCodec.encodeRequest({ ...parts, settings: {}, input })),
    repairs: repairs.map(
      ({ rule, index, detail }) => `${rule} ${index} ${JSON.stringify(detail["reason"] ?? detail["callId"])}`,
    ),
  };
}

function messagesIn(bodyText: string): readonly JsonObject[] {
  const told = parseJson(bodyText);
  const messages = isJsonObject(told) ? told["messages"] : [];
  return Array.isArray(messages) ? messages.filter(isJsonObject) : [];
}
