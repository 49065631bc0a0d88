import { afterAll, expect, test } from "vitest";
import { TurnlogError } from "../../src/base/turnlog-error.ts";
import { commit } from "../../src/conversation/commit.ts";

import { readModels } from "../../src/conversation/read-models.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import type { RunResult } from "../../src/engine/options/result.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { createProjector } from "../../src/log/read-models/projector.ts";
import { verification } from "../../src/operations/audit/verify.ts";
import { conversationList } from "../../src/projections/views/conversation-list.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { firstSeed, isLong } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";
import { faultKinds, type Port, type PortFault, ports, storeWithFault } from "../support/faults/port-faults.ts";
import { portMethods } from "../support/faults/port-methods.ts";
import { takeSnapshots } from "../support/log/take-snapshots.ts";
import { beforeRequest, dieAt } from "../support/run/scene.ts";

const noon = 1_772_366_400_000;
const stream = "conversation-cnv_workshop";
/** Turns of different stores are compared by digest. */
const newNamingKey = (): string => "0".repeat(64);
const tally = { faults: 0, told: 0 };

/** Two exchanges, one of them keyed, with snapshots every few events, and rows of all projections. */
async function prepared(): Promise<EventStore> {
  const events = createMemoryStore();
  const store = new TurnlogStore(events, { clock: () => noon, newNamingKey });
  const conversation = store.conversation("cnv_workshop");
  const provider = scripted(({ requestNumber }) => `early ${requestNumber}`, { prefix: "early_" });
  const engine = createEngine({ provider, clock: () => noon, newId: counted("early") });
  for (const text of ["one", "two", "three"]) {
    await conversation.append(`said ${text}`, { key: text });
    await conversation.run(engine);
  }
  await takeSnapshots(events, stream, { events: 6, edits: 5 });
  await store.list();
  await store.search("said");
  const gone = { hold: async () => "lse_gone", isAlive: async () => false };
  const cutOff = new TurnlogStore({ ...events, liveness: gone }, { clock: () => noon, newNamingKey }).conversation(
    "cnv_cut",
  );
  await cutOff.append("said before the process died");
  await dieAt({ conversation: cutOff, engine }, beforeRequest(0));
  // Of a process elsewhere the lease alone tells.
  const runId = (await cutOff.at(-1)).run?.id ?? "";
  const elsewhere = {
    processId: "prc_gone",
    bootId: "b",
    host: "elsewhere",
    pid: 1,
    startedAt: "then",
    pidNamespace: "n",
  };
  const owner = { ...elsewhere, lease: { storeId: events.storeId, id: "lse_gone" } };
  await cutOff[commit]([
    {
      event: { type: "RunResumed", version: 1, data: { epoch: 1, owner, stack: [] } },
      ...{ actor: { kind: "recovery" }, runId, frame: "0" },
    },
  ]);
  return events;
}

