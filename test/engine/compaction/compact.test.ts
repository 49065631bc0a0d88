import { expect, test } from "vitest";
import { z } from "zod";
import { openCalls } from "../../../src/domain/calls.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { beforeRequest, createScene, dieAt, textsOf } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

const tooLong: ScriptedAnswer = {
  error: {
    status: 400,
    code: "context_length_exceeded",
    message: "Your input exceeds the context window of this model.",
  },
};

/** Answers with a long text, and counts how often it was asked to. */
function reading(length = 5_000) {
  const runs: string[] = [];
  const read = tool({
    ...{ name: "read", description: "Reads a page.", inputSchema: z.object({}) },
    execute: (_, { idempotencyKey }) => {
      runs.push(idempotencyKey);
      return "page ".repeat(length / 5);
    },
  });
  return { tool: read, runs };
}

const read = calling(["read", "{}"]);

/** A run of one message, and what came of it. */
async function ran(answers: readonly ScriptedAnswer[], config: Partial<EngineConfig> = {}, messages = ["hello"]) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(answers, config);
  let outcome: unknown;
  for (const message of messages) {
    await conversation.append(message);
    outcome = await conversation.run(engine).catch((error: unknown) => error);
  }
  const events = await eventsOf(conversation);
  const compactions = dataOf(events, "TurnEdited").flatMap(({ compaction }) => compaction ?? []);
  const replayed = [(await reexecute(conversation, engine)).difference, (await replayFolds(conversation)).difference];
  return { conversation, provider, outcome, events, compactions, replayed, turn: await conversation.turn() };
}

const sizes = (requests: readonly object[]): readonly number[] => requests.map((body) => JSON.stringify(body).length);

test("a request that is too long is sent once more with its results cut, and no tool runs twice", async () => {
  const page = reading();
  const after = await ran([read, tooLong, "an answer"], { tools: [page.tool] });
  expect(after.outcome).toMatchObject({ status: "completed", text: "an answer" });
  expect(page.runs).toHaveLength(1);
  expect(after.compactions).toEqual([{ how: "truncate-results", because: "too-long" }]);
  const results = after.turn.blocks.filter(({ kind }) => kind === "tool_result");
  expect(results.map(({ text }) => text.length <= 2_000 && /\d+ of 5000 characters left out/.test(text))).toEqual([
    true,
  ]);
  expect(openCalls(after.turn.blocks)).toEqual([]);
  expect(after.replayed).toEqual([null, null]);
  // What the tool said is still to be read.
  expect(dataOf(after.events, "ToolFinished")[0]?.result.payload["output"]).toHaveLength(5_000);
});

test("a request that is still too long fails, is sent no third time, and leaves the Turn as the tools made it", async () => {
  const after = await ran([read, tooLong, tooLong, "never asked"], { tools: [reading().tool] });
  expect(after.outcome).toMatchObject({ code: "run-failed", kind: "context-length-exceeded" });
  expect(after.provider.requests).toHaveLength(3);
  expect(after.turn.blocks.at(-1)?.text).toHaveLength(5_000);
  expect(after.replayed).toEqual([null, null]);
});

test.each([
  ["there is nothing to cut", [tooLong, "never asked"], {}],
  ["the caller wants the refusal", [tooLong, "never asked"], { compact: { onTooLong: "fail" as const } }],
])("a request that is too long fails where %s", async (_, answers, config) => {
  const after = await ran(answers, config);
  expect(after.outcome).toMatchObject({ kind: "context-length-exceeded" });
  expect(after.provider.requests).toHaveLength(1);
});

test("a caller may have a request that is too long fail at once", async () => {
  const page = reading();
  const after = await ran([read, tooLong], { tools: [page.tool], compact: { onTooLong: "fail" } });
  expect(after.outcome).toMatchObject({ code: "run-failed", kind: "context-length-exceeded" });
  expect([after.provider.requests.length, after.compactions.length]).toEqual([2, 0]);
});

