import { expect, test } from "vitest";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { gated } from "../../support/gates.ts";
import { call, echo, runInto, told } from "../../support/run/failing-runs.ts";
import { createWorkshop, dataOf, eventsOf, freshStore, rejectionOf, storeKinds } from "../../support/workshop.ts";

const refusal = new ProviderError("the provider is down", { kind: "server-error", outcome: "rejected", status: 500 });

/** What the Turn has to be when the n-th request (from 0) fails: every step before it, and nothing of what follows. */
const expectedAfter = (steps: number): readonly string[] => [
  "user hello",
  ...Array.from({ length: steps }, (_, step) => [
    `reasoning thinking of c${step}`,
    `tool_call c${step}`,
    `tool_result result of c${step}`,
  ]).flat(),
];

test.each([0, 1, 2, 3])("when request %i fails the Turn holds every step before it", async (failing) => {
  const script = [call("echo", "c0"), call("echo", "c1"), call("echo", "c2"), "done"];
  const provider = gated(script, (request) => (request === failing ? Promise.reject(refusal) : undefined));
  const { workshop, outcome } = await runInto({ provider, tools: [echo] });
  expect(outcome).toMatchObject({ code: "run-failed", kind: "server-error", cause: refusal });
  expect(told(await workshop.conversation.turn())).toEqual(expectedAfter(failing));
});

test.each(storeKinds)("the conversation goes on where a failed run left it (%s)", async (kind) => {
  const { conversation, ...workshop } = createWorkshop({ events: await freshStore(kind) });
  const provider = gated([call("echo", "c0"), "recovered"], (request) =>
    request === 1 ? Promise.reject(refusal) : undefined,
  );
  const engine = workshop.engine({ provider, tools: [echo] });
  await conversation.append("hello");
  await rejectionOf(conversation.run(engine));
  const { turn: readTurn, closedRun } = await conversation.run(engine);
  const turn = await readTurn();
  expect(told(turn)).toEqual([...expectedAfter(1), "assistant recovered"]);
  expect(closedRun).toBeNull();
});

test("an answer that no later request was made from is not kept", async () => {
  const spoil = defineMiddleware({ name: "spoil", version: "1.0.0" }, (next) => async (turn) => {
    await next(turn);
    throw new Error("the layer's own trouble");
  });
  const provider = gated(["an answer"], () => undefined);
  const { workshop, outcome } = await runInto({ provider, middleware: [spoil] });
  expect(outcome).toMatchObject({ code: "run-failed", kind: "layer-failed" });
  expect(told(await workshop.conversation.turn())).toEqual(["user hello"]);
  expect(dataOf(await eventsOf(workshop.conversation), "ResponseReceived")).toHaveLength(1);
});

test("what a finished layer removed stays removed, and what it did to the request is undone", async () => {
  const filter: Layer = defineMiddleware({ name: "filter", version: "1.0.0" }, (next) => async (turn) => {
    const shouting = turn.map((block) => (block.kind === "user" ? block.withText(block.text.toUpperCase()) : block));
    const result = await next(shouting);
    return result.filter(({ kind }) => kind !== "reasoning");
  });
  const provider = gated([call("echo", "c0"), "never"], (request) =>
    request === 1 ? Promise.reject(refusal) : undefined,
  );
  const { workshop } = await runInto({ provider, tools: [echo], middleware: [filter] });
  expect(told(await workshop.conversation.turn())).toEqual(["user hello", "tool_call c0", "tool_result result of c0"]);
});

test("a call that has not begun when its run fails is answered as aborted", async () => {
  const refuse = defineMiddleware({ name: "refuse", version: "1.0.0" }, (next) => async (turn) => {
    const result = await next(turn);
    // Asked again with the call still open: the step counts, its tool never started.
    return next(result);
  });
  const provider = gated([call("echo", "c0"), "never"], (request) =>
    request === 1 ? Promise.reject(refusal) : undefined,
  );
  const { workshop } = await runInto({ provider, middleware: [refuse] });
  expect(told(await workshop.conversation.turn())).toEqual([
    "user hello",
    "reasoning thinking of c0",
    "tool_call c0",
    "tool_result aborted",
  ]);
  expect(dataOf(await eventsOf(workshop.conversation), "ToolFinished")).toMatchObject([{ outcome: "aborted" }]);
});

test("blocks that were appended meanwhile follow what remains of a failed run", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const provider = gated([call("echo", "c0"), "never"], async (request) => {
    await conversation.append(`while request ${request} was open`);
    if (request === 1) throw refusal;
  });
  await conversation.append("hello");
  await rejectionOf(conversation.run(workshop.engine({ provider, tools: [echo] })));
  expect(told(await conversation.turn())).toEqual([
    ...expectedAfter(1),
    "user while request 0 was open",
    "user while request 1 was open",
  ]);
});

test("a branch whose tool ran remains, although a later answer came that led nowhere", async () => {
  const twice = defineMiddleware({ name: "twice", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const first = await next(turn);
    const made = first.last;
    if (made !== undefined) await ctx.tool(made);
    await next(turn).catch(() => undefined);
    throw new Error("neither was good");
  });
  const provider = gated([call("echo", "c0"), call("echo", "c1")], () => undefined);
  const { workshop } = await runInto({ provider, middleware: [{ ...twice, tools: [echo] }] });
  const events = await eventsOf(workshop.conversation);
  const failed = dataOf(events, "RunFailed")[0];
  expect(failed?.discardedTools ?? []).toEqual([]);
  expect(told(await workshop.conversation.turn())).toEqual(expectedAfter(1));
});

test("tools that ran in a branch which was given up for another are named", async () => {
  const twice = defineMiddleware({ name: "twice", version: "1.0.0" }, (next) => async (turn, ctx) => {
    for (let branch = 0; branch < 2; branch += 1) {
      const made = (await next(turn)).last;
      if (made !== undefined) await ctx.tool(made);
    }
    throw new Error("neither was good");
  });
  const provider = gated([call("echo", "c0"), call("echo", "c1")], () => undefined);
  const { workshop } = await runInto({ provider, middleware: [{ ...twice, tools: [echo] }] });
  const failed = dataOf(await eventsOf(workshop.conversation), "RunFailed")[0];
  expect(failed?.discardedTools).toHaveLength(1);
  expect(told(await workshop.conversation.turn())).toEqual([
    "user hello",
    "reasoning thinking of c1",
    "tool_call c1",
    "tool_result result of c1",
  ]);
});

test("the text of a result is the answer, whatever was appended meanwhile", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const provider = gated(["the answer"], () => conversation.append("one thing more"));
  await conversation.append("hello");
  const { text, turn: readTurn } = await conversation.run(workshop.engine({ provider }));
  const turn = await readTurn();
  expect(text).toBe("the answer");
  expect(told(turn)).toEqual(["user hello", "assistant the answer", "user one thing more"]);
});