/** All that a process does that has just begun, step by step; a step that is told to have failed is taken again. */
async function play(events: EventStore, mayFail: boolean) {
  const store = new TurnlogStore(events, { clock: () => noon + 60_000, newNamingKey, pause: async () => undefined });
  const provider = scripted(({ requestNumber }) => `late ${requestNumber}`, { prefix: "late_" });
  const engine = createEngine({ provider, clock: () => noon + 60_000, newId: counted("late") });
  const told: unknown[] = [];
  const step = async (what: string, work: () => Promise<unknown>, isTold = false): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        told.push([what, await work()]);
        return;
      } catch (error) {
        if (!(mayFail || isTold) || attempt === 3 || !(error instanceof TurnlogError)) throw error;
        tally.told += 1;
      }
    }
  };
  const conversation = store.conversation("cnv_workshop");
  const runOf = ({ text, status }: RunResult) => ({ text, status });
  await step("said again", async () => (await conversation.append("said one", { key: "one" })).blocks[0]?.text);
  await step("said", async () => (await conversation.append("said four", { key: "four" })).blocks[0]?.text);
  await step("run", async () => runOf(await conversation.run(engine)));
  await step("run again", async () => runOf(await conversation.run(engine)));
  await step("answered long ago", async () => runOf(await conversation.run(engine, { key: "two" })));
  await step("past", async () => {
    const past = await conversation.at(9);
    return [(await past.content()).blocks.map(({ text }) => text), past.turn.digest];
  });
  await step("fork", async () => (await conversation.fork(9, { id: "cnv_fork" })).id);
  const fork = store.conversation("cnv_fork");
  await step("said in the fork", async () => (await fork.append("said one", { key: "fork" })).blocks[0]?.text);
  await step("run of the fork", async () => runOf(await fork.run(engine)));
  const cutOff = store.conversation("cnv_cut");
  await step("taken up", async () => runOf(await cutOff.run(engine, { unfinished: "resume" })));
  await step("followed", async () => {
    const { revision } = await cutOff.at(-1);
    let given = 0;
    for await (const _ of cutOff.follow(revision)) {
      given += 1;
      if (given === 2) break;
      // What comes once all that is there was read comes by the subscription.
      const relabelled = (): Promise<unknown> => cutOff.relabel({ title: `after ${revision}` });
      setTimeout(() => void relabelled().catch(relabelled).catch(relabelled));
    }
    return given;
  });
  await step("names", async () => {
    const names: string[] = [];
    for await (const id of store.conversations()) names.push(id);
    return names;
  });
  await store.list().catch(() => undefined);
  if (mayFail) await rebuildDegraded(events);
  await step("list", async () => (await store.list()).conversations.map(({ id, lastAt }) => [id, lastAt]));
  await store.search("said one").catch(() => undefined);
  if (mayFail) await rebuildDegraded(events);
  await step("search", async () => (await store.search("said one")).hits.map(({ snippet }) => snippet));
  await step("snapshots", () => takeSnapshots(events, stream, { events: 6, edits: 5 }));
  const titles = createProjector(events, conversationList);
  // A caller who has rows made anew, compared or counted is told that they cannot be.
  await step("rebuilt", () => titles.rebuild(), true);
  await step("compared", async () => (await titles.mismatchedRow(stream))?.key === "", true);
  await step("counted", () => titles.countListed({ lists: [""], from: null, until: null }), true);
  await step("degraded", async () => (await titles.degraded()).length, true);
  for (const each of [conversation, fork])
    await step("turn", async () => (await each.turn()).blocks.map(({ text }) => text));
  return { told, requests: provider.requests.length };
}

/** A view that could not take an event in says so, and is made again when somebody asks for that. */
async function rebuildDegraded(events: EventStore): Promise<void> {
  for (const model of readModels(events)) {
    await model.catchUp().catch(() => undefined);
    if ((await model.degraded()).length === 0) continue;
    await model.rebuild();
    tally.told += 1;
  }
}

/** Ids that count, in each case from 1. */
function counted(name: string): (prefix: string) => string {
  let ids = 0;
  return (prefix) => {
    ids += 1;
    return `${prefix}_${name.padEnd(6, "0")}${String(ids).padStart(16, "0")}`;
  };
}

/** The calls of each port that a script without a fault makes. */
async function counts() {
  const { events, calls } = storeWithFault(await prepared(), null);
  const expected = await play(events, false);
  return { calls, expected };
}

/** Every call of every port with every fault. Where there is little time, thirty of them, as many of each port. */
function drawn(calls: Record<Port, readonly string[]>): readonly PortFault[] {
  const of = (port: Port): readonly PortFault[] =>
    calls[port].flatMap((_, n) => faultKinds.map((kind) => ({ port, at: n + 1, kind })));
  if (isLong) return ports.flatMap(of);
  const random = createRandom(firstSeed);
  return Array.from({ length: 30 }, () => random.pick(of(random.pick(ports))));
}

test("a call that fails, returns damaged data or loses its answer changes no result: of events it is an error and repeated, of derived data it is a miss", {
  timeout: 3_600_000,
}, async () => {
  const { calls, expected } = await counts();
  const struck = Object.entries(portMethods).flatMap(([, methods]) =>
    Object.entries(methods).flatMap(([method, how]) => (how.struck === "call by call" ? [method] : [])),
  );
  expect(struck.toSorted()).toEqual([...new Set(Object.values(calls).flat())].toSorted());
  for (const fault of drawn(calls)) {
    const label = JSON.stringify([fault, calls[fault.port][fault.at - 1]]);
    const store = await prepared();
    const { events } = storeWithFault(store, fault);
    const mayFail = fault.port === "events" || fault.port === "liveness";
    expect(await play(events, mayFail).catch((error: unknown) => error), label).toEqual(expected);
    tally.faults += 1;
    const { problems } = await verification(store, { codecs });
    // What was deleted while a snapshot was written is missing from it: it is a miss, and verify says so.
    const isHalf = fault.kind === "finds all snapshots deleted" && calls[fault.port][fault.at - 1] === "put";
    expect(
      problems.filter(({ kind, message }) => !(isHalf && kind === "snapshot" && message.includes("is not there"))),
      label,
    ).toEqual([]);
  }
  expect(tally.told).toBeGreaterThan(0);
});

afterAll(() => {
  process.stdout.write(`ports: ${tally.faults} faulty calls, ${tally.told} of them told to a caller\n`);
});