test("a layer that hands on the same in each step is written against its own last pass also after the engine made that shorter", async () => {
  const note = "note ".repeat(50);
  const after = await ran([read, tooLong, read, "an answer"], {
    tools: [reading().tool],
    middleware: [
      {
        ...{ name: "upper", version: "1.0.0", configDigest: "0".repeat(64) },
        handle: (next) => (turn) =>
          next(turn.map((block) => (block.kind === "user" ? block.withText(`${block.text}!${note}`) : block))),
      },
    ],
  });
  expect(after.outcome).toMatchObject({ text: "an answer" });
  expect(after.replayed).toEqual([null, null]);
});

test("before a request of a Turn that was counted as long, results that the model has read are cut, and the newest are not", async () => {
  const compact = { beforeRequest: 500, how: ["truncate-results" as const], maxResultLength: 200 };
  const after = await ran([read, read, "an answer"], { tools: [reading().tool], compact });
  expect(after.outcome).toMatchObject({ text: "an answer" });
  const lengths = after.turn.blocks.filter(({ kind }) => kind === "tool_result").map(({ text }) => text.length);
  expect([Number(lengths[0]) <= 200, lengths[1]]).toEqual([true, 5_000]);
  expect(after.compactions).toEqual([
    expect.objectContaining({ how: "truncate-results", because: "before-request", limit: 500 }),
  ]);
  expect(after.replayed).toEqual([null, null]);
});

test("where nothing is left to cut, the oldest exchanges are left out, and what the system said stays", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["one", "two", "three", "four"], {
    compact: { beforeRequest: 60, keep: 1 },
  });
  await conversation.append({ role: "system", content: "Be brief." });
  for (const message of ["first", "second", "third", "fourth"]) {
    await conversation.append(message);
    await conversation.run(engine);
  }
  expect(await textsOf(conversation)).toEqual(["Be brief.", "fourth", "four"]);
  expect(JSON.stringify(provider.requests.at(-1))).not.toContain("third");
  const blame = await conversation.blame();
  expect(blame.removed.map(({ removed }) => removed?.actor.kind)).toContain("engine");
});

test("exchanges that are left out may be summarised by the model, which is on record as what was asked beside the conversation", async () => {
  const compact = { beforeRequest: 100, keep: 1, how: ["summarise" as const], summary: { model: "small" } };
  const after = await ran(["one", "two", "they said one and two", "three"], { compact }, ["first", "second", "third"]);
  expect(after.outcome).toMatchObject({ text: "three", asides: [{ blocks: [{ text: "they said one and two" }] }] });
  expect(after.turn.blocks.map(({ text }) => text)).toEqual([
    "Summary of what came before:\n\nthey said one and two",
    "third",
    "three",
  ]);
  expect(after.provider.requests.map((body) => body["model"])).toEqual(["scripted", "scripted", "small", "scripted"]);
  expect(after.replayed).toEqual([null, null]);
});

test("a summary that the model does not give leaves the Turn to the next way, else as it is", async () => {
  const refused: ScriptedAnswer = { error: { status: 400, code: null, message: "no" } };
  const answers = ["one", "two", refused, "three"];
  const messages = ["first", "second", "third"];
  const compact = { beforeRequest: 100, keep: 1, how: ["summarise" as const] };
  const left = await ran(answers, { compact }, messages);
  const half = ["one", "two", { text: "they said", status: "incomplete" }, "three"];
  expect((await ran(half, { compact }, messages)).turn.blocks).toHaveLength(6);
  expect(left.turn.blocks.map(({ text }) => text)).toEqual(["first", "one", "second", "two", "third", "three"]);
  const how = ["summarise", "drop-exchanges"] as const;
  const dropped = await ran(answers, { compact: { ...compact, how } }, messages);
  expect(dropped.turn.blocks.map(({ text }) => text)).toEqual(["third", "three"]);
  expect(dropped.replayed).toEqual([null, null]);
});

