import { expect, test } from "vitest";
import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { idOf } from "../../../src/domain/block.ts";
import { assistant, user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer, type LayerHandler, type Next } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

const layer = (name: string, handle: (next: Next) => LayerHandler): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, handle);

const lookUp = tool({ name: "look-up", description: "", inputSchema: z.object({}), execute: () => "found" });
const looking = (n: number): ScriptedAnswer => ({
  text: `looking ${n}`,
  calls: [{ name: "look-up", arguments: {}, callId: `c${n}` }],
});

async function run(
  middleware: readonly Layer[],
  answers: readonly ScriptedAnswer[],
  said: readonly string[] = ["hello"],
) {
  const { conversation, ...workshop } = createWorkshop();
  for (const text of said) await conversation.append(text);
  const hasCalls = answers.some((answer) => typeof answer !== "string" && answer.calls !== undefined);
  const { engine } = workshop.scripted(answers, { middleware, tools: hasCalls ? [lookUp] : [] });
  const turn = await (await conversation.run(engine)).turn();
  return { conversation, workshop, turn, events: await eventsOf(conversation) };
}

async function authors(conversation: Conversation, turn: Turn): Promise<readonly string[]> {
  const past = await (await conversation.at(-1)).load();
  return turn.blocks.map((block) => {
    const change = past.blame(idOf(block))?.versions.find(({ digest }) => digest === block.recordedAs)?.change;
    return `${block.text}: ${change === undefined ? "nobody" : nameOf(change.actor)}`;
  });
}

const nameOf = (actor: Actor): string =>
  actor.kind === "middleware" ? `${actor.name} ${actor.direction} ${actor.frame}` : actor.kind;

const restoring = layer("restoring", (next) => async (turn) => {
  const hidden = turn.map((block) => (block.kind === "user" ? block.withText("[hidden]") : block));
  const originals = new Map(turn.blocks.map((block) => [block.id, block]));
  const result = await next(hidden);
  return result.map((block) => originals.get(block.id) ?? block);
});

test("a layer that restores what it hid is not blamed for the answer, nor for what it restored", async () => {
  const { conversation, turn, events } = await run([restoring], ["an answer"]);
  expect(await authors(conversation, turn)).toEqual(["hello: user", "an answer: provider"]);
  const written = dataOf(events, "TurnEdited").map(({ from, edits }) => ({ from, edits }));
  expect(written).toMatchObject([
    { from: "given/0", edits: [{ op: "replace", block: { block: { payload: { content: [{ text: "[hidden]" }] } } } }] },
    { from: "result/0.0", edits: [{ op: "replace", block: { ref: {} } }] },
  ]);
});

test("a layer that rewrites an answer is blamed for the words, and the provider for the block", async () => {
  const polite = layer("polite", (next) => async (turn) => {
    const result = await next(turn);
    return result.map((block) => (block.kind === "assistant" ? block.withText(`${block.text}, please`) : block));
  });
  const { conversation, turn } = await run([polite], ["an answer"]);
  expect(await authors(conversation, turn)).toEqual(["hello: user", "an answer, please: polite response 0"]);
  const made = (await (await conversation.at(-1)).load()).blame(turn.last?.id ?? "")?.made.actor;
  expect(made?.kind).toBe("provider");
});

test("insertions, edits and removals of two layers each name their own", async () => {
  const outer = layer("outer", (next) => (turn) => next(turn.append(user("from outer"))));
  const inner = layer("inner", (next) => (turn) => {
    const [first] = turn.blocks;
    const rest = first === undefined ? turn : turn.remove(first);
    return next(rest.map((block) => (block.text === "from outer" ? block.withText("from inner") : block)));
  });
  const { conversation, turn } = await run([outer, inner], ["an answer"]);
  expect(await authors(conversation, turn)).toEqual(["from inner: inner request 0.0", "an answer: provider"]);
  const past = await (await conversation.at(-1)).load();
  const [said] = (await (await conversation.at(1)).load()).turn.blocks;
  const inserted = past.blame(turn.at(0)?.id ?? "");
  expect(inserted && nameOf(inserted.made.actor)).toBe("outer request 0");
  const removed = past.blame(said?.id ?? "")?.removed;
  expect(removed && nameOf(removed.actor)).toBe("inner request 0.0");
});

