import { expect, test } from "vitest";
import { runIdSchema } from "../../../src/domain/ids.ts";
import { assistant, toolResult } from "../../../src/domain/make-block.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { asked, beforeRequest, counted, createScene, dieAt, inTool, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

/** A conversation whose model charges somebody before it answers. */
function chargingShop() {
  const { conversation, store, watched, ...workshop } = createWorkshop();
  const charge = counted("charge", false);
  const { engine, provider } = workshop.scripted([calling(["charge", "{}"]), "paid", "another answer", "a third"], {
    tools: [charge.tool],
  });
  return { conversation, store, watched, workshop, engine, provider, charge };
}

test("a message that is delivered twice is answered once: no model is asked, no tool runs and nothing is written", async () => {
  const { conversation, engine, provider, charge, watched } = chargingShop();
  const deliver = async () => {
    const { isNew } = await conversation.append("charge me", { key: "message-1" });
    return { isAppended: isNew, result: await conversation.run(engine) };
  };
  const first = await deliver();
  const written = watched.written.length;
  const second = await deliver();
  expect([first, second]).toMatchObject([
    { isAppended: true, result: { isNew: true, text: "paid", status: "completed" } },
    { isAppended: false, result: { isNew: false, text: "paid", status: "completed" } },
  ]);
  expect(JSON.stringify({ ...second.result, isNew: true })).toBe(JSON.stringify(first.result));
  expect((await second.result.turn()).digest).toBe((await first.result.turn()).digest);
  expect({ requests: asked(provider), charges: charge.runs.length }).toEqual({ requests: 2, charges: 1 });
  expect(watched.written).toHaveLength(written);
});

test("the recorded result is given after a restart, to any engine, and without a provider being looked at", async () => {
  const path = temporaryFolder().file("turnlog.db");
  const before = createWorkshop({ events: await openSqliteStore(path) });
  await before.conversation.append("hello");
  await before.conversation.run(before.scripted(["an answer"]).engine);
  await before.store.close();
  const after = createWorkshop({ events: await openSqliteStore(path) });
  const { engine, provider } = after.scripted([], { middleware: [layer("other", (turn, next) => next(turn))] });
  expect(await after.conversation.run(engine)).toMatchObject({ isNew: false, text: "an answer" });
  expect(asked(provider)).toBe(0);
});

test("what is streamed again is the blocks of the answer and its end", async () => {
  const { conversation, engine } = chargingShop();
  await conversation.append("charge me");
  await conversation.run(engine);
  const parts: RunPart[] = [];
  for await (const part of conversation.stream(engine)) parts.push(part);
  expect(parts.map(({ type }) => type)).toEqual(["block", "block", "run-end"]);
  expect(parts.at(-1)).toMatchObject({ result: { isNew: false, text: "paid" } });
});

test("again: true asks anew, and the log says that somebody wanted it", async () => {
  const { conversation, engine, provider } = chargingShop();
  await conversation.append("charge me");
  await conversation.run(engine);
  expect(await conversation.run(engine, { again: true })).toMatchObject({ isNew: true, text: "another answer" });
  const starts = dataOf(await eventsOf(conversation), "RunStarted").map(({ again }) => again);
  expect({ starts, requests: asked(provider) }).toEqual({ starts: [undefined, true], requests: 3 });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "another answer" });
});

test("the result of a message is given by its key, also after later ones, and while another run goes on", async () => {
  const { conversation, engine, provider } = chargingShop();
  await conversation.append("charge me", { key: "one" });
  const first = await conversation.run(engine, { key: "one" });
  await conversation.append("what else?", { key: "two" });
  const second = await conversation.run(engine, { key: "two" });
  await conversation.append("and now?", { key: "three" });
  for await (const stop of conversation.step(engine)) {
    if (stop.kind !== "inference" || stop.phase !== "before") continue;
    const again = await conversation.run(engine, { key: "one" });
    expect(again).toMatchObject({ isNew: false, text: "paid", runId: first.runId });
    expect((await again.turn()).digest).toBe((await first.turn()).digest);
    expect(again.steps.map(({ blocks }) => blocks.length)).toEqual(first.steps.map(({ blocks }) => blocks.length));
    expect(await conversation.run(engine, { key: "two" })).toMatchObject({ isNew: false, runId: second.runId });
  }
  expect(asked(provider)).toBe(4);
  expect(await rejectionOf(conversation.run(engine, { key: "four" }))).toMatchObject({ code: "message-not-found" });
});

