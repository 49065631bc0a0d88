import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { message } from "../../../packages/reference-server/src/answers.ts";
import { repairWords } from "../../../src/analysis/descriptions/side-notes.ts";
import type { Block } from "../../../src/domain/block.ts";
import { assistant, system, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { aiSdkCodec } from "../../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../../../src/providers/chat/chat-codec.ts";
import { defineCodec } from "../../../src/providers/codec/define-codec.ts";
import { ollamaCodec } from "../../../src/providers/ollama/ollama-codec.ts";
import { dialects } from "../../support/dialects.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { fullRequest } from "../../support/planning/offline-turns.ts";
import { createWorkshop } from "../../support/workshop.ts";

const picky = {
  anthropic: [messagesCodec, /^[a-zA-Z0-9_-]+$/],
  "chat of Mistral": [chatCodecs.mistral, /^[a-zA-Z0-9]{9}$/],
  "chat of OpenAI": [chatCodecs.openai, /^.{1,40}$/s],
} as const satisfies Readonly<Record<string, readonly [Codec, RegExp]>>;
const names = ["anthropic", "chat of Mistral", "chat of OpenAI"] as const;

const recorded = (...drafts: readonly Block[]): Turn => Turn.of(drafts.map((draft) => draft.withId(freshBlockId())));
const call = (callId: string): Block => toolCall({ callId, name: "f", arguments: "{}" });
const result = (callId: string): Block => toolResult({ callId, output: "done" });

function planned(turn: Turn, codec: Codec) {
  const options = { ...fullRequest, codec };
  const repairs = shape(turn, 0, options);
  return { repairs, sent: shapedBlocks(turn, 0, repairs, options).map(({ block }) => block) };
}

describe.each(names)("on the wire of %s", (name) => {
  const [codec, taken] = picky[name];

  test("a call with an id that the server does not take goes under another, and its result with it", () => {
    const id = `functions.look:0 ${"x".repeat(40)}`;
    const { repairs, sent } = planned(recorded(user("Go."), call(id), result(id), user("On.")), codec);
    const [made, ...others] = new Set(sent.flatMap(({ callId }) => callId ?? []));
    expect(made).toMatch(taken);
    expect(others).toEqual([]);
    expect(repairs).toEqual(
      [1, 2].map((index) => ({ rule: "rename-call", index, detail: { callId: made, reason: "id-not-taken" } })),
    );
    expect(repairs.map(repairWords)[0]).toBe(`block 1 sent as call ${made}: its id is none that the server takes`);
  });

  test("every id is one that the server takes, no two calls have one, and later blocks change no earlier id", () => {
    const ids = fc.array(fc.constantFrom("a", "a", "b.1", "b:1", "c d", "abcdef012", "call_1", "x".repeat(70)), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(ids, (given) => {
        const turn = recorded(user("Go."), ...given.flatMap((id) => [call(id), result(id), user("On.")]));
        const { sent } = planned(turn, codec);
        const calls = sent.flatMap(({ kind, callId }) => (kind === "tool_call" && callId !== null ? [callId] : []));
        const results = sent.flatMap(({ kind, callId }) => (kind === "tool_result" && callId !== null ? [callId] : []));
        for (const id of calls) expect(id).toMatch(taken);
        expect(new Set(calls).size).toBe(given.length);
        expect(results).toEqual(calls);
        for (let length = 1; length < turn.length; length += 3)
          expect(planned(turn.slice(length), codec).sent.map(({ payload }) => payload)).toEqual(
            sent.slice(0, length).map(({ payload }) => payload),
          );
        expect(planned(Turn.of(sent), codec).repairs).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  test("a call that nothing answers is answered under the id that it goes under", () => {
    const { sent } = planned(recorded(user("Go."), call("b.1 of another"), user("On.")), codec);
    const [called, answered] = sent.flatMap(({ callId }) => callId ?? []);
    expect(answered).toBe(called);
  });
});

test("a codec that gives one id to different calls is an error", () => {
  const codec = defineCodec({
    ...{ name: "one-id/1", callIdFor: () => "one", encodeRequest: () => "", writeAnswer: () => ({}) },
    readAnswer: () => ({ id: null, status: null, isComplete: true, blocks: [], rest: {} }),
  });
  const turn = recorded(user("Go."), call("a"), result("a"), call("b"), result("b"));
  expect(() => planned(turn, codec)).toThrow("callIdFor must return different ids");
});

test("a conversation of another provider's ids is accepted by a server that takes none of them", async () => {
  const dialect = dialects.anthropic;
  await using front = await dialect.start(() => ({ output: [message("Done.")] }));
  const { conversation } = createWorkshop({ codecs: dialect.codecs });
  await conversation.append([user("Go."), call("functions.look:0"), result("functions.look:0")]);
  const engine = createEngine({
    provider: dialect.provider(front.url, { model: "claude-opus-4-6", transport: "json" }),
  });
  expect((await conversation.run(engine)).text).toBe("Done.");
  await conversation.append("And?");
  await conversation.run(engine);
  const ids = front.requests.map(({ bodyText }) => /"tool_use_id":"([^"]*)"/.exec(bodyText)?.[1]);
  expect(ids[0]).toMatch(/^toolu_/);
  expect(ids[1]).toBe(ids[0]);
});

test("a developer who is the system's is one on record, where the wire has no developers", () => {
  const rules = (codec: Codec) =>
    planned(recorded(system("Be brief.", "developer"), user("Go.")), codec).repairs.map(({ rule, detail }) => [
      rule,
      detail["reason"],
    ]);
  for (const codec of [chatCodecs.vllm, messagesCodec, ollamaCodec, aiSdkCodec])
    expect(rules(codec)).toEqual([["restate", "role"]]);
  expect(rules(chatCodecs.openai)).toEqual([]);
});

test("text that the model said after a call comes before it in its message, and that is recorded", () => {
  const wire = (index: number) => ({ scope: fullRequest.scope, group: { id: "inf_1", index, size: 2, stored: false } });
  const turn = recorded(user("Go."), call("a").withWire(wire(0)), assistant("Looking.").withWire(wire(1)), result("a"));
  expect(planned(turn, chatCodecs.openai).repairs).toEqual([
    { rule: "restate", index: 2, detail: { reason: "order" } },
  ]);
});
