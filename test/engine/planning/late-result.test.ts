import { expect, test } from "vitest";
import type { JsonValue } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { image, text, toolResult } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { type ShapeOptions, shape } from "../../../src/engine/planning/shape.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { fullRequest } from "../../support/planning/offline-turns.ts";
import { asks, fc, msg, response, result, sent, turnOf } from "../../support/planning/shape-builders.ts";

const lead = "[Result of your earlier call f({}), which was not there before:]";

const gave = (callId: string, output: JsonValue): Block => toolResult({ callId, output }).withId(freshBlockId());

/** What the last block of a request says. */
function lastSaid(turn: Turn, from = 0, options: Partial<ShapeOptions> = {}): unknown {
  const all = { ...fullRequest, ...options };
  return shapedBlocks(turn, from, shape(turn, from, all), all).at(-1)?.block.payload["content"];
}

test("a result that a message separates from its call is said by a user's message that names the call", () => {
  const turn = turnOf(asks(), response("a", [fc("call_a")]), asks(), result("call_a"));
  expect(sent(turn)).toBe("user function_call:fc_call_a:call_a function_call_output:call_a:aborted user user");
  expect(lastSaid(turn)).toEqual([text(`${lead}\ndone`)]);
  expect(shape(turn, 0, { ...fullRequest })).toContainEqual({ rule: "late-result", index: 3, detail: { call: 1 } });
});

test("it is said so behind an anchor that holds the call as aborted, however long ago", () => {
  const turn = turnOf(asks(), response("a", [fc("call_a")]), asks(), response("b", [msg()]), result("call_a"));
  expect(sent(turn, 4, { heldFrom: 3 })).toBe("user");
  expect(lastSaid(turn, 4, { heldFrom: 3 })).toEqual([text(`${lead}\ndone`)]);
  const further = turnOf(...turn.blocks.slice(0, 4), asks(), response("c", [msg(2)]), asks(), result("call_a"));
  expect(sent(further, 6, { heldFrom: 5 })).toBe("user user");
});

test("it is said so where the answer behind the call is the anchor's own, and the request that came before ended with the call", () => {
  const turn = turnOf(asks(), response("a", [fc("call_a")]), response("b", [msg()]), result("call_a"));
  expect(sent(turn, 3, { heldFrom: 2 })).toBe("user");
});

test("it is said once: a second result, and one of a call that was answered, are left out", () => {
  const call = response("a", [fc("call_a")]);
  expect(sent(turnOf(call, asks(), result("call_a"), result("call_a")))).toMatch(/:aborted user user$/);
  expect(sent(turnOf(call, result("call_a"), asks(), result("call_a")))).toMatch(/output:call_a user$/);
  const told = turnOf(call, asks(), result("call_a"), response("b", [msg()]), asks(), result("call_a"));
  expect(sent(told, 4, { heldFrom: 3 })).toBe("user");
});

test("each of several late results names its own call, by what it was called with", () => {
  const calls = response("a", [fc("call_a", { arguments: '{"n":1}' }), fc("call_b", { arguments: '{"n":2}' })]);
  const turn = turnOf(asks(), calls, asks(), gave("call_b", "two"), gave("call_a", "one"));
  const said = shapedBlocks(turn, 0, shape(turn, 0, fullRequest), fullRequest).map(({ block }) => block.text);
  expect(said.slice(-2)).toEqual([
    '[Result of your earlier call f({"n":2}), which was not there before:]\ntwo',
    '[Result of your earlier call f({"n":1}), which was not there before:]\none',
  ]);
});

test("its parts follow the text that names the call, data is its JSON, and long arguments are shortened", () => {
  const after = (output: JsonValue, more: Record<string, string> = {}) =>
    lastSaid(turnOf(asks(), response("a", [fc("call_a", more)]), asks(), gave("call_a", output)));
  const chart = image("https://charts.example/1.png");
  expect(after([text("A chart:"), chart])).toEqual([text(lead), text("A chart:"), chart]);
  expect(after({ rows: [1, 2] })).toEqual([text(`${lead}\n{"rows":[1,2]}`)]);
  const long = JSON.stringify({ of: "x".repeat(5_000) });
  expect(after("done", { arguments: long })).toEqual([
    text(`[Result of your earlier call f(${long.slice(0, 1_000)}…), which was not there before:]\ndone`),
  ]);
});

test("what only its provider has a form for is left out as before, for no message could say it", () => {
  const turn = turnOf(asks(), response("a", [fc("call_a")]), asks(), result("call_a", { type: "shell_call_output" }));
  expect(sent(turn)).toMatch(/:aborted user$/);
});

test("a result in time stays a result, also after a result without a call", () => {
  const turn = turnOf(asks(), response("a", [fc("call_a")]), result("call_z"), result("call_a"), asks());
  expect(sent(turn)).toBe("user function_call:fc_call_a:call_a function_call_output:call_a user");
});
