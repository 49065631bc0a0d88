import { expect, test } from "vitest";
import { isObject, objectsOf } from "../../../packages/reference-server/src/wire.ts";
import type { ReasoningBlock } from "../../../src/analysis/time-travel/reasoning-forecast.ts";
import { system, user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { thinkingTalk, thoughtsRead } from "../../support/reasoning/thinking-talk.ts";
import { rejectionOf } from "../../support/workshop.ts";

/** A layer that edits what goes to the model. */
const editing = (name: string, edit: (turn: Turn) => Turn): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => (turn) => next(edit(turn)));

const shout = editing("shout", (turn) => turn.replaceEach(turn.blocks.slice(0, 1), (block) => block.withText("ONE")));
const aside = editing("aside", (turn) => turn.insertOnce("aside", user("by the way"), 3));

const fates = (blocks: readonly ReasoningBlock[]) =>
  blocks.map(({ index, prefix, fate, reason }) => [index, prefix, fate, reason]);

test("reasoning with an unchanged prefix is accepted, chained or sent again", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.say("one");
  await talk.say("two");
  await talk.say("three", { mode: "stateless" });
  const { blocks, told } = await talk.conversation.reasoning();
  expect(fates(blocks)).toEqual([
    [1, "intact", "accepted", null],
    [4, "intact", "accepted", null],
  ]);
  expect(told).toEqual([]);
  expect(thoughtsRead(talk.server)).toBe(2);
});

test("each layer that broke a beginning is named, with the block that it changed", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.say("one");
  await talk.say("two");
  await talk.say("three", { middleware: [aside] });
  const inserted = await talk.conversation.reasoning();
  expect(fates(inserted.blocks)).toEqual([
    [1, "intact", "accepted", null],
    [5, "broken", "withheld", "prefix"],
  ]);
  expect(inserted.blocks[1]?.brokenBy).toMatchObject([
    { what: "blocks", actor: { kind: "middleware", name: "aside" }, divergence: { index: 3, change: "inserted" } },
  ]);
  expect(inserted.blocks.map(({ withheld, isSurprise }) => [withheld, isSurprise])).toEqual([
    [null, false],
    ["prefix", false],
  ]);
  expect(thoughtsRead(talk.server)).toBe(1);
  await talk.say("four", { middleware: [shout] });
  const edited = await talk.conversation.reasoning();
  expect(edited.blocks.map(({ fate }) => fate)).toEqual(["withheld", "withheld", "withheld"]);
  expect(edited.blocks.map(({ brokenBy }) => brokenBy[0]?.divergence?.index)).toEqual([0, 0, 0]);
  expect(edited.blocks[0]?.brokenBy[0]?.actor).toMatchObject({ name: "shout" });
});

test("a change of the instructions, tools or model is distinguished from an edit", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  const mind = defineMiddleware({ name: "mind", version: "1.0.0" }, (next) => (turn, ctx) => {
    ctx.instructions("Mind the gap.");
    return next(turn);
  });
  await talk.say("one");
  await talk.say("two", { middleware: [mind] });
  const [instructed] = (await talk.conversation.reasoning()).blocks;
  expect(instructed).toMatchObject({ prefix: "broken", fate: "withheld", reason: "prefix", withheld: "prefix" });
  expect(instructed?.brokenBy).toMatchObject([{ what: "instructions", actor: { name: "mind" }, divergence: null }]);
  const search = { type: "web_search" } as const;
  await talk.say("three", {}, { tools: [search] });
  const [tooled] = (await talk.conversation.reasoning()).blocks;
  expect(tooled?.brokenBy.map(({ what }) => what)).toEqual(["tools"]);
});

test("system blocks that the instructions say are blamed on who changed them", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.conversation.append(system("Be brief."));
  const politely = editing("politely", (turn) =>
    turn.map((block) => (block.kind === "system" ? block.withText("Be kind.") : block)),
  );
  await talk.say("one", {}, { systemAs: "instructions" });
  await talk.say("two", { middleware: [politely] }, { systemAs: "instructions" });
  const [block] = (await talk.conversation.reasoning()).blocks;
  expect(block).toMatchObject({ index: 2, fate: "withheld" });
  expect(block?.brokenBy).toMatchObject([{ what: "instructions", actor: { name: "politely" } }]);
});

