import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { file, image, text } from "../../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { type Tool, tool } from "../../../src/engine/ports/tool.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { gated } from "../../support/gates.ts";
import { add, calling, noJson, resultsOf, run, throwNothing } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test("a request offers each tool with the JSON Schema of its input", async () => {
  const { provider } = await run(["done"]);
  expect(provider.requests[0]?.["tools"]).toMatchObject([
    {
      type: "function",
      name: "add",
      description: "Adds two numbers.",
      parameters: {
        properties: { left: { type: "number" }, right: { type: "number", default: 1 } },
        required: ["left"],
      },
    },
  ]);
});

test("a tool gets its input as its schema gives it", async () => {
  const { turn } = await run([calling(["add", '{"left": 2}']), "done"]);
  expect(resultsOf(turn)).toEqual(["3"]);
});

const url = "data:image/png;base64,AQID";

test("a tool answers with an image, a file or audio, and the model gets them as such", async () => {
  const parts = [text("The chart:"), image(url), file({ name: "a.pdf", data: "data:application/pdf;base64,AQID" })];
  const chart = tool({ name: "chart", description: "Draws.", inputSchema: z.object({}), execute: () => parts });
  const { turn, provider } = await run([calling(["chart", "{}"]), "done"], { tools: [chart] });
  expect(turn.blocks.find(({ kind }) => kind === "tool_result")?.payload["output"]).toEqual(parts);
  expect(provider.reading(1).at(-1)).toMatchObject({
    output: [{ type: "input_text" }, { type: "input_image", image_url: url }, { type: "input_file" }],
  });
});

test.each([
  [[]],
  [[{ type: "image", url }]],
  [[{ type: "text", text: "a", lang: "en" }]],
  [[image(url), { type: "row" }]],
  [{ type: "text", text: "a" }],
])("data that is not a list of parts is sent as JSON: %j", async (data) => {
  const look = tool({ name: "look", description: "Looks.", inputSchema: z.object({}), execute: () => data });
  const { turn } = await run([calling(["look", "{}"]), "done"], { tools: [look] });
  expect(resultsOf(turn)).toEqual([JSON.stringify(data)]);
});