test("the answer that a filter left out names the filter", async () => {
  const filter = layer(
    "filter",
    (next) => async (turn) => (await next(turn)).filter(({ kind }) => kind !== "reasoning"),
  );
  const { conversation, events } = await run([filter], [{ reasoning: "a thought", text: "an answer" }]);
  const thought = dataOf(events, "ResponseReceived")[0]?.output[0]?.id ?? "";
  const removed = (await (await conversation.at(-1)).load()).blame(thought)?.removed;
  expect(removed && nameOf(removed.actor)).toBe("filter response 0");
});

test("of two branches, who took a block out of the one that was kept is named", async () => {
  const choosing = layer("choosing", (next) => async (turn) => {
    const first = await next(turn);
    await next(turn);
    return first;
  });
  let calls = 0;
  const dropping = (name: string, call: number): Layer =>
    layer(name, (next) => (turn) => {
      const isMine = Math.floor(calls++ / 2) === call;
      return next(isMine ? turn.filter(({ text }) => text !== "drop me") : turn);
    });
  const { conversation, turn } = await run(
    [choosing, dropping("first", 0), dropping("second", 1)],
    ["one", "two"],
    ["drop me", "hello"],
  );
  expect(turn.blocks.map(({ text }) => text)).toEqual(["hello", "one"]);
  const [dropped] = (await (await conversation.at(1)).load()).turn.blocks;
  const removed = (await (await conversation.at(-1)).load()).blame(dropped?.id ?? "")?.removed;
  expect(removed && nameOf(removed.actor)).toBe("first request 0.0");
});

test("a tool's result is the tool's, and the loop that put it there is not blamed", async () => {
  const { conversation, turn } = await run([], [looking(0), "done"]);
  expect(await authors(conversation, turn)).toEqual([
    "hello: user",
    "looking 0: provider",
    "{}: provider",
    "found: tool",
    "done: provider",
  ]);
});

test("a cached answer is the layer's", async () => {
  const cache = layer("cache", () => async (turn) => turn.append(assistant("cached")));
  const { conversation, turn } = await run([cache], []);
  expect(await authors(conversation, turn)).toEqual(["hello: user", "cached: cache response 0"]);
});

test("a layer that rewrites a hundred blocks in every step writes them once", async () => {
  const shouting = layer("shouting", (next) => async (turn) => {
    const originals = new Map(turn.blocks.map((block) => [block.id, block]));
    const result = await next(
      turn.map((block) => (block.kind === "user" ? block.withText(block.text.toUpperCase()) : block)),
    );
    return result.map((block) => originals.get(block.id) ?? block);
  });
  const said = Array.from({ length: 100 }, (_, n) => `said ${n}`);
  const { events, turn } = await run([shouting], [...[0, 1, 2, 3].map(looking), "done"], said);
  expect(turn.blocks.slice(0, 100).map(({ text }) => text)).toEqual(said);
  const bytes = dataOf(events, "TurnEdited").map((data) => JSON.stringify(data).length);
  const later = dataOf(events, "TurnEdited")
    .slice(2)
    .map((data) => JSON.stringify(data).length);
  expect(bytes[0]).toBeGreaterThan(10_000);
  expect(Math.max(...later)).toBeLessThan(1_000);
});

test("timings that change nothing write nothing, and are timed with the next event", async () => {
  const idle = ["outer", "inner"].map((name) => layer(name, (next) => (turn) => next(turn)));
  const { events } = await run(idle, ["an answer"]);
  expect(dataOf(events, "TurnEdited")).toEqual([]);
  const timings = [...dataOf(events, "InferenceRequested"), ...dataOf(events, "RunCompleted")].flatMap(
    (data) => data.timings ?? [],
  );
  expect(timings.map(({ frame, layer: name, direction }) => `${name} ${frame} ${direction}`)).toEqual([
    ...["outer 0 request", "inner 0.0 request"],
    ...["inner 0.0 response", "outer 0 response"],
  ]);
});