test("of one long exchange the oldest steps are left out, with their results", async () => {
  const compact = { beforeRequest: 1_500, keep: 1, how: ["drop-exchanges" as const] };
  const page = reading(2_000);
  const after = await ran([read, read, read, read, "an answer"], { tools: [page.tool], compact });
  expect(after.outcome).toMatchObject({ text: "an answer" });
  expect(page.runs).toHaveLength(4);
  expect(openCalls(after.turn.blocks)).toEqual([]);
  expect(after.turn.blocks.filter(({ kind }) => kind === "tool_result").length).toBeLessThan(4);
  expect(after.turn.blocks[0]?.text).toBe("hello");
  expect(after.replayed).toEqual([null, null]);
});

test("after a run that left much, the next begins short, and the run's answer is still its result", async () => {
  const compact = { afterRun: 60, keep: 1, how: ["drop-exchanges" as const] };
  const after = await ran(["one", "two", "three"], { compact }, ["first", "second", "third"]);
  expect(after.outcome).toMatchObject({ text: "three", blocks: [{ text: "three" }] });
  expect(after.turn.blocks.map(({ text }) => text)).toEqual(["third", "three"]);
  expect(after.compactions.every(({ because }) => because === "after-run")).toBe(true);
  const again = await after.conversation.run(createEngine({ provider: scripted([]) }));
  expect(again).toMatchObject({ isNew: false, text: "three" });
  expect(after.replayed).toEqual([null, null]);
});

test("a compaction is shown, and the requests after it are as short as the Turn", async () => {
  const parts: RunPart[] = [];
  const compact = { beforeRequest: 60, keep: 1 };
  const { provider } = await ran(
    ["one ".repeat(50), "two"],
    { compact, observers: [{ next: (part) => parts.push(part) }] },
    ["first ".repeat(50), "second"],
  );
  expect(parts.filter(({ type }) => type === "compacted")).toMatchObject([
    { frame: "0", compaction: { how: "drop-exchanges", because: "before-request" } },
  ]);
  const [first = 0, second = 0] = sizes(provider.requests);
  expect(second).toBeLessThan(first);
});

test.each([0, 1, 2, 3, 4])(
  "a run that compacts and is cut off before request %i is taken up as it would have gone on",
  async (request) => {
    const compact = {
      beforeRequest: 300,
      keep: 1,
      how: ["truncate-results", "summarise"] as const,
      maxResultLength: 200,
    };
    const page = reading(1_000);
    const answers = [read, read, tooLong, read, "a summary", "an answer", "late"];
    const whole = createScene(answers, { tools: [page.tool], compact }).process();
    await whole.conversation.append("hello");
    const expected = await whole.conversation.run(whole.engine);
    const scene = createScene(answers, { tools: [page.tool], compact });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(request));
    const { conversation, engine } = scene.process({ compact: { onTooLong: "fail" } });
    expect(await conversation.resume(engine)).toMatchObject({ status: "completed", text: expected.text });
    expect(await textsOf(conversation)).toEqual(await textsOf(whole.conversation));
    expect((await reexecute(conversation, engine)).difference).toBeNull();
  },
);

test.each<readonly [object, string]>([
  [{ beforeRequest: 0 }, "compact.beforeRequest is 0"],
  [{ how: [] }, "compact.how is a list"],
  [{ how: ["forget"] }, "compact.how[0] is 'forget'"],
  [{ maxResultLength: 10 }, "compact.maxResultLength is 10: give at least 160"],
  [{ onTooLong: "drop" }, "compact.onTooLong is 'drop'"],
  [{ summary: { temperature: 1 } }, "has no option 'temperature'"],
  [{ treshold: 1 }, "has no option 'treshold'"],
])("a policy of %o is refused when the engine is made", (compact, message) => {
  expect(() => createEngine({ provider: scripted([]), compact })).toThrow(message);
});

test("the log of a run has no policy if its engine has none", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["hello"]).engine);
  expect(dataOf(await eventsOf(conversation), "RunStarted")[0]).not.toHaveProperty("compact");
});