test.each([
  ["arguments that are not of the schema", "add", '{"left": "two"}', /^Error: invalid arguments: .*left/s, true],
  ["arguments that are no JSON", "add", '{"left": ', /^Error: invalid arguments: not JSON/, true],
  ["a tool that is not there", "subtract", "{}", /^Error: there is no tool named subtract/, undefined],
  ["a tool that throws", "fail", "{}", /^Error: the tool's own trouble/, undefined],
  ["a tool that calls another one wrongly", "delegate", "{}", /^Error: invalid arguments: not JSON/, undefined],
] as const)("the model reads of %s, and the run continues", async (_, name, given, told, invalid) => {
  const fail = tool({
    name: "fail",
    description: "Fails.",
    inputSchema: z.object({}),
    execute: () => {
      throw new Error("the tool's own trouble");
    },
  });
  const delegate = tool({
    name: "delegate",
    description: "Has another tool do it.",
    inputSchema: z.object({}),
    execute: (_input, ctx) => add.run("{", ctx),
  });
  const tools = [add, fail, delegate];
  const { turn, events, outcome, provider } = await run([calling([name, given]), "done"], { tools });
  expect(outcome).toMatchObject({ status: "completed", text: "done" });
  expect(resultsOf(turn)[0]).toMatch(told);
  expect(dataOf(events, "ToolFinished")).toMatchObject([{ outcome: "error" }]);
  expect(dataOf(events, "ToolFinished").map((data) => data.invalid)).toEqual([invalid]);
  expect(provider.reading(1).at(-1)).toMatchObject({ type: "function_call_output", call_id: "c0" });
});

/** A tool that gives what its type does not allow, as JavaScript may. */
const giving = (gives: () => unknown, timeoutMs = 1_000): Tool => ({
  ...add,
  name: "give",
  timeoutMs,
  run: async () => await gives(),
});

test.each(noJson)("the model reads that a tool gave %s, and the run continues", async (_, gives) => {
  const { conversation, events, outcome, provider } = await run([calling(["give", "{}"]), "done"], {
    tools: [giving(gives)],
  });
  expect(outcome).toMatchObject({ status: "completed", text: "done" });
  expect(resultsOf(await conversation.turn())[0]).toMatch(/^Error: the tool give gave what is no JSON: ./);
  expect(dataOf(events, "ToolFinished")).toMatchObject([{ outcome: "error" }]);
  const told: unknown = expect.stringContaining("no JSON");
  expect(provider.reading(1).at(-1)).toMatchObject({ type: "function_call_output", output: told });
});

test("a tool may throw what has no text", async () => {
  const { outcome, turn } = await run([calling(["give", "{}"]), "done"], {
    tools: [giving(throwNothing)],
  });
  expect(outcome).toMatchObject({ status: "completed" });
  expect(resultsOf(turn)).toEqual(["Error: the thrown value has no message"]);
});

test.each(noJson)("a tool that was given up and gives %s later is recorded with its error", async (_, gives) => {
  const finish = Promise.withResolvers<unknown>();
  const late = giving(() => {
    void vi.advanceTimersByTimeAsync(1_000);
    return finish.promise;
  });
  const { turn, conversation } = await run([calling(["give", "{}"]), "done"], { tools: [late] });
  finish.resolve(gives());
  await vi.waitFor(async () => {
    expect(dataOf(await eventsOf(conversation), "ToolFinished")).toMatchObject([
      { outcome: "timeout" },
      { outcome: "error", late: true },
    ]);
  });
  expect(resultsOf(await conversation.turn())).toEqual(resultsOf(turn));
});

test("parallel calls run at the same time", async () => {
  let running = 0;
  let maxRunning = 0;
  const meet = tool({
    name: "meet",
    description: "Waits for the other.",
    inputSchema: z.object({}),
    async execute() {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await new Promise(setImmediate);
      running -= 1;
      return "met";
    },
  });
  const { turn } = await run([calling(["meet", "{}"], ["meet", "{}"], ["meet", "{}"]), "done"], { tools: [meet] });
  expect({ maxRunning, results: resultsOf(turn) }).toEqual({ maxRunning: 3, results: ["met", "met", "met"] });
});

test("a tool that takes too long is abandoned, the model learns of it, and a later result is recorded", async () => {
  const finish = Promise.withResolvers<string>();
  let heard: AbortSignal | null = null;
  const slow = tool({
    name: "slow",
    description: "Takes its time.",
    inputSchema: z.object({}),
    timeoutMs: 1_000,
    execute: (_, { signal }) => {
      heard = signal;
      void vi.advanceTimersByTimeAsync(1_000);
      return finish.promise;
    },
  });
  const { turn, outcome, conversation } = await run([calling(["slow", "{}"]), "done"], { tools: [slow] });
  expect(outcome).toMatchObject({ status: "completed" });
  expect(heard).toMatchObject({ aborted: true });
  expect(resultsOf(turn)).toEqual(["Error: no answer within 1000 ms"]);
  finish.resolve("at last");
  await vi.waitFor(async () => {
    expect(dataOf(await eventsOf(conversation), "ToolFinished")).toMatchObject([
      { outcome: "timeout" },
      { outcome: "ok", late: true, result: { payload: { output: "at last" } } },
    ]);
  });
  expect(resultsOf(await conversation.turn())).toEqual(["Error: no answer within 1000 ms"]);
});

test("a tool that was given up and comes back while the run goes on changes nothing but the log", async () => {
  const finish = Promise.withResolvers<string>();
  const slow = tool({
    name: "slow",
    description: "Takes its time.",
    inputSchema: z.object({}),
    timeoutMs: 1_000,
    execute: () => {
      void vi.advanceTimersByTimeAsync(1_000);
      return finish.promise;
    },
  });
  const { conversation, ...workshop } = createWorkshop();
  const provider = gated([calling(["slow", "{}"]), "done"], async (request) => {
    if (request === 0) return;
    finish.resolve("at last");
    await new Promise(setImmediate);
  });
  await conversation.append("hello");
  const turn = await (await conversation.run(workshop.engine({ provider, tools: [slow] }))).turn();
  expect(resultsOf(turn)).toEqual(["Error: no answer within 1000 ms"]);
  expect(typesOf(await eventsOf(conversation)).slice(-4)).toEqual([
    ...["InferenceRequested", "ToolFinished", "ResponseReceived", "RunCompleted"],
  ]);
});

test("the time of a tool is not the time of the layer that runs it", async () => {
  const slow = tool({
    name: "slow",
    description: "Takes its time.",
    inputSchema: z.object({}),
    timeoutMs: 1_000,
    async execute() {
      await vi.advanceTimersByTimeAsync(500);
      return "in time";
    },
  });
  const { turn } = await run([calling(["slow", "{}"]), "done"], { tools: [slow], layerTimeoutMs: 100 });
  expect(resultsOf(turn)).toEqual(["in time"]);
});

test("a custom tool call gets its input as text and a result of its kind", async () => {
  const shout = tool({
    name: "shout",
    description: "Shouts.",
    inputSchema: z.looseObject({}),
    execute: (input) => JSON.stringify(input),
  });
  const item = {
    type: "custom_tool_call",
    id: "ctc_1",
    call_id: "c0",
    name: "shout",
    input: '{"say":"hi"}',
    status: "completed",
  };
  const { turn } = await run([{ items: [item] }, "done"], { tools: [shout] });
  expect(turn.blocks.find(({ kind }) => kind === "tool_result")).toMatchObject({
    type: "custom",
    text: '{"say":"hi"}',
  });
});

test("a layer runs a call once, however often it is asked for", async () => {
  let runs = 0;
  const count = tool({
    name: "count",
    description: "Counts.",
    inputSchema: z.object({}),
    execute: () => {
      runs += 1;
      return "counted";
    },
  });
  const eager = defineMiddleware({ name: "eager", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const answer = await next(turn);
    const call = answer.last;
    if (call?.kind === "tool_call") await ctx.tool(call);
    return answer;
  });
  const { turn, events } = await run([calling(["count", "{}"]), "done"], { tools: [count], middleware: [eager] });
  expect({ runs, results: resultsOf(turn) }).toEqual({ runs: 1, results: ["counted"] });
  expect(dataOf(events, "ToolStarted")).toHaveLength(1);
});

test("a call that a layer made up is refused", async () => {
  const forge = defineMiddleware({ name: "forge", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const answer = await next(turn);
    const call = answer.last;
    if (call?.kind === "tool_call") await ctx.tool(call.withId(null).withId(turn.last?.id ?? null));
    return answer;
  });
  const { outcome, events } = await run([calling(["add", '{"left": 1}'])], { middleware: [forge] });
  expect(outcome).toMatchObject({ code: "run-failed" });
  expect(dataOf(events, "ToolStarted")).toEqual([]);
});

test.each<[string, (timeoutMs: number) => Partial<EngineConfig>]>([
  [
    "tool endless",
    (timeoutMs) => {
      const description = "Takes its time.";
      return {
        tools: [tool({ name: "endless", description, inputSchema: z.object({}), timeoutMs, execute: () => "" })],
      };
    },
  ],
  [
    "an answer of openai-responses",
    (timeoutMs) => ({ provider: openaiResponses({ model: "m", apiKey: "key", timeoutMs }) }),
  ],
  ["a layer", (layerTimeoutMs) => ({ layerTimeoutMs })],
])("%s may not take longer than others wait for a run", (what, config) => {
  const create = (timeoutMs: number) => (): unknown =>
    createEngine({ provider: scripted([]), takeoverAfterMs: 10_000, ...config(timeoutMs) });
  expect(create(10_001)).toThrow(RangeError);
  expect(create(10_001)).toThrow(`the limit of ${what} is 10001 ms`);
  expect(create(10_000)).not.toThrow();
  for (const odd of [0, -1, Number.NaN]) expect(create(odd)).toThrow(`the limit of ${what} is ${odd} ms: give 1`);
  const endless = (): unknown => createEngine({ provider: scripted([]), takeoverAfterMs: 2 ** 40, ...config(2 ** 31) });
  expect(endless).toThrow(`the limit of ${what} is ${2 ** 31} ms`);
});

test("a tool call names its tool as the log's actor, and its key is the same for both events", async () => {
  const { events } = await run([calling(["add", '{"left": 1}']), "done"]);
  const [started] = dataOf(events, "ToolStarted");
  expect(started).toMatchObject({ name: "add", idempotencyKey: started?.blockId });
  expect(events.find(({ event }) => event.type === "ToolFinished")?.actor).toEqual({ kind: "tool", name: "add" });
  expect(dataOf(events, "ToolFinished")[0]?.blockId).toBe(started?.blockId);
});

test("an answer that did not complete has none of its calls run", async () => {
  const answer: ScriptedAnswer = { text: "half an", calls: [{ name: "add", arguments: "{}" }], status: "incomplete" };
  const { outcome, turn, events } = await run([answer]);
  expect(outcome).toMatchObject({ status: "incomplete", text: "half an" });
  expect(turn.blocks.map(({ kind }) => kind)).toEqual(["user", "assistant"]);
  expect(dataOf(events, "ToolStarted")).toEqual([]);
});

test("a run on a conversation without blocks is refused and writes nothing", async () => {
  const { conversation, watched, ...workshop } = createWorkshop();
  expect(await rejectionOf(conversation.run(workshop.scripted([]).engine))).toMatchObject({
    code: "empty-conversation",
  });
  expect(watched.written).toEqual([]);
});
