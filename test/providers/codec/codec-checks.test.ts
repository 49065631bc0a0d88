import { describe, expect, test } from "vitest";
import { messageOf } from "../../../src/base/error-message.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Codec, system, toolCall, toolResult, user } from "../../../src/entries/provider.ts";
import { type CodecSamples, codecChecks } from "../../../src/entries/testing.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { type ScriptedAnswer, scriptedResponse } from "../../../src/providers/scripted/scripted-answer.ts";
import { toyCodec } from "../../support/toy/dialect/codec.ts";

const scriptedAnswer = (answer: Exclude<ScriptedAnswer, string>): JsonObject =>
  scriptedResponse(answer, {
    body: { model: "m", include: ["reasoning.encrypted_content"] },
    tag: "t",
    number: 0,
    inputTokens: 1,
    cachedTokens: 0,
  });

const calls = [
  { name: "look-up", arguments: { of: "this" } },
  { name: "look-up", arguments: "{}" },
];

const toyAnswers: readonly JsonObject[] = [
  { parts: [{ say: "Hello.", mood: "calm" }], stop: "done", counts: { read: 1, said: 2, spared: 3 }, made: "by a toy" },
  {
    parts: [
      { think: "Hm.", seal: "x" },
      { call: "look-up", with: "{}" },
      { call: "look-up", with: "[]" },
    ],
    stop: "done",
  },
  { parts: [{ think: "Hm." }, { seen: { deep: [1] } }, { say: "Seen." }], stop: "done" },
  { parts: [{ say: "Hel" }], stop: "cut off" },
  { parts: [], stop: "failed", trouble: "no answer" },
];

const callId = "inf_1/0";
const input = [
  system("Be exact."),
  user("A"),
  user("B"),
  toolCall({ callId, name: "n", arguments: "{}" }),
  toolResult({ callId, output: "1" }),
];
const parts = {
  settings: { model: "toy", tools: [] },
  input: input.map((block) => ({ block, withId: false })),
  ...{ anchor: null, transport: "json" },
};
const body =
  '{"model":"toy","tools":[],"talk":[{"who":"system","parts":[{"say":"Be exact."}]},{"who":"user","parts":[{"say":"A"},{"say":"B"}]},{"who":"model","parts":[{"call":"n","with":"{}"}]},{"who":"user","parts":[{"result":"1","of":0}]}]}';

const samples: readonly (readonly [Codec, CodecSamples])[] = [
  [
    responsesCodec,
    {
      answers: [
        scriptedAnswer({ text: "Hello." }),
        scriptedAnswer({ reasoning: "Hm.", calls }),
        scriptedAnswer({ text: "Hel", status: "incomplete" }),
      ],
    },
  ],
  [toyCodec, { answers: toyAnswers, requests: [{ parts, body }] }],
];

for (const [codec, given] of samples)
  describe(`the codec ${codec.name}`, () => {
    for (const { name, run } of codecChecks(codec, given)) test(name, run);
  });

/** As JavaScript would: the type asks for it. */
const noRest: object = { rest: undefined };
let asked = 0;
const faults: readonly (readonly [string, Partial<Codec>, RegExp, RegExp])[] = [
  [
    "loses a member",
    { writeAnswer: ({ rest: _, ...answer }) => toyCodec.writeAnswer({ ...answer, rest: {} }) },
    /^gives an answer back/,
    /^answer\.made came as "by a toy", and writeAnswer gives null: return in readAnswer's rest what the blocks do not hold, or/,
  ],
  [
    "adds a member that is null",
    { writeAnswer: (answer) => ({ ...toyCodec.writeAnswer(answer), more: null }) },
    /^gives an answer back/,
    /^writeAnswer leaves out or adds a member that is null: return in readAnswer's rest/,
  ],
  [
    "forgets a member of its answer",
    { readAnswer: (...given) => ({ ...toyCodec.readAnswer(...given), ...noRest }) },
    /^gives an answer back/,
    /^readAnswer returned undefined as rest: give what the blocks do not hold, or \{\}/,
  ],
  [
    "encodes otherwise each time",
    { encodeRequest: (given) => `${toyCodec.encodeRequest(given)}${" ".repeat(asked++)}` },
    /^sends a whole answer/,
    /^encodeRequest returns other bytes when it is called again: it must not depend on a clock/,
  ],
  [
    "pauses, and says nowhere that it may",
    { readAnswer: (...given) => ({ ...toyCodec.readAnswer(...given), isPaused: true }) },
    /^has the engine ask on where the server paused/,
    /^isPaused is true, but mayPause is not/,
  ],
  ["offers nothing", { offer: (settings) => settings }, /^offers tools/, /^the tool look-up was offered/],
  [
    "pairs nothing",
    { pairs: { ...toyCodec.pairs, keyOf: () => null } },
    /^answers a call that nobody answers/,
    /^pairs does not match the result that the engine gives a call to that call/,
  ],
  [
    "refuses what it answered",
    { unsendableReason: ({ kind }) => (kind === "tool_call" ? "no" : null) },
    /^sends a whole answer/,
    /is sent with the repair omit.*, not unchanged/,
  ],
  [
    "writes other bytes",
    { encodeRequest: (given) => `${toyCodec.encodeRequest(given)} ` },
    /^encodes request 0/,
    /^toy\/1 writes other bytes than before: give the new bytes another codec name/,
  ],
];

test.each(faults)("a codec that %s fails the check that says so, and what to do", async (_, fault, name, says) => {
  const failed: (readonly [string, string])[] = [];
  for (const check of codecChecks({ ...toyCodec, ...fault }, { answers: toyAnswers, requests: [{ parts, body }] }))
    await check.run().catch((error: unknown) => failed.push([check.name, messageOf(error)]));
  expect(failed.filter(([check, message]) => name.test(check) && says.test(message))).not.toEqual([]);
});
