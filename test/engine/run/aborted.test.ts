import { expect, test } from "vitest";
import * as z from "zod";
import { engineOf } from "../../../src/engine/options/engine.ts";
import { type ToolContext, tool } from "../../../src/engine/ports/tool.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted.ts";
import { gated, untilAborted } from "../../support/gates.ts";
import { call, echo, runInto, told } from "../../support/run/failing-runs.ts";
import { asked, beforeRequest, counted, createScene, dieAt, type Life, layer } from "../../support/run/scene.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

test("an abort while a tool runs leaves its call in doubt, and the other's result where it belongs", async () => {
  const abort = new AbortController();
  const hang = tool({
    name: "hang",
    description: "Hangs.",
    inputSchema: z.object({}),
    execute: (_, { signal }: ToolContext) => {
      setImmediate(() => {
        abort.abort(new Error("the user has gone"));
      });
      return untilAborted(signal);
    },
  });
  const calls = {
    calls: [
      { name: "hang", arguments: {}, callId: "c0" },
      { name: "echo", arguments: {}, callId: "c1" },
    ],
  };
  const provider = gated([calls, "never"], () => undefined);
  const { workshop, outcome } = await runInto({ provider, tools: [hang, echo] }, abort.signal);
  expect(outcome).toMatchObject({ code: "run-cancelled", cause: { message: "the user has gone" } });
  const turn = await workshop.conversation.turn();
  expect(told(turn).slice(0, 3)).toEqual(["user hello", "tool_call c0", "tool_call c1"]);
  expect(told(turn).slice(3).toSorted()).toEqual([
    "tool_result in doubt: the run ended while this tool ran; it may have taken effect",
    "tool_result result of c1",
  ]);
  const events = await eventsOf(workshop.conversation);
  expect(dataOf(events, "RunCancelled")).toMatchObject([{ reason: "the user has gone" }]);
  expect(events.findLast(({ event }) => event.type === "ToolFinished")?.actor).toEqual({ kind: "recovery" });
});

test.each(["at once", "after the run has ended"])(
  "a tool that comes back %s when its run was aborted is recorded as late",
  async (when) => {
    const abort = new AbortController();
    const finish = Promise.withResolvers<string>();
    const stubborn = tool({
      name: "stubborn",
      description: "Does not listen.",
      inputSchema: z.object({}),
      execute: (_, { signal }) => {
        setImmediate(() => {
          abort.abort();
        });
        if (when === "at once") signal.addEventListener("abort", () => finish.resolve("done all the same"));
        return finish.promise;
      },
    });
    const provider = gated([call("stubborn", "c0"), "never"], () => undefined);
    const { workshop } = await runInto({ provider, tools: [stubborn] }, abort.signal);
    const before = told(await workshop.conversation.turn());
    finish.resolve("done all the same");
    await expect.poll(async () => dataOf(await eventsOf(workshop.conversation), "ToolFinished")).toHaveLength(2);
    const finished = dataOf(await eventsOf(workshop.conversation), "ToolFinished");
    expect(finished.find(({ late }) => late === true)).toMatchObject({
      outcome: "ok",
      result: { payload: { output: "done all the same" } },
    });
    expect(told(await workshop.conversation.turn())).toEqual(before);
    expect(before.at(-1)).toContain("in doubt");
    expect(told(await (await workshop.conversation.at(-1)).content())).toEqual(before);
  },
);

test("an abort while a tool's start becomes durable keeps the tool from running", async () => {
  const abort = new AbortController();
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
  const { conversation, ...workshop } = createWorkshop({
    around: async (prepared, append) => {
      const result = await append();
      if (prepared.envelopes.some(({ type }) => type === "ToolStarted")) abort.abort();
      return result;
    },
  });
  await conversation.append("hello");
  const { engine } = workshop.scripted([call("count", "c0")], { tools: [count] });
  expect(await rejectionOf(conversation.run(engine, { signal: abort.signal }))).toMatchObject({
    code: "run-cancelled",
  });
  expect(runs).toBe(0);
  expect(told(await conversation.turn()).at(-1)).toContain("in doubt");
});

