import { expect, test } from "vitest";
import * as z from "zod";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Owner } from "../../../src/domain/events/run-events.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { thisProcess } from "../../../src/log/writer/owner.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { gated, untilAborted } from "../../support/gates.ts";
import { elsewhere, endOf, foreignRunId, inRun, startElsewhere } from "../../support/run/run-elsewhere.ts";
import {
  createWorkshop,
  dataOf,
  eventsOf,
  freshStore,
  rejectionOf,
  storeKinds,
  typesOf,
} from "../../support/workshop.ts";

/** A store that knows these leases to be alive. */
const withLeases = (alive: readonly string[]): EventStore => ({
  ...createMemoryStore(),
  liveness: { hold: async () => "lse_of_this_one", isAlive: async (id) => alive.includes(id) },
});

/** Has this process see the run of an owner of which it knows nothing: its waiting begins. */
async function firstLook(conversation: Conversation, engine: Engine): Promise<void> {
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-in-progress", owner: elsewhere });
}

test.each(storeKinds)("one process runs a conversation once at a time (%s)", async (kind) => {
  const events = await freshStore(kind);
  const { conversation, ...workshop } = createWorkshop({ events });
  const gate = Promise.withResolvers<undefined>();
  const provider = gated(["first", "second"], (request) => (request === 0 ? gate.promise : undefined));
  await conversation.append("hello");
  const first = conversation.run(workshop.engine({ provider }));
  const others = new TurnlogStore(events).conversation(conversation.id);
  await expect.poll(async () => typesOf(await eventsOf(conversation))).toContain("InferenceRequested");
  for (const each of [conversation, others]) {
    const told = rejectionOf(each.run(workshop.engine({ provider }), { whileRunning: "throw" }));
    expect(await told).toMatchObject({
      code: "run-in-progress",
      owner: { pid: process.pid },
    });
  }
  gate.resolve(undefined);
  expect((await first).text).toBe("first");
  await others.append("and now?");
  expect((await others.run(workshop.engine({ provider }))).text).toBe("second");
});

test("of two runs that begin at once on two writers of one stream, one waits and is given the answer", async () => {
  const events = createMemoryStore();
  const { conversation, ...workshop } = createWorkshop({ events });
  const others = new TurnlogStore(events).conversation(conversation.id);
  await conversation.append("hello");
  await others.turn();
  const gate = Promise.withResolvers<undefined>();
  const provider = gated(["first", "second"], () => gate.promise);
  const outcomes = Promise.all([conversation, others].map((each) => each.run(workshop.engine({ provider }))));
  await expect.poll(async () => typesOf(await eventsOf(conversation))).toContain("InferenceRequested");
  gate.resolve(undefined);
  expect(await outcomes).toMatchObject([
    { text: "first", isNew: true },
    { text: "first", isNew: false },
  ]);
  expect(typesOf(await eventsOf(conversation)).filter((type) => type === "RunStarted")).toHaveLength(1);
});