test("a message that came while a run was open is answered by the next one, and its key names that one", async () => {
  const { conversation, engine, provider } = chargingShop();
  await conversation.append("charge me", { key: "one" });
  for await (const stop of conversation.step(engine)) {
    if (stop.kind === "tool" && stop.phase === "before") await conversation.append("wait", { key: "two" });
  }
  const first = await conversation.run(engine, { key: "one" });
  expect(first).toMatchObject({ isNew: false, text: "paid" });
  expect(first.blocks.map(({ kind }) => kind)).toEqual(["tool_call", "tool_result", "assistant"]);
  expect((await first.turn()).blocks.slice(-2).map(({ text }) => text)).toEqual(["paid", "wait"]);
  expect(asked(provider)).toBe(2);
  expect(await conversation.run(engine, { key: "two" })).toMatchObject({ isNew: true, text: "another answer" });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "another answer" });
});

test.each([
  ["a user", { kind: "user" }],
  ["the app", { kind: "app" }],
  ["an import", { kind: "import" }],
] as const)("a block appended by %s waits for an answer", async (_, actor) => {
  const { conversation, engine } = chargingShop();
  await conversation.append("charge me");
  await conversation.run(engine);
  await conversation.append(assistant("by the way"), { actor });
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, text: "another answer" });
});

test("labels and a title leave an answer as it is", async () => {
  const { conversation, engine } = chargingShop();
  await conversation.append("charge me");
  await conversation.run(engine);
  await conversation.relabel({ title: "a payment", labels: { user: "u1" } });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "paid" });
});

test("a revert to what a run left is answered by that run, and any other waits", async () => {
  const { conversation, engine, provider } = chargingShop();
  await conversation.append("charge me");
  const first = await conversation.run(engine);
  await conversation.append("what else?");
  await conversation.run(engine);
  await conversation.revertToExchange(0);
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, runId: first.runId, text: "paid" });
  expect(asked(provider)).toBe(3);
  // The Turn of the first message, without its answer.
  await conversation.revertTo(1);
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, text: "a third" });
});

test("a message that a revert took out is not there to be answered", async () => {
  const { conversation, engine } = chargingShop();
  await conversation.append("charge me", { key: "one" });
  await conversation.run(engine);
  await conversation.append("forget it", { key: "two" });
  await conversation.revertToExchange(0);
  expect(await rejectionOf(conversation.run(engine, { key: "two" }))).toMatchObject({ code: "message-not-found" });
});

test("a fork inherits the answer, a child does not", async () => {
  const { conversation, engine, provider } = chargingShop();
  await conversation.append("charge me");
  const { runId } = await conversation.run(engine);
  const fork = await conversation.fork();
  expect(await fork.run(engine)).toMatchObject({ isNew: false, runId, text: "paid" });
  expect((await (await fork.run(engine)).turn()).digest).toBe((await conversation.turn()).digest);
  const [call] = (await conversation.turn()).blocks.flatMap((block) => (block.kind === "tool_call" ? [block.id] : []));
  if (call == null) throw new Error("no call");
  const child = await conversation.child("helper", { runId: runIdSchema.parse(runId), blockId: call });
  await child.append("help");
  expect(await child.run(engine)).toMatchObject({ isNew: true });
  expect(asked(provider)).toBe(3);
});

