import { expect, test } from "vitest";
import { BudgetExceededError } from "../../../src/engine/options/budget.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { beforeRequest, counted, createScene, dieAt } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

test("a conversation that has used its tokens asks no model any more, and continues when the budget is raised", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const lookUp = counted("look-up", true);
  const { engine, provider } = workshop.scripted([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
  await conversation.append("hello");
  const failure = await rejectionOf(conversation.run(engine, { budget: { maxTotalTokens: 10 } }));
  expect(failure).toMatchObject({ code: "run-failed", kind: "budget-exceeded" });
  const { cause } = failure instanceof Error ? failure : {};
  expect(cause).toBeInstanceOf(BudgetExceededError);
  expect(cause).toMatchObject({ limit: "maxTotalTokens", max: 10 });
  expect([provider.requests.length, lookUp.runs.length]).toEqual([1, 1]);
  expect(await conversation.run(engine)).toMatchObject({ text: "an answer" });
  expect([provider.requests.length, lookUp.runs.length]).toEqual([2, 1]);
});

test("what was used stays used after a revert, in other runs and after the conversation was opened again, and a fork begins at nothing", async () => {
  const { conversation, store, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["one", "two", "three"]);
  await conversation.append("hello");
  const { usage } = await conversation.run(engine);
  const used = usage.inputTokens + usage.outputTokens;
  await conversation.revertToExchange(0);
  const fork = await conversation.fork();
  await conversation.append("again");
  const budget = { maxTotalTokens: used };
  const failure = await rejectionOf(store.conversation(conversation.id).run(engine, { budget }));
  expect(failure).toMatchObject({ kind: "budget-exceeded", cause: { tokens: used, max: used } });
  await fork.append("again");
  expect(await fork.run(engine, { budget })).toMatchObject({ text: "two" });
});

test("what a layer asks beside the conversation is of its budget", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["a summary", "an answer"], {
    middleware: [
      {
        ...{ name: "asks", version: "1.0.0", configDigest: "0".repeat(64) },
        handle: (next) => async (turn, ctx) => {
          await ctx.infer({ input: "what is this?" });
          return next(turn);
        },
      },
    ],
  });
  await conversation.append("hello");
  const failure = await rejectionOf(conversation.run(engine, { budget: { maxTotalTokens: 5 } }));
  expect(failure).toMatchObject({ kind: "budget-exceeded" });
  expect(provider.requests).toHaveLength(1);
});

test("a request of a Turn that was counted as too long is not sent; a revert makes it shorter", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["one", `two ${"long ".repeat(100)}`, "three"]);
  const budget = { maxInputTokens: 100 };
  for (const text of ["first", "second"]) {
    await conversation.append(text);
    await conversation.run(engine, { budget });
  }
  await conversation.append("third");
  const failure = await rejectionOf(conversation.run(engine, { budget }));
  expect(failure).toMatchObject({ kind: "budget-exceeded", cause: { limit: "maxInputTokens", max: 100 } });
  expect(provider.requests).toHaveLength(2);
  await conversation.revertToExchange(0);
  await conversation.append("third");
  expect(await conversation.run(engine, { budget })).toMatchObject({ text: "three" });
});

test("a budget that only warns is reported, and the run continues", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const parts: RunPart[] = [];
  const { engine } = workshop.scripted([calling(["look-up", "{}"]), "an answer"], {
    tools: [counted("look-up", true).tool],
    budget: { maxTotalTokens: 1, onExceeded: "warn" },
    observers: [{ next: (part) => parts.push(part) }],
  });
  await conversation.append("hello");
  expect(await conversation.run(engine)).toMatchObject({ text: "an answer" });
  const warnings = parts.filter(({ type }) => type === "budget-exceeded");
  expect(warnings).toEqual([expect.objectContaining({ limit: "maxTotalTokens", max: 1 })]);
});

test("the budget that a run began with holds when it is taken up, counts nothing twice, and replays", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), calling(["look-up", "{}"]), "an answer"], {
    tools: [lookUp.tool],
  });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(1), { budget: { maxTotalTokens: 90 } });
  const { conversation, engine } = scene.process();
  expect(await rejectionOf(conversation.resume(engine))).toMatchObject({ kind: "budget-exceeded" });
  expect(scene.provider.requests).toHaveLength(2);
  const [started] = dataOf(await eventsOf(conversation), "RunStarted");
  expect(started?.budget).toEqual({ maxTotalTokens: 90, onExceeded: "end" });
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  expect((await replayFolds(conversation)).difference).toBeNull();
});

test("the log says in words what a run may use, and what it did to use less", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const config = {
    budget: { maxInputTokens: 90_000, maxTotalTokens: 100_000 },
    compact: { beforeRequest: 60, keep: 1 },
  };
  const { engine } = workshop.scripted(["one", "two"], config);
  for (const text of ["first", "second"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  const told: string[] = [];
  for await (const { words } of conversation.walk()) told.push(words);
  expect(told).toContain("run started: scripted; ends over 90,000 tokens in a request, 100,000 tokens in all");
  expect(told.find((each) => each.startsWith("left out"))).toMatch(
    /^left out the oldest exchanges \(before a request: \d+ tokens were counted, of 60 allowed\): /,
  );
});

test("what an answer cost is shown once it is there", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const parts: RunPart[] = [];
  const { engine } = workshop.scripted(["hello"], { observers: [{ next: (part) => parts.push(part) }] });
  await conversation.append("hello");
  const { usage } = await conversation.run(engine);
  expect(parts.filter(({ type }) => type === "usage")).toEqual([{ type: "usage", frame: "0", usage }]);
});

test.each<readonly [object, string]>([
  [{ maxTotalTokens: 0 }, "budget.maxTotalTokens is 0: give a whole number of at least 1"],
  [{ maxInputTokens: Number.NaN }, "budget.maxInputTokens is NaN"],
  [{}, "budget has no limit: give maxInputTokens or maxTotalTokens"],
  [{ maxTokens: 1 }, "has no option 'maxTokens'"],
  [{ maxTotalTokens: 1, onExceeded: "stop" }, "budget.onExceeded is 'stop': give 'end' or 'warn'"],
])("a budget of %o is refused when the engine is made", (budget, message) => {
  expect(() => createEngine({ provider: scripted([]), budget })).toThrow(message);
});
