import { expect, test } from "vitest";
import { z } from "zod";
import type { Conversation } from "../../src/conversation/conversation.ts";
import type { CompactPolicy } from "../../src/engine/options/compact-policy.ts";
import type { EngineConfig } from "../../src/engine/options/create-engine.ts";
import type { Engine } from "../../src/engine/options/engine.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { interceptedBy } from "../../src/engine/run/run-options.ts";
import { stepThrough } from "../../src/engine/run/stepping.ts";
import type { Breakpoint } from "../../src/engine/session/breakpoint.ts";
import { lens } from "../../src/middleware/lens.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../src/replay/fold-replay.ts";
import { reexecute } from "../../src/replay/re-execute.ts";
import { createScene, layer, textsOf } from "../support/run/scene.ts";
import { calling } from "../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

const spoken = ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2"];
const shortened = ["Summary of what came before:\n\nin short", "question 2", "answer 2"];

/** A conversation of three exchanges, and an engine whose model answers with these from then on. */
async function talked(then: readonly ScriptedAnswer[], config: Partial<EngineConfig> = {}) {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const { engine, provider } = workshop.scripted(["answer 0", "answer 1", "answer 2", ...then], config);
  for (const question of ["question 0", "question 1", "question 2"]) {
    await conversation.append(question);
    await conversation.run(engine);
  }
  return { ...workshop, engine, provider };
}

/** What a replay by folds, one by layers and an audit find wrong. */
async function differences(conversation: Conversation, engine: Engine<unknown, unknown>) {
  return [
    (await replayFolds(conversation)).difference,
    (await reexecute(conversation, engine)).difference,
    ...(await conversation.verify()).problems,
  ].filter((each) => each !== null);
}

test("a summary between two runs is a run of its own: recorded, paid for, replayed, and what was answered stays answered", async () => {
  const { conversation, engine, provider, store } = await talked(["in short", "answer 3"]);
  const before = (await conversation.at(-1)).revision;
  const result = await conversation.compact(engine, { keep: 1, summary: { model: "small" } });
  expect(result).toMatchObject({ status: "completed", isNew: true, text: "", steps: [], closedRun: null });
  expect(result?.asides.map(({ blocks }) => blocks[0]?.text)).toEqual(["in short"]);
  expect(result?.usage.inputTokens).toBeGreaterThan(0);
  expect(await textsOf(conversation)).toEqual(shortened);
  expect(provider.requests.at(-1)).toMatchObject({ model: "small" });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
  expect(await store.conversation(conversation.id).run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
  await conversation.append("question 3");
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, text: "answer 3" });
  expect(JSON.stringify(provider.requests.at(-1))).not.toContain("question 1");
  const edits = (await eventsOf(conversation)).filter(({ event }) => event.type === "TurnEdited");
  expect(edits.at(-1)).toMatchObject({
    actor: { kind: "engine" },
    event: { data: { direction: "response", compaction: { how: "summarise", because: "asked" } } },
  });
  expect(await differences(conversation, engine)).toEqual([]);
  expect((await conversation.revertTo(before)).blocks.map(({ text }) => text)).toEqual(spoken);
});

test("what waits for an answer still waits for it, also what is said while the summary is made", async () => {
  const waiting = await talked(["in short", "answer 3"]);
  await waiting.conversation.append("question 3");
  await waiting.conversation.compact(waiting.engine, { keep: 1 });
  expect(await waiting.conversation.run(waiting.engine)).toMatchObject({ isNew: true, text: "answer 3" });
  const { conversation, engine } = await talked(["in short", "answer 3"]);
  const stepping = stepThrough((interceptor) => conversation.compact(engine, interceptedBy(interceptor, { keep: 1 })));
  for await (const stop of stepping) {
    if (stop.kind === "inference" && stop.phase === "before") await conversation.append("question 3");
  }
  await stepping.result;
  expect(await textsOf(conversation)).toEqual([...shortened, "question 3"]);
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, text: "answer 3" });
  expect(await differences(conversation, engine)).toEqual([]);
});

test("with nothing to summarise no model is asked and nothing is written, and a summary is not summarised", async () => {
  const { conversation, engine, provider } = await talked(["in short"]);
  expect(await conversation.compact(engine, { keep: 3 })).toBeNull();
  await conversation.compact(engine, { keep: 1 });
  const [asked, written] = [provider.requests.length, (await eventsOf(conversation)).length];
  expect(await conversation.compact(engine, { keep: 1 })).toBeNull();
  expect([provider.requests.length, (await eventsOf(conversation)).length]).toEqual([asked, written]);
});

const secrets = () =>
  lens({
    ...{ name: "hide", version: "1.0.0" },
    hide: (block) => (block.kind === "user" ? block.withText(block.text.replaceAll("question", "…")) : block),
  });