test("a run that failed, was cancelled or is parked has not answered", async () => {
  const scene = createScene([{ error: { message: "no" } }, calling(["charge", "{}"]), "paid"], {
    tools: [counted("charge", false).tool],
  });
  const { conversation, engine } = scene.process();
  await conversation.append("charge me");
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-failed" });
  const abort = new AbortController();
  const gate = async (): Promise<null> => {
    abort.abort(new Error("not now"));
    return null;
  };
  const cancelled = conversation.run(engine, interceptedBy(gate, { signal: abort.signal }));
  expect(await rejectionOf(cancelled)).toMatchObject({ code: "run-cancelled" });
  await dieAt({ conversation, engine }, inTool("charge", "before"));
  expect(await scene.process().conversation.run(engine)).toMatchObject({ status: "parked", isNew: true });
  expect(await scene.process().conversation.run(engine)).toMatchObject({ status: "parked", isNew: true });
});

test("another run that was wanted and failed leaves the answer that there was", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const { engine } = workshop.scripted(["an answer", { error: { message: "no" } }]);
  await conversation.run(engine);
  expect(await rejectionOf(conversation.run(engine, { again: true }))).toMatchObject({ code: "run-failed" });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "an answer" });
});

test("only the next caller of run finishes a run that was cut off", async () => {
  const charge = counted("charge", true);
  const scene = createScene([calling(["charge", "{}"]), "paid", "never asked for"], { tools: [charge.tool] });
  const first = scene.process();
  await first.conversation.append("charge me", { key: "one" });
  await dieAt(first, beforeRequest(1));
  const second = scene.process();
  const results = await Promise.all([
    second.conversation.run(second.engine, { key: "one" }),
    second.conversation.run(second.engine),
    scene.process().conversation.run(second.engine),
  ]);
  expect(results.map(({ text, resumed }) => ({ text, resumed }))).toEqual(
    Array.from({ length: 3 }, () => ({ text: "paid", resumed: true })),
  );
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect({ requests: asked(scene.provider), charges: charge.runs.length }).toEqual({ requests: 2, charges: 1 });
});

test("calls that no tool answers end the run as such; the results of them are answered", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted([calling(["lookup", "{}", "c1"]), "it is 42"]);
  await conversation.append("look it up");
  const open = await conversation.run(engine);
  expect(open).toMatchObject({ status: "calls-open", openCalls: [{ name: "lookup", callId: "c1" }] });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, status: "calls-open", openCalls: [{}] });
  expect(asked(provider)).toBe(1);
  await conversation.append(toolResult({ callId: "c1", output: "42" }), { actor: { kind: "app" } });
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", isNew: true, text: "it is 42" });
});

test("of two runs that ended with one block the newest counts, also where a snapshot has the first one", async () => {
  const events = createMemoryStore();
  const { conversation, ...workshop } = createWorkshop({ events });
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["an answer"]).engine);
  // A layer takes back what the model said, so the Turn ends with the first answer again.
  const silent = layer("silent", async (turn, next) => {
    await next(turn);
    return turn;
  });
  const second = await conversation.run(workshop.scripted(["said in vain"], { middleware: [silent] }).engine, {
    again: true,
  });
  await takeSnapshots(events, "conversation-cnv_workshop", { events: 1, edits: 1 });
  const { engine, provider } = workshop.scripted([]);
  const reopened = createWorkshop({ events }).conversation;
  expect(await reopened.run(engine)).toMatchObject({ isNew: false, runId: second.runId });
  expect(asked(provider)).toBe(0);
});

test("a Turn whose messages a layer took away is answered by the run that ended with it", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const forget = layer("forget", async (turn, next) => {
    const answered = await next(turn);
    return answered.with(answered.blocks.slice(-1));
  });
  const { engine, provider } = workshop.scripted(["an answer"], { middleware: [forget] });
  await conversation.append("hello");
  await conversation.run(engine);
  expect((await conversation.turn()).blocks.map(({ kind }) => kind)).toEqual(["assistant"]);
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "an answer" });
  expect(asked(provider)).toBe(1);
});

test("an answer without blocks leaves its message unanswered, and the message is asked again", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted([{ items: [] }, "an answer"]);
  await conversation.append("hello");
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, blocks: [] });
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, text: "an answer" });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "an answer" });
  expect(asked(provider)).toBe(2);
});
