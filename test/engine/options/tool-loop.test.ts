import { expect, test } from "vitest";
import * as z from "zod";
import { toolCall, toolResult } from "../../../src/domain/make-block.ts";
import { toolLoop } from "../../../src/engine/options/tool-loop.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { add, calling, resultsOf, run } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf } from "../../support/workshop.ts";

const counting = (name: string, seen: string[]): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => (turn) => {
    seen.push(`${name} ${turn.length}`);
    return next(turn);
  });

test("calls that share a call id get their own results, in order", async () => {
  let count = 0;
  const next = tool({ name: "next", description: "Counts.", inputSchema: z.object({}), execute: () => (count += 1) });
  const { turn, outcome } = await run([calling(["next", "{}", "same"]), calling(["next", "{}", "same"]), "done"], {
    tools: [next],
  });
  expect(outcome).toMatchObject({ status: "completed" });
  expect(resultsOf(turn)).toEqual(["1", "2"]);
});

test("one answer that calls twice under one call id runs both and answers both", async () => {
  let count = 0;
  const next = tool({ name: "next", description: "Counts.", inputSchema: z.object({}), execute: () => (count += 1) });
  const { turn } = await run([calling(["next", "{}", "same"], ["next", "{}", "same"]), "done"], { tools: [next] });
  expect(resultsOf(turn)).toEqual(["1", "2"]);
});

test("the loop ends where it may ask no more, and what it did remains", async () => {
  const again = Array.from({ length: 5 }, (_, n) => calling(["add", `{"left": ${n}}`, `c${n}`]));
  const { outcome, turn, events } = await run(again, { maxSteps: 3 });
  expect(outcome).toMatchObject({ code: "run-failed", kind: "iteration-limit", cause: { code: "iteration-limit" } });
  expect(dataOf(events, "InferenceRequested")).toHaveLength(3);
  expect(resultsOf(turn)).toEqual(["1", "2", "3"]);
});

test("calls that the loop cannot run are left to the app, with the results of the others", async () => {
  const click = {
    type: "computer_call",
    id: "cu_1",
    call_id: "cu",
    status: "completed",
    action: { type: "screenshot" },
  };
  const answer: ScriptedAnswer = { items: [click], calls: [{ name: "add", arguments: { left: 1 } }] };
  const { outcome, provider, turn } = await run([answer, "never asked for"]);
  expect(outcome).toMatchObject({ status: "calls-open", openCalls: [{ type: "computer_call" }] });
  expect(provider.requests).toHaveLength(1);
  expect(resultsOf(turn)).toEqual(["2"]);
});

test("every layer sees every step, tool results included, unless the loop is placed within it", async () => {
  const seen: string[] = [];
  const middleware = [counting("outside", seen), toolLoop([add]), counting("inside", seen)];
  await run([calling(["add", '{"left": 1}']), "done"], { tools: [], middleware });
  expect(seen).toEqual(["outside 1", "inside 1", "inside 3"]);
  seen.length = 0;
  await run([calling(["add", '{"left": 1}']), "done"], { middleware: [counting("inside", seen)] });
  expect(seen).toEqual(["inside 1", "inside 3"]);
});

test("a loop placed by hand keeps its own limit", async () => {
  const again = Array.from({ length: 5 }, (_, n) => calling(["add", `{"left": ${n}}`, `c${n}`]));
  const { outcome, events } = await run(again, { tools: [], middleware: [toolLoop([add], { maxSteps: 2 })] });
  expect(outcome).toMatchObject({ kind: "iteration-limit" });
  expect(dataOf(events, "InferenceRequested")).toHaveLength(2);
});

test("a call is not taken for answered because an earlier one of its id was", async () => {
  let count = 0;
  const next = tool({ name: "next", description: "Counts.", inputSchema: z.object({}), execute: () => (count += 1) });
  // Answers the first call itself, and hands the second one out.
  const ahead = defineMiddleware({ name: "ahead", version: "1.0.0" }, (inward) => async (turn, ctx) => {
    const first = await inward(turn);
    const call = first.last;
    return call?.kind === "tool_call" && turn.length === 1 ? inward(first.append(await ctx.tool(call))) : first;
  });
  const answers = [calling(["next", "{}", "same"]), calling(["next", "{}", "same"]), "done"];
  const { turn, outcome } = await run(answers, { tools: [next], middleware: [ahead] });
  expect(outcome).toMatchObject({ status: "completed", text: "done" });
  expect(resultsOf(turn)).toEqual(["1", "2"]);
});

test("a call that no response made is left to the app", async () => {
  const forged = toolCall({ callId: "forged", name: "add", arguments: '{"left": 1}' });
  const forge = defineMiddleware(
    { name: "forge", version: "1.0.0" },
    (next) => async (turn) => (await next(turn)).append(forged),
  );
  const { outcome, turn, events } = await run(["an answer"], { middleware: [forge] });
  expect(outcome).toMatchObject({ status: "calls-open", openCalls: [{ callId: "forged" }] });
  expect(turn.last).toMatchObject({ kind: "tool_call", callId: "forged" });
  expect(dataOf(events, "ToolStarted")).toEqual([]);
});

test("a call of a tool that the settings offer, and the engine does not have, is left to the app", async () => {
  const offered = { type: "function", name: "approve", parameters: { type: "object", properties: {} } };
  const provider = scripted([calling(["add", '{"left":1}', "c1"], ["approve", "{}", "c2"]), "approved"], {
    settings: { model: "scripted", tools: [offered] },
  });
  const { conversation, ...workshop } = createWorkshop();
  const engine = workshop.engine({ provider, tools: [add] });
  await conversation.append("hello");
  const open = await conversation.run(engine);
  expect(open).toMatchObject({ status: "calls-open", openCalls: [{ name: "approve", callId: "c2" }] });
  expect(resultsOf(await open.turn())).toEqual(["2"]);
  await conversation.append(toolResult({ callId: "c2", output: "yes" }), { actor: { kind: "app" } });
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "approved" });
});

test("a call of a tool that was not offered returns an error to the model", async () => {
  const { outcome, turn } = await run([calling(["made-up", "{}"]), "sorry"]);
  expect(outcome).toMatchObject({ status: "completed", text: "sorry" });
  expect(resultsOf(turn)).toEqual(["Error: there is no tool named made-up"]);
});