test.each<readonly [string, Partial<CompactPolicy>]>([
  ["between two runs", {}],
  ["after a run", { afterRun: 1 }],
  ["before a request", { beforeRequest: 1 }],
])("a summary that is made %s shows the model what the layers let it see, and no more", async (when, limits) => {
  const compact = { how: ["summarise" as const], keep: 1, ...limits };
  const config = { middleware: [secrets()], compact };
  const { conversation, engine, provider } = await talked(Array(9).fill("in short"), config);
  if (when === "between two runs") await conversation.compact(engine, { keep: 1 });
  const asked = provider.requests.map((body) => JSON.stringify(body)).filter((body) => body.includes("Summarise"));
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((body) => body.includes("question"))).toEqual([]);
});

test.each<readonly [string, ScriptedAnswer, string]>([
  ["refuses", { error: { status: 400, code: "invalid_prompt", message: "no" } }, "invalid-request"],
  ["gives none", "", "no-summary"],
])("where the model %s, the run fails and the Turn is as it was", async (_, answer, kind) => {
  const { conversation, engine } = await talked([answer, "in short"]);
  expect(await rejectionOf(conversation.compact(engine, { keep: 1 }))).toMatchObject({ code: "run-failed", kind });
  expect(await textsOf(conversation)).toEqual(spoken);
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
  expect(await differences(conversation, engine)).toEqual([]);
  await conversation.compact(engine, { keep: 1 });
  expect(await textsOf(conversation)).toEqual(shortened);
});

test("a layer that calls next until there is an answer does not have it summarised for ever", async () => {
  const insisting = layer("insisting", async (turn, next, { summarising }) => {
    if (!summarising) return next(turn);
    let result = await next(turn);
    while (result.length <= turn.length) result = await next(result);
    return result;
  });
  const { conversation, engine, provider } = await talked(["in short"], { middleware: [insisting] });
  const asked = provider.requests.length;
  expect(await rejectionOf(conversation.compact(engine, { keep: 1 }))).toMatchObject({ kind: "no-summary" });
  expect(provider.requests.length - asked).toBe(1);
  expect(await textsOf(conversation)).toEqual(spoken);
});

const hasEnd = (stop: Breakpoint): boolean =>
  stop.kind === "append" && stop.entries.some(({ event }) => event.type === "RunCompleted");

const stops: readonly (readonly [string, (stop: Breakpoint) => boolean])[] = [
  ["before its request", (stop) => stop.kind === "inference" && stop.phase === "before"],
  ["before its answer is recorded", (stop) => stop.kind === "inference" && stop.phase === "after"],
  ["before its end is recorded", (stop) => stop.phase === "before" && hasEnd(stop)],
];
test.each(stops.flatMap(([where, at]) => ["compact", "resume", "run"].map((by) => [where, by, at] as const)))(
  "a summary that is cut off %s is finished by another process with %s",
  async (_, by, at) => {
    const answers = ["answer 0", "answer 1", "answer 2", "in short", "in short", "answer 3"];
    const scene = createScene(answers);
    const first = scene.process();
    for (const question of ["question 0", "question 1", "question 2"]) {
      await first.conversation.append(question);
      await first.conversation.run(first.engine);
    }
    const stepping = stepThrough((interceptor) =>
      first.conversation.compact(first.engine, interceptedBy(interceptor, { keep: 1 })),
    );
    const told = stepping.result.catch((error: unknown) => error);
    for await (const stop of stepping) if (at(stop)) break;
    expect(await told).toMatchObject({ code: "stepping-left" });
    const { conversation, engine } = scene.process();
    if (by === "compact") expect(await conversation.compact(engine, { keep: 2 })).toMatchObject({ resumed: true });
    if (by === "resume")
      expect(await conversation.resume(engine)).toMatchObject({ status: "completed", resumed: true });
    if (by === "run") expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
    expect(await textsOf(conversation)).toEqual(shortened);
    expect(dataOf(await eventsOf(conversation), "RunCompleted")).toHaveLength(4);
    expect(await differences(conversation, engine)).toEqual([]);
  },
);

test("the answer of one long exchange is still its result after its steps were left out", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const look = tool({ name: "look", description: "Looks.", inputSchema: z.object({}), execute: () => "seen" });
  const { engine } = workshop.scripted([...Array<ScriptedAnswer>(3).fill(calling(["look", "{}"])), "done"], {
    tools: [look],
  });
  await conversation.append("hello");
  const first = await conversation.run(engine);
  await conversation.compact({ how: "drop-exchanges", keep: 1 });
  const again = await conversation.run(engine);
  expect(again).toMatchObject({ isNew: false, runId: first.runId, text: "done" });
  expect(again.blocks.map(({ kind }) => kind)).toEqual(first.blocks.map(({ kind }) => kind));
});

test.each<readonly [object, string]>([
  [{ keep: 0 }, "compact: keep is 0"],
  [{ summary: { temperature: 1 } }, "compact.summary has no option 'temperature'"],
  [{ how: "summarise" }, "compact has no option 'how'"],
])("%o is refused", async (options, message) => {
  const { conversation, engine } = await talked([]);
  expect(String(await rejectionOf(conversation.compact(engine, options)))).toContain(message);
});
