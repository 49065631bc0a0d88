import { expect, test } from "vitest";
import * as z from "zod";
import { assistant, toolResult } from "../../../src/domain/make-block.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { gated } from "../../support/gates.ts";
import { layer } from "../../support/run/scene.ts";
import { add, calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, type Workshop } from "../../support/workshop.ts";

const refused = { error: { message: "not today" } } as const;

function throwAny(value: unknown): never {
  throw value;
}

async function wordsOf({ conversation }: Pick<Workshop, "conversation">): Promise<readonly string[]> {
  const told: string[] = [];
  for await (const { words } of conversation.walk()) told.push(words);
  return told;
}

test("a run that a layer ended names the layer and its frame in the log", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const strict = layer("strict", () => Promise.reject(new Error("too long")));
  const { engine } = workshop.scripted([], {
    tools: [add],
    middleware: [layer("idle", (turn, next) => next(turn)), strict],
  });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ layer: "strict", frame: "0.0.0" });
  const [failed] = dataOf(await eventsOf(conversation), "RunFailed");
  expect(failed?.thrownBy).toEqual({ layer: "strict", frame: "0.0.0" });
  expect((await wordsOf(workshop)).at(-1)).toContain("run failed (layer-failed) in strict (frame 0.0.0): too long");
});

test.each([
  ["a text", "no more"],
  ["a number", 42],
  ["nothing", undefined],
])("a layer that throws %s is named as well", async (_, thrown) => {
  const { conversation, ...workshop } = createWorkshop();
  // A layer may be JavaScript, which throws anything.
  const odd = layer("odd", async () => throwAny(thrown));
  const { engine } = workshop.scripted([], { middleware: [layer("outer", (turn, next) => next(turn)), odd] });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-failed", layer: "odd", frame: "0.0" });
});

test("an error of the provider is not attributed to a layer", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted([refused], { middleware: [layer("idle", (turn, next) => next(turn))] });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ layer: null, frame: null });
  expect(dataOf(await eventsOf(conversation), "RunFailed")[0]).not.toHaveProperty("thrownBy");
});

test("a layer that goes on after an error of what it called is recorded with that error", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const stubborn = layer("stubborn", async (turn, next) => {
    try {
      return await next(turn);
    } catch {
      return next(turn);
    }
  });
  const { engine } = workshop.scripted([refused, "an answer"], { middleware: [stubborn] });
  await conversation.append("hello");
  await conversation.run(engine);
  const timings = dataOf(await eventsOf(conversation), "InferenceRequested").flatMap(({ timings = [] }) => timings);
  expect(timings.filter(({ swallowed }) => swallowed !== undefined)).toMatchObject([
    { layer: "stubborn", frame: "0", direction: "request", swallowed: [{ frame: "0.0", message: "not today" }] },
  ]);
  const asked = (await wordsOf(workshop)).filter((words) => words.startsWith("asked"));
  expect(asked.map((words) => words.includes("; stubborn went on after an error of frame 0.0: not today"))).toEqual([
    false,
    true,
  ]);
});

test("a layer that gives something else back in place of an error is recorded with that error", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const soft = layer("soft", (turn, next) => next(turn).catch(() => turn.append(assistant("later, perhaps"))));
  const { engine } = workshop.scripted([refused], { middleware: [soft] });
  await conversation.append("hello");
  expect((await conversation.run(engine)).text).toBe("later, perhaps");
  expect((await wordsOf(workshop)).at(-1)).toBe("run completed; soft went on after an error of frame 0.0: not today");
});

test("a layer that answers without calling next is recorded as one that did", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const cache = layer("cache", async (turn) => turn.append(assistant("from the cache")));
  const { engine, provider } = workshop.scripted([], {
    middleware: [layer("idle", (turn, next) => next(turn)), cache],
  });
  await conversation.append("hello");
  expect((await conversation.run(engine)).text).toBe("from the cache");
  expect(provider.requests).toEqual([]);
  const timings = dataOf(await eventsOf(conversation), "RunCompleted").flatMap(({ timings = [] }) => timings);
  expect(timings.filter(({ withoutNext }) => withoutNext === true).map(({ layer }) => layer)).toEqual(["cache"]);
  expect((await wordsOf(workshop)).at(-1)).toBe("run completed; cache answered by itself, without calling next");
});