test("an abort in the middle of a stream keeps what was seen with the failure, and nothing in the Turn", async () => {
  const abort = new AbortController();
  const provider = gated([{ reasoning: "a complete thought", text: "a long answer" }], () => undefined);
  const observers = [
    {
      next: ({ type }: { readonly type: string }) => {
        if (type === "text-delta") abort.abort();
      },
    },
  ];
  const { workshop, outcome } = await runInto({ provider, observers }, abort.signal);
  expect(outcome).toMatchObject({ code: "run-cancelled" });
  const events = await eventsOf(workshop.conversation);
  expect(dataOf(events, "InferenceFailed")).toMatchObject([
    {
      kind: "aborted",
      outcome: "unknown",
      partial: [
        { type: "reasoning", summary: [{ text: "a complete thought" }] },
        { type: "message", status: "in_progress", content: [{ text: "a long a" }] },
      ],
    },
  ]);
  expect(told(await workshop.conversation.turn())).toEqual(["user hello"]);
});

test("a run that was aborted before it began leaves no trace, and counts as cancelled", async () => {
  const { workshop, outcome } = await runInto({ provider: gated([], () => undefined) }, AbortSignal.abort("why"));
  expect(outcome).toMatchObject({ code: "run-cancelled", cause: "why" });
  expect((await eventsOf(workshop.conversation)).map(({ event }) => event.type)).toEqual([
    "ConversationStarted",
    "BlockAppended",
  ]);
});

test.each<[string, (life: Life, signal: AbortSignal) => Promise<unknown>]>([
  ["run", ({ conversation, engine }, signal) => conversation.run(engine, { signal })],
  ["abandoned", ({ conversation, engine }, signal) => conversation.run(engine, { signal, unfinished: "abandon" })],
  ["resumed", ({ conversation, engine }, signal) => conversation.resume(engine, { signal })],
  [
    "resumed by another stack",
    ({ conversation, engine: { options } }, signal) => {
      const engine = engineOf({ ...options, layers: [layer("other", (turn, next) => next(turn))] });
      return conversation.resume(engine, { signal, onStackChanged: "abandon" });
    },
  ],
])("a run that was cut off stays as it is when it is %s by a signal that had aborted", async (_, begin) => {
  const scene = createScene(["an answer"]);
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(0));
  const life = scene.process();
  const before = await eventsOf(life.conversation);
  expect(await rejectionOf(begin(life, AbortSignal.abort("why")))).toMatchObject({
    code: "run-cancelled",
    cause: "why",
  });
  expect(await eventsOf(life.conversation)).toEqual(before);
  expect(await life.conversation.run(life.engine)).toMatchObject({ status: "completed", text: "an answer" });
});

test.each([
  ["before its first step", 0],
  ["between two steps", 1],
])("a run that is aborted while its log is replayed (%s) counts as cancelled, and stays open", async (_, passes) => {
  const scene = createScene([call("count", "c0"), "a lost answer", "an answer"]);
  const { tool: count, runs } = counted("count", false);
  const abort = new AbortController();
  const lives = { now: 0 };
  let passed = 0;
  const aborting = layer("aborting", (turn, next) => {
    if (lives.now === 2 && passed++ === passes) abort.abort(new Error("the user has gone"));
    return next(turn);
  });
  const process = (): Life => {
    lives.now += 1;
    return scene.process({ tools: [count], middleware: [aborting] });
  };
  const first = process();
  await first.conversation.append("hello");
  // Two requests and a tool are in the log.
  await dieAt(first, ({ kind, phase }) => kind === "inference" && phase === "after" && asked(scene.provider) === 2);
  const life = process();
  const before = await eventsOf(life.conversation);
  const running = life.conversation.run(life.engine, { signal: abort.signal });
  expect(await rejectionOf(running)).toMatchObject({
    code: "run-cancelled",
    cause: { message: "the user has gone" },
  });
  expect(await eventsOf(life.conversation)).toEqual(before);
  const last = process();
  expect(await last.conversation.run(last.engine)).toMatchObject({ status: "completed", resumed: true });
  expect(runs).toHaveLength(1);
});

const lost: ScriptedAnswer = {
  error: { message: "Previous response not found.", code: "previous_response_not_found", status: 400 },
};

test("a run of a fork that had been aborted takes nothing from its ancestors", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["one", lost, "two", "three"]);
  await conversation.append("hello");
  await conversation.run(engine);
  const fork = await conversation.fork();
  await fork.append("and then?");
  await conversation.append("and then?");
  // What this run learns of the server, a run of the fork would write down first.
  await conversation.run(engine);
  const before = await eventsOf(fork);
  expect(await rejectionOf(fork.run(engine, { signal: AbortSignal.abort() }))).toMatchObject({ code: "run-cancelled" });
  expect(await eventsOf(fork)).toEqual(before);
  await fork.run(engine);
  expect(typesOf(await eventsOf(fork)).indexOf("AnchorInvalidated")).toBe(before.length);
});
