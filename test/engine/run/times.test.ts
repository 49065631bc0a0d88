import { expect, test } from "vitest";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { createScene, dieAt, inTool, layer } from "../../support/run/scene.ts";
import { add, calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, eventsOf } from "../../support/workshop.ts";

/** A run with an effect and a tool, cut off in the tool, and taken up. */
async function cutOffRun(config: Partial<EngineConfig> = {}) {
  const scene = createScene([calling(["add", '{"left": 1}']), "three"], {
    tools: [{ ...add, idempotent: true }],
    ...config,
  });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, inTool("add", "after"));
  const { conversation, engine } = scene.process();
  await conversation.run(engine);
  return (await eventsOf(conversation)).map(({ at }) => at);
}

test("time never runs backwards in a run, however long its appends take", async () => {
  const looking = layer("looking", async (turn, next, ctx) => {
    await ctx.effect("look", () => "seen");
    return next(turn);
  });
  // The clock goes on with every look at it.
  const times = await cutOffRun({ middleware: [looking] });
  expect(new Set(times).size).toBeGreaterThan(5);
  expect(times).toEqual(times.toSorted());
});

test("layers never see a time before the newest event's, whatever the clock does", async () => {
  const { conversation, clock, ...workshop } = createWorkshop();
  const told: string[] = [];
  const hurried = layer("hurried", async (turn, next, ctx) => {
    await ctx.effect("look", async () => {
      clock.now += 5_000;
      await conversation.append("and this");
      clock.now -= 7_000;
      return "seen";
    });
    told.push(new Date(ctx.now()).toISOString());
    return next(turn);
  });
  const { engine } = workshop.scripted(["an answer"], { middleware: [hurried] });
  await conversation.append("hello");
  await conversation.run(engine);
  const events = await eventsOf(conversation);
  const times = events.map(({ at }) => at);
  expect(times).toEqual(times.toSorted());
  expect(told).toEqual([events.filter(({ event }) => event.type === "BlockAppended").at(-1)?.at]);
});