test("reasoning of earlier turns is withheld where a request asks for the current turn only", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.say("one");
  await talk.say("two", {}, { reasoning: { context: "current_turn" } });
  const { blocks } = await talk.conversation.reasoning();
  expect(fates(blocks)).toEqual([[1, "intact", "withheld", "turn-boundary"]]);
  expect(blocks[0]).toMatchObject({ withheld: "turn-boundary", isSurprise: false });
});

test("deviations of a server from the forecast are reported, both ways", async () => {
  const talk = await thinkingTalk();
  await talk.say("one");
  await talk.say("two", { middleware: [shout] });
  const silent = await talk.conversation.reasoning();
  expect(silent.blocks).toMatchObject([{ fate: "withheld", withheld: null, isSurprise: true }]);
  talk.server.inject({ kind: "withhold", reason: "organization_mismatch" });
  await talk.say("three", {}, { capabilities: { reasoningPrefix: "ignore" } });
  const strict = await talk.conversation.reasoning();
  expect(strict.blocks.map(({ fate, withheld, isSurprise }) => [fate, withheld, isSurprise])).toEqual([
    ["accepted", "organization", true],
    ["accepted", "organization", true],
  ]);
});

test("a request without an answer is compared with nothing", async () => {
  const talk = await thinkingTalk();
  await talk.say("one");
  talk.server.inject({ kind: "answer", status: 400, body: { error: { message: "no" } } });
  await rejectionOf(talk.say("two"));
  expect(await talk.conversation.reasoning()).toMatchObject({ told: null, blocks: [{ isSurprise: false }] });
});

test("what the model did not get is a loss of the run", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.say("one");
  await talk.conversation.append("two");
  const result = await talk.conversation.run(talk.engine({ provider: talk.provider(), middleware: [shout] }));
  expect(result.losses).toMatchObject([{ kind: "withheld-reasoning", withheld: [{ reason: "prefix" }] }]);
});

test("past.reasoning() tells before anything is sent what would become of the Turn's reasoning", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.say("one");
  const head = await talk.conversation.head();
  await talk.say("two");
  const past = await talk.conversation.at(head?.revision ?? 0);
  const like = await past.reasoning();
  expect(fates(like.blocks)).toEqual([[1, "intact", "accepted", null]]);
  const instructed = await past.reasoning(talk.provider({ instructions: "Be kind." }));
  expect(fates(instructed.blocks)).toEqual([[1, "broken", "withheld", "prefix"]]);
  const elsewhere = await past.reasoning(talk.provider({ organization: "other" }));
  expect(fates(elsewhere.blocks)).toEqual([[1, "intact", "left-out", "foreign"]]);
});

test("past.reasoning() wants an endpoint where nothing was asked", async () => {
  const talk = await thinkingTalk();
  await talk.conversation.append("one");
  const past = await talk.conversation.at(-1);
  expect(await rejectionOf(past.reasoning())).toMatchObject({ code: "request-not-found" });
  expect((await past.reasoning(talk.provider())).blocks).toEqual([]);
});

test("the size of reasoning is what a body is shorter by without it", async () => {
  const talk = await thinkingTalk();
  await talk.say("one");
  await talk.say("two", { mode: "stateless" });
  const { size } = await talk.conversation.reasoning();
  const [, second] = talk.server.requests;
  expect(size.sentBytes).toBe(Buffer.byteLength(second?.bodyText ?? ""));
  const { body = null } = second ?? {};
  const input = isObject(body) ? objectsOf(body["input"]).filter(({ type }) => type !== "reasoning") : [];
  const without = JSON.stringify(isObject(body) ? { ...body, input } : null);
  expect(size.sentReasoningBytes).toBe(size.sentBytes - without.length);
  expect(size.reasoningTokens).toBeGreaterThan(0);
});