test("a run of an owner of which nothing is known is left alone until this process has waited for too long", async () => {
  const { conversation, clock, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await startElsewhere(conversation);
  const { engine } = workshop.scripted(["an answer"], { takeoverAfterMs: 100_000 });
  // That it was silent before says nothing: this process did not wait for it.
  clock.now += 100_000;
  await firstLook(conversation, engine);
  clock.now += 100_000;
  const refused = await rejectionOf(conversation.run(engine));
  expect(refused).toMatchObject({ code: "run-in-progress", owner: elsewhere });
  expect(String(refused)).toContain("process 4711 on elsewhere");
  expect(String(refused)).toContain("take it with `takeover: true` if that process hangs or is gone");
  clock.now += 1;
  const { closedRun } = await conversation.run(engine, { unfinished: "abandon" });
  expect(closedRun).toBe(foreignRunId);
  expect(dataOf(await eventsOf(conversation), "RunFailed")).toMatchObject([{ kind: "interrupted" }]);
});

test("an owner whose clock had jumped ahead is waited for no longer than any other", async () => {
  const { conversation, clock, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const days = 3 * 24 * 60 * 60_000;
  clock.now += days;
  await startElsewhere(conversation);
  clock.now -= days;
  const { engine } = workshop.scripted(["an answer"], { takeoverAfterMs: 100_000 });
  for (const wait of [0, 60_000, 40_000]) {
    clock.now += wait;
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-in-progress", owner: elsewhere });
  }
  clock.now += 1;
  expect((await conversation.run(engine, { unfinished: "abandon" })).closedRun).toBe(foreignRunId);
});

test("an owner whose clock is ahead keeps its run with every sign of life", async () => {
  const { conversation, clock, ...workshop } = createWorkshop();
  await conversation.append("hello");
  clock.now += 10 * 60_000;
  await startElsewhere(conversation);
  const { engine } = workshop.scripted(["an answer"], { takeoverAfterMs: 100_000 });
  for (const value of [false, true, false]) {
    const data = { capability: "chain", scope: "elsewhere", value, reason: "a sign of life" } as const;
    await conversation[commit]([inRun({ type: "CapabilityLearned", version: 1, data })]);
    clock.now -= 10 * 60_000;
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-in-progress" });
    clock.now += 60_000;
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-in-progress" });
    clock.now += 10 * 60_000;
  }
});

test("an owner that is known to live keeps its run, however long it is silent and whatever the clocks say", async () => {
  const events = withLeases(["lse_of_another"]);
  const { conversation, clock, ...workshop } = createWorkshop({ events });
  const lease = { storeId: events.storeId, id: "lse_of_another" };
  const others: readonly Owner[] = [
    { ...elsewhere, lease },
    // A thread of this process, and a process of this machine, as they were named before there were leases.
    { ...thisProcess(), processId: "prc_thread" },
  ];
  for (const [n, owner] of others.entries()) {
    const each = n === 0 ? conversation : workshop.store.conversation("cnv_other");
    await each.append("hello");
    await startElsewhere(each, owner);
    const { engine } = workshop.scripted(["an answer"], { takeoverAfterMs: 100_000 });
    for (const wait of [0, 100_001, 3 * 24 * 60 * 60_000]) {
      clock.now += wait;
      expect(await rejectionOf(each.run(engine))).toMatchObject({ code: "run-in-progress", owner });
    }
    expect((await each.run(engine, { unfinished: "abandon", takeover: true })).closedRun).toBe(foreignRunId);
  }
});

test("a run whose owner holds no lease any more is free at once, on whatever machine it was", async () => {
  const events = withLeases([]);
  const { conversation, ...workshop } = createWorkshop({ events });
  await conversation.append("hello");
  const lease = { storeId: events.storeId, id: "lse_of_a_container_that_was" };
  await startElsewhere(conversation, { ...elsewhere, lease });
  const { engine } = workshop.scripted(["an answer"]);
  expect((await conversation.run(engine, { unfinished: "abandon" })).closedRun).toBe(foreignRunId);
});

test("a lease of another store says nothing here: the events were copied, and nothing is known of their owner", async () => {
  const events = withLeases([]);
  const { conversation, ...workshop } = createWorkshop({ events });
  await conversation.append("hello");
  await startElsewhere(conversation, { ...elsewhere, lease: { storeId: "another", id: "lse_there" } });
  expect(await rejectionOf(conversation.run(workshop.scripted(["an answer"]).engine))).toMatchObject({
    code: "run-in-progress",
  });
});

test("users who go on talking do not keep the run of a silent owner open", async () => {
  const { conversation, clock, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await startElsewhere(conversation);
  const { engine } = workshop.scripted(["an answer"], { takeoverAfterMs: 100_000 });
  await firstLook(conversation, engine);
  clock.now += 90_000;
  await conversation.append("anybody there?");
  clock.now += 10_001;
  expect((await conversation.run(engine, { unfinished: "abandon" })).closedRun).toBe(foreignRunId);
});

test.each([
  ["closed", "abandon", "RunFailed"],
  ["taken up", "resume", "RunResumed"],
] as const)("an owner that speaks again while its run is being %s keeps it", async (_, unfinished, type) => {
  const events = createMemoryStore();
  let hasSpoken = false;
  const { conversation, clock, ...workshop } = createWorkshop({
    events,
    around: async (prepared, append) => {
      if (prepared.envelopes.some((envelope) => envelope.type === type) && !hasSpoken) {
        hasSpoken = true;
        await speak();
      }
      return append();
    },
  });
  const owner = new TurnlogStore(events, { clock: () => clock.now }).conversation(conversation.id);
  async function speak(): Promise<void> {
    const data = { capability: "chain", scope: "elsewhere", value: false, reason: "a sign of life" } as const;
    await owner[commit]([inRun({ type: "CapabilityLearned", version: 1, data })]);
  }
  await conversation.append("hello");
  await startElsewhere(conversation);
  const { engine, provider } = workshop.scripted(["an answer"], { takeoverAfterMs: 100_000 });
  await firstLook(conversation, engine);
  clock.now += 100_001;
  const running = conversation.run(engine, { unfinished });
  expect(await rejectionOf(running)).toMatchObject({ code: "run-in-progress", owner: elsewhere });
  expect(provider.requests).toEqual([]);
});

test("two processes that close one abandoned run do it once, and one of them goes on", async () => {
  const events = createMemoryStore();
  const { conversation, clock, ...workshop } = createWorkshop({ events });
  const others = new TurnlogStore(events, { clock: () => clock.now }).conversation(conversation.id);
  await conversation.append("hello");
  await startElsewhere(conversation);
  await others.turn();
  await firstLook(conversation, workshop.scripted([]).engine);
  clock.now += 16 * 60_000;
  const engines = [workshop.scripted(["one"]), workshop.scripted(["two"])];
  const runs = [conversation, others].map((each, n) =>
    each.run(engines[n]?.engine ?? workshop.scripted([]).engine, { unfinished: "abandon" }),
  );
  const outcomes = await Promise.allSettled(runs);
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
  const types = typesOf(await eventsOf(conversation)).filter((type) => type.startsWith("Run"));
  expect(types.join(" ")).toMatch(/^RunStarted RunFailed( RunStarted RunCompleted)+$/);
});

test("a user who speaks while an abandoned run is closed is heard", async () => {
  const { conversation, clock, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await startElsewhere(conversation);
  await conversation.append("still there?");
  await firstLook(conversation, workshop.scripted([]).engine);
  clock.now += 16 * 60_000;
  const turn = await (
    await conversation.run(workshop.scripted(["an answer"]).engine, { unfinished: "abandon" })
  ).turn();
  expect(turn.blocks.map(({ text }) => text)).toEqual(["hello", "still there?", "an answer"]);
});

test.each(storeKinds)("what users say during a run is durable at once, and follows its result (%s)", async (kind) => {
  const events = await freshStore(kind);
  const { conversation, ...workshop } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  const provider = gated(["an answer", "another answer"], async (request) => {
    await conversation.append(`here ${request}`);
    await other.append(`there ${request}`);
    const { turn, run } = await (await other.at(-1)).load();
    expect(turn.last?.text).not.toBe(`there ${request}`);
    expect(run?.pending.map(({ text }) => text)).toEqual([`here ${request}`, `there ${request}`]);
  });
  await conversation.append("hello");
  await conversation.run(workshop.engine({ provider }));
  const turn = await (await conversation.run(workshop.engine({ provider }))).turn();
  expect(turn.blocks.map(({ text }) => text)).toEqual([
    ...["hello", "an answer", "here 0", "there 0"],
    ...["another answer", "here 1", "there 1"],
  ]);
  // The appends that others overtook were prepared again; nothing was asked twice.
  expect(provider.requests).toHaveLength(2);
});

test("a message that comes between the look and the first event of a run is in its request", async () => {
  const events = createMemoryStore();
  let isFirst = true;
  const { conversation, ...workshop } = createWorkshop({
    events,
    around: async (prepared, append) => {
      if (isFirst && prepared.envelopes.some(({ type }) => type === "RunStarted")) {
        isFirst = false;
        await new TurnlogStore(events).conversation("cnv_workshop").append("wait, one more thing");
      }
      return append();
    },
  });
  await conversation.append("hello");
  const { engine, provider } = workshop.scripted(["an answer"]);
  const turn = await (await conversation.run(engine)).turn();
  expect(turn.blocks.map(({ text }) => text)).toEqual(["hello", "wait, one more thing", "an answer"]);
  expect(provider.reading(0)).toHaveLength(2);
});

test("a run that someone else ended writes nothing more", async () => {
  const events = createMemoryStore();
  const { conversation, ...workshop } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  const provider = gated(["an answer"], async () => {
    const { run, turn } = await other.at(-1);
    await other.turn();
    await other[commit]([endOf(run?.id ?? "", turn.digest)]);
  });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(workshop.engine({ provider })))).toMatchObject({ code: "run-taken-over" });
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["InferenceRequested", "RunFailed"]);
});

test("tools in flight end when their run is taken over", async () => {
  const events = createMemoryStore();
  const { conversation, ...workshop } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  const ends: unknown[] = [];
  const takesOver = tool({
    name: "takes-over",
    description: "Ends the run it is in.",
    inputSchema: z.object({}),
    async execute() {
      await other.turn();
      const { run } = (await (await other.at(-1)).load()).view.client;
      if (run === null) throw new Error("no run is open");
      const results = run.turns.openCalls;
      expect(results).toHaveLength(2);
      await other[commit]([endOf(run.id, run.turns.unfinishedTurn().digest)]);
      return "done";
    },
  });
  const waits = tool({
    name: "waits",
    description: "Waits for ever.",
    inputSchema: z.object({}),
    execute: (_, { signal }) =>
      untilAborted(signal).catch((error: unknown) => {
        ends.push(error);
        throw error;
      }),
  });
  const calls = ["takes-over", "waits"].map((name) => ({ name, arguments: {} }));
  const provider = gated([{ calls }], () => undefined);
  await conversation.append("hello");
  const running = conversation.run(workshop.engine({ provider, tools: [takesOver, waits] }));
  expect(await rejectionOf(running)).toMatchObject({ code: "run-taken-over" });
  expect(ends).toMatchObject([{ code: "run-taken-over" }]);
  expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunFailed");
});

test("a label given during a run does not disturb it", async () => {
  const events = createMemoryStore();
  const { conversation, ...workshop } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  const provider = gated(["an answer"], () => other.relabel({ title: "A talk" }));
  await conversation.append("hello");
  expect((await conversation.run(workshop.engine({ provider }))).text).toBe("an answer");
  expect((await (await conversation.at(-1)).load()).view.title).toBe("A talk");
});