test("losses are on the result and in the log", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const half = {
    reasoning: "thinking",
    text: "half an",
    calls: [{ name: "add", arguments: "{}" }],
    status: "incomplete",
  };
  const { engine } = workshop.scripted([half]);
  await conversation.append("hello");
  const result = await conversation.run(engine);
  expect(result).toMatchObject({ status: "incomplete", text: "half an" });
  expect(result.losses).toMatchObject([
    { kind: "omitted-blocks", frame: "0", blocks: [{ kind: "reasoning" }, { kind: "tool_call" }] },
  ]);
  const words = await wordsOf(workshop);
  expect(words.at(-2)).toContain("; not in the Turn, for it is not whole: reasoning, tool_call add");
  expect(words.at(-1)).toBe("run completed: its last answer broke off at a limit");
  expect((await conversation.run(engine)).losses).toEqual(result.losses);
});

test("an answer that broke off is a loss of its run, with what had come of it", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const item = { type: "message", role: "assistant", content: [{ type: "output_text", text: "once upon a" }] };
  const provider = gated(["a tale"], (request) =>
    request > 0
      ? undefined
      : Promise.reject(new ProviderError("cut", { kind: "stream-cut", outcome: "unknown", partial: [item] })),
  );
  const again = layer("again", (turn, next) => next(turn).catch(() => next(turn)));
  await conversation.append("tell me");
  const { losses, text } = await conversation.run(workshop.engine({ provider, middleware: [again] }));
  expect({ losses, text }).toMatchObject({
    losses: [{ kind: "partial-answer", frame: "0.0", items: [item] }],
    text: "a tale",
  });
  const failed = (await wordsOf(workshop)).find((words) => words.startsWith("failed"));
  expect(failed).toContain("; 1 item had come by then, and is in no Turn");
});

test("what every request leaves out again is lost once, and what is only said otherwise is no loss", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted([calling(["lookup", "{}", "c1"]), calling(["add", "{}", "c2"]), "an answer", "another"]);
  const add = tool({ name: "add", description: "", inputSchema: z.object({}), execute: () => "2" });
  await conversation.append("look it up");
  await conversation.run(workshop.engine({ provider }));
  await conversation.append("add");
  const engine = workshop.engine({ provider, tools: [add], mode: "stateless" });
  const { losses, restated, steps } = await conversation.run(engine);
  expect(steps).toHaveLength(2);
  expect(losses).toMatchObject([{ kind: "repair", repair: { rule: "answer" } }]);
  expect(restated).toEqual([]);
  await conversation.append(toolResult({ callId: "c1", output: "42" }));
  const late = await conversation.run(engine);
  expect(late.restated).toMatchObject([{ repair: { rule: "late-result" } }]);
  expect(late.losses).toMatchObject([{ kind: "repair", repair: { rule: "answer" } }]);
});

test("what the engine itself cut is a loss of its run", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const long = tool({ name: "long", description: "", inputSchema: z.object({}), execute: () => "x".repeat(10_000) });
  const provider = scripted([calling(["long", "{}", "c1"]), "done"]);
  const compact = { afterRun: 1, how: ["truncate-results"], maxResultLength: 2_000 } as const;
  await conversation.append("go on");
  const { losses, turn } = await conversation.run(workshop.engine({ provider, tools: [long], compact }));
  const cut = (await turn()).blocks.find(({ kind }) => kind === "tool_result");
  expect(cut?.text.length).toBeLessThan(2_000);
  expect(losses).toMatchObject([
    { kind: "compacted", compaction: { how: "truncate-results", because: "after-run" }, cut: [cut?.id], removed: [] },
  ]);
});

test("a request that was repaired is a loss of its run", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const provider = scripted([calling(["lookup", "{}", "c1"]), "an answer"]);
  await conversation.append("look it up");
  const engine = workshop.engine({ provider });
  await conversation.run(engine);
  await conversation.append("never mind");
  const { losses } = await conversation.run(engine);
  expect(losses).toMatchObject([{ kind: "repair", frame: "0", repair: { rule: "answer", detail: { callId: "c1" } } }]);
  const asked = (await wordsOf(workshop)).filter((words) => words.startsWith("asked"));
  expect(asked.at(-1)).toContain("; repaired: call c1 of block 1 answered as aborted: it had no result");
});
