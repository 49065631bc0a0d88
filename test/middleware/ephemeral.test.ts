import { expect, test } from "vitest";
import * as z from "zod";
import { idOf } from "../../src/domain/block.ts";
import { system, user } from "../../src/domain/make-block.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { ephemeral } from "../../src/middleware/ephemeral.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "seen" });

async function talk(
  middleware: readonly Layer[],
  rounds: number,
  answer: (n: number) => ScriptedAnswer = (n) => `answer ${n}`,
) {
  const { conversation, ...workshop } = createWorkshop();
  const answers = Array.from({ length: rounds * 3 }, (_, n) => answer(n));
  const { engine, provider } = workshop.scripted(answers, { middleware, tools: [look] });
  for (let n = 0; n < rounds; n += 1) {
    await conversation.append(`said ${n}`);
    await conversation.run(engine);
  }
  const events = await eventsOf(conversation);
  const strategies = dataOf(events, "InferenceRequested").map(({ decision }) => decision.strategy);
  return { conversation, provider, turn: await conversation.turn(), events, strategies };
}

const readingOf = (items: readonly unknown[]): string => JSON.stringify(items);

test("the model reads the blocks in every request, and the Turn never holds them", async () => {
  const { provider, turn } = await talk([ephemeral([user("it is noon")])], 2);
  expect(readingOf(provider.reading(0))).toContain("it is noon");
  expect(readingOf(provider.reading(1)).split("it is noon")).toHaveLength(2);
  expect(turn.blocks.map(({ text }) => text)).toEqual(["said 0", "answer 0", "said 1", "answer 1"]);
});

test("at the end they come after everything, and no request is chained", async () => {
  const { provider, strategies } = await talk([ephemeral([user("it is noon"), user("and warm")])], 3);
  expect(
    provider
      .reading(2)
      .slice(-2)
      .map((item) => JSON.stringify(item)),
  ).toEqual([expect.stringContaining("it is noon"), expect.stringContaining("and warm")]);
  expect(strategies).toEqual(["full", "full", "full"]);
});

test("at the start they come before everything, in order, and the chain holds", async () => {
  const { provider, strategies } = await talk([ephemeral([system("be brief"), system("be kind")], { at: "start" })], 3);
  expect(
    provider
      .reading(2)
      .slice(0, 2)
      .map((item) => JSON.stringify(item)),
  ).toEqual([expect.stringContaining("be brief"), expect.stringContaining("be kind")]);
  expect(strategies).toEqual(["full", "chained", "chained"]);
});

test("a run writes the blocks once, and refers to them from then on", async () => {
  const long = "a long notice ".repeat(200);
  const answer = (n: number): ScriptedAnswer => (n % 3 < 2 ? { calls: [{ name: "look", arguments: {} }] } : "done");
  const { events } = await talk([ephemeral([user(long)])], 2, answer);
  const written = dataOf(events, "TurnEdited").filter((data) => JSON.stringify(data).includes(long));
  expect(dataOf(events, "InferenceRequested")).toHaveLength(6);
  expect(written).toHaveLength(2);
});

test("two such layers, and two blocks that say the same, do not get into each other's way", async () => {
  const middleware = [
    ephemeral([user("again"), user("again")], { name: "outer" }),
    ephemeral([user("again")], { name: "inner", at: "start" }),
  ];
  const { provider, turn } = await talk(middleware, 2);
  expect(readingOf(provider.reading(0)).split("again")).toHaveLength(4);
  expect(turn.blocks.map(({ text }) => text)).toEqual(["said 0", "answer 0", "said 1", "answer 1"]);
});

test("the layer is blamed for what it put in, and for taking it out again", async () => {
  const { conversation, events } = await talk([ephemeral([user("it is noon")])], 1);
  const [insertion] = dataOf(events, "TurnEdited").flatMap(({ edits }) => edits.filter(({ op }) => op === "insert"));
  const content = insertion?.op === "insert" ? insertion.blocks[0] : undefined;
  const id = content !== undefined && "block" in content ? content.block.id : null;
  const blame = (await (await conversation.at(-1)).load()).blame(id ?? "");
  expect(blame?.made.actor).toMatchObject({ kind: "middleware", name: "ephemeral", direction: "request" });
  expect(blame?.removed?.actor).toMatchObject({ kind: "middleware", name: "ephemeral", direction: "response" });
});

test("a block that the conversation holds already is not taken out of it", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const block = user("kept");
  const keeping = defineMiddleware(
    { name: "keeping", version: "1.0.0" },
    (next) => (turn) => next(turn.insertOnce(`kept 0 ${block.digest}`, block)),
  );
  const { engine } = workshop.scripted(["one"], { middleware: [keeping, ephemeral([block], { name: "kept" })] });
  await conversation.append("hello");
  const turn = await (await conversation.run(engine)).turn();
  expect(turn.blocks.map(({ text }) => text)).toEqual(["hello", "kept", "one"]);
  expect(new Set(turn.blocks.map(idOf)).size).toBe(3);
});
