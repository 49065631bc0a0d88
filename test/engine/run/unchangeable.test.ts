import { expect, test } from "vitest";
import type { PastConversation } from "../../../src/analysis/time-travel/past.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { Block } from "../../../src/domain/block.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { counted, layer } from "../../support/run/scene.ts";
import { createWorkshop, type Workshop } from "../../support/workshop.ts";

/** What somebody does who minds no types. */
type Loose = { payload: { content: { text: string }[] } };

/** The same log as another process would read it. */
const readAnew = ({ watched }: Workshop) => new TurnlogStore(watched).conversation("cnv_workshop");

test("changing what a block was made of afterwards changes nothing", async () => {
  const workshop = createWorkshop();
  const { engine, provider } = workshop.scripted(["ok"]);
  const part = { type: "text", text: "first" };
  const parts: JsonObject[] = [part];
  await workshop.conversation.append(user(parts));
  part.text = "second";
  parts.push({ type: "text", text: "third" });
  await workshop.conversation.append(user([part]));
  const turn = await (await workshop.conversation.run(engine)).turn();
  expect(provider.reading(0)).toMatchObject([
    { content: [{ type: "input_text", text: "first" }] },
    { content: [{ type: "input_text", text: "second" }] },
  ]);
  expect(turn.blocks.map(({ text }) => text)).toEqual(["first", "second", "ok"]);
});

test.each<[string, (turn: Turn) => unknown]>([
  ["adds to the list of blocks", ({ blocks }) => (blocks as unknown[]).push(user("evil"))],
  [
    "changes a text in place",
    ({ blocks }) => {
      for (const { payload } of blocks as unknown as Loose[]) for (const part of payload.content) part.text = "evil";
    },
  ],
])("a layer that %s fails, and changes nothing", async (_what, change) => {
  for (const when of ["request", "response"]) {
    const workshop = createWorkshop();
    const changing = layer("changing", async (turn, next) => {
      if (when === "request") change(turn);
      const result = await next(turn);
      if (when === "response") change(result);
      return result;
    });
    const { engine } = workshop.scripted(["ok"], { middleware: [changing] });
    await workshop.conversation.append("hello");
    const conversation = readAnew(workshop);
    await expect(conversation.run(engine)).rejects.toMatchObject({ cause: expect.any(TypeError) as unknown });
    const { turn } = await (await conversation.at(-1)).load();
    expect(turn.digest).toBe((await conversation.turn()).digest);
    expect(turn.blocks.map(({ text }) => text)).not.toContain("evil");
  }
});

test.each(["the Turn", "a result's Turn", "the Turn that was read anew"])("%s cannot be changed", async (which) => {
  const workshop = createWorkshop();
  const { engine } = workshop.scripted(["ok"]);
  await workshop.conversation.append("hello");
  const result = await (await workshop.conversation.run(engine)).turn();
  const turns = {
    "the Turn": await workshop.conversation.turn(),
    "a result's Turn": result,
    "the Turn that was read anew": await readAnew(workshop).turn(),
  };
  const { blocks } = turns[which as keyof typeof turns];
  expect(blocks).toHaveLength(2);
  for (const block of blocks as unknown as Loose[]) {
    expect(() => {
      for (const part of block.payload.content) part.text = "evil";
    }).toThrow(TypeError);
  }
});

test.each<[string, (past: PastConversation) => Promise<Turn>]>([
  ["its Turn with all contents", (past) => past.content()],
  ["its Turn when all was loaded", async (past) => (await past.load()).turn],
])("what a past shows cannot be changed: %s", async (_what, turnOf) => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  const { blocks, exchanges } = await turnOf(await conversation.at(-1));
  expect(blocks.map(({ payload }) => Object.isFrozen(payload))).toEqual([true]);
  expect([exchanges, exchanges[0], exchanges[0]?.blocks].map(Object.isFrozen)).toEqual([true, true, true]);
});

test("contents that are read for a past with a saved list cannot be changed", async () => {
  const { conversation } = createWorkshop();
  await conversation.append(Array.from({ length: 1_000 }, (_, n) => user(`Message ${n}.`)));
  const past = await conversation.at(-1);
  expect([past.turn, past.turn.blocks, past.turn.blocks[0]].map(Object.isFrozen)).toEqual([true, true, true]);
  const { blocks } = await past.content();
  expect(blocks.every(({ payload }) => Object.isFrozen(payload))).toBe(true);
});

test("a wire is copied, and what it was made of stays its owner's", () => {
  const wire = { scope: "s", residue: { a: 1 } };
  const block = user("hello").withWire(wire);
  wire.residue.a = 9;
  expect(block.wire).toEqual({ scope: "s", residue: { a: 1 } });
  Block.freeze(block);
  expect(Object.isFrozen(wire)).toBe(false);
});

/** All objects within, by their paths. */
function objectsIn(value: unknown, path: string, found = new Map<object, string>()): ReadonlyMap<object, string> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  found.set(value, path);
  for (const [name, member] of Object.entries(value)) objectsIn(member, `${path}.${name}`, found);
  return found;
}

const notFrozen = (value: unknown, name: string): readonly string[] =>
  [...objectsIn(value, name)].filter(([each]) => !Object.isFrozen(each)).map(([, path]) => path);

test("what a result holds, and what a run shows, cannot be changed", async () => {
  const workshop = createWorkshop();
  const { engine } = workshop.scripted([{ calls: [{ name: "count", arguments: {} }], reasoning: "hm" }, "counted"], {
    tools: [counted("count", true).tool],
  });
  await workshop.conversation.append("hello");
  const parts: RunPart[] = [];
  for await (const part of workshop.conversation.stream(engine)) parts.push(part);
  const last = parts.at(-1);
  if (last?.type !== "run-end") throw new Error("a run ends with its result");
  expect(notFrozen(last.result, "result")).toEqual([]);
  for (const part of parts) expect(notFrozen(part, part.type)).toEqual([]);
  expect(notFrozen(await workshop.conversation.run(engine), "recorded")).toEqual([]);
  const past = await (await workshop.conversation.at(-1)).load();
  expect(notFrozen([...past.turn.blocks], "past")).toEqual(["past"]);
});
