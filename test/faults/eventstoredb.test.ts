import { describe, expect, onTestFinished, test } from "vitest";
import { StoreUnavailableError } from "../../src/log/ports/store-errors.ts";
import { all, appendPrepared, headAfter, prepared } from "../../src/testing/contracts/prepared.ts";
import { isLong, isRound, partOf } from "../support/cases.ts";
import { type EventStoreDbServer, type Fault, startEventStoreDbCluster } from "../support/eventstoredb/server.ts";
import { foreignEvents, playThrough, sharedStream } from "../support/faults/eventstoredb-script.ts";
import { opened, startServer, withSetting } from "../support/stores/eventstoredb-opened.ts";

/** As at a server whose own time-outs are short, so that silence is found out soon. */
const quick = "deadlineMs=8000&turnlogCommitTimeout=320&turnlogReadTimeout=320";

/** Where there is little time, so many runs of the tests play the script with a fault at every call. */
const runs = isRound ? 6 : 12;

/** `npm test` begins with the third call: the first reads have nothing to lose after an event. */
const first = 1 + ((partOf(runs) + 2) % runs);

/** Plays the script once for every call of the fault's kind, which the fault strikes, or for some of them; answers how often it did. */
async function playWithFault(fault: Fault): Promise<number> {
  const calls = await countCalls(fault);
  let strikes = 0;
  for (let nth = isLong ? 1 : first; nth <= calls; nth += isLong ? 1 : runs) {
    const server = await startServer();
    const injected = server.inject({ ...fault, nth });
    await playThrough({ server, url: withSetting(server.connectionString, quick) });
    strikes += injected.hits;
    await server.stop();
  }
  return strikes;
}

/** There are three calls of every kind, so that what \`npm test\` plays strikes one. */
const atLeast = (strikes: number): number =>
  isLong ? strikes : Math.max(first === 3 ? 1 : 0, Math.floor(strikes / runs));

/** The calls of the script without a fault, which is played once and not for each kind of call. */
let undisturbed: ReturnType<EventStoreDbServer["seenCalls"]> | undefined;
async function countCalls({ on, stream = "" }: Fault): Promise<number> {
  if (undisturbed === undefined) {
    const server = await startServer();
    await playThrough({ server, url: server.connectionString });
    undisturbed = server.seenCalls();
  }
  return undisturbed.filter((call) => call.operation === on && call.stream.startsWith(stream)).length;
}

const conversation = { stream: "conversation-" };

describe("whatever happens to an append, its events are there once", () => {
  const outcomes = ["reset", "cancel", "timeout", "not-ready", "not-leader", "restart", "silence"] as const;
  test.each(outcomes.flatMap((outcome) => (["before", "after"] as const).map((when) => ({ outcome, when }))))(
    "$outcome, $when it took effect",
    async ({ outcome, when }) => {
      expect(await playWithFault({ ...conversation, on: "append", when, outcome })).toBeGreaterThanOrEqual(atLeast(6));
    },
  );

  test("reset in the midst of it", async () => {
    const fault: Fault = { ...conversation, on: "append", when: "first-chunk", outcome: "reset" };
    expect(await playWithFault(fault)).toBeGreaterThanOrEqual(atLeast(6));
  });

  test.each([
    ["lost before it took effect", "before", "reset"],
    ["written, the answer lost", "after", "reset"],
    ["written, and never answered", "after", "silence"],
    ["written, and answered with a time-out", "after", "timeout"],
  ] as const)("%s, while another writer appends to the same stream", async (_, when, outcome) => {
    const foreign = { stream: sharedStream, events: foreignEvents() };
    const fault: Fault = { stream: sharedStream, on: "append", when, outcome, foreign };
    expect(await playWithFault(fault)).toBeGreaterThanOrEqual(atLeast(3));
  });
});

describe("whatever happens to a read, it gives each event once", () => {
  const outcomes = ["reset", "cancel", "not-ready", "restart", "silence"] as const;
  test.each(outcomes.flatMap((outcome) => [0, 1].map((afterEvents) => ({ outcome, afterEvents }))))(
    "$outcome, after $afterEvents events",
    async ({ outcome, afterEvents }) => {
      // Some reads end before there is an event, and have nothing to lose after one.
      expect(await playWithFault({ on: "read", outcome, afterEvents })).toBeGreaterThanOrEqual(atLeast(10));
    },
  );
});

describe("whatever happens to a subscription, it gives each event once", () => {
  const outcomes = ["reset", "cancel", "not-ready", "restart"] as const;
  test.each(outcomes.flatMap((outcome) => [0, 1, 5].map((afterEvents) => ({ outcome, afterEvents }))))(
    "$outcome, after $afterEvents events",
    async ({ outcome, afterEvents }) => {
      const server = await startServer();
      const injected = server.inject({ on: "subscribe", outcome, afterEvents });
      await playThrough({ server, url: withSetting(server.connectionString, quick) });
      expect(injected.hits).toBe(1);
    },
  );

  test("lost after every event", async () => {
    const server = await startServer();
    const injected = server.inject({ on: "subscribe", outcome: "reset", afterEvents: 1, everySince: true });
    await playThrough({ server, url: withSetting(server.connectionString, quick) });
    expect(injected.hits).toBeGreaterThanOrEqual(12);
  });
});

describe("a server that comes and goes", () => {
  test.each(["kill", "stop"] as const)("is found again after a restart (%s) between any two rounds", async (how) => {
    const server = await startServer();
    await playThrough({ server, url: withSetting(server.connectionString, quick), onRound: () => server.restart(how) });
  });

  test("hands over to another leader", async () => {
    const cluster = await startEventStoreDbCluster({ nodes: 3 });
    onTestFinished(() => cluster.stop());
    const [first, second, third] = cluster.nodes;
    if (first === undefined || second === undefined || third === undefined) throw new Error("three nodes were started");
    const url = withSetting(cluster.connectionString, "defaultDeadline=2000");
    const onRound = async (round: number): Promise<void> => {
      if (round === 1) cluster.elect(second);
      if (round !== 2) return;
      await second.kill();
      cluster.elect(third);
    };
    await playThrough({ server: third, url, onRound });
    await first.untilCalls((calls) => calls.length === 0);
  });

  test("reads acknowledged events from the leader, although the address prefers a follower that lags", async () => {
    const cluster = await startEventStoreDbCluster({ nodes: 3 });
    onTestFinished(() => cluster.stop());
    const store = await opened(withSetting(cluster.connectionString, "nodePreference=follower"));
    for (const node of cluster.nodes.slice(1)) node.freeze();
    const { sent } = await appendPrepared(store, { count: 3 });
    expect(await store.head(sent.stream)).toEqual(headAfter(sent));
    expect(await all(store.readStream(sent.stream))).toHaveLength(3);
    expect(await all(store.readLog())).toHaveLength(3);
  });

  test("gets an error when no node is left, and continues when they are back", async () => {
    const cluster = await startEventStoreDbCluster({ nodes: 2 });
    onTestFinished(() => cluster.stop());
    const settings = "defaultDeadline=300&turnlogReadTimeout=160&maxDiscoverAttempts=1&discoveryInterval=10";
    const store = await opened(withSetting(cluster.connectionString, settings));
    const { sent } = await appendPrepared(store, { count: 2 });
    const following = all(store.subscribe({ limit: 3 }));
    await cluster.nodes[0]?.untilCalls((calls) => calls.some(({ operation }) => operation === "subscribe"));
    for (const node of cluster.nodes) await node.kill();
    const next = prepared({ stream: sent.stream, expected: headAfter(sent) });
    await expect(store.append(next)).rejects.toThrow(StoreUnavailableError);
    await expect(store.head(sent.stream)).rejects.toThrow(StoreUnavailableError);
    for (const node of cluster.nodes) await node.restart();
    expect(await store.append(next)).toMatchObject({ status: "appended" });
    expect((await following).map((event) => event.revision)).toEqual([0, 1, 2]);
  });

  test("survives a call that is lost while a server is looked for in vain", async () => {
    const cluster = await startEventStoreDbCluster({ nodes: 2 });
    onTestFinished(() => cluster.stop());
    const settings = "defaultDeadline=5000&maxDiscoverAttempts=1&discoveryInterval=500";
    const store = await opened(withSetting(cluster.connectionString, settings));
    const [leader] = cluster.nodes;
    leader?.inject({ on: "subscribe", outcome: "reset", afterEvents: 1 });
    leader?.inject({ on: "append", stream: "conversation-", nth: 2, outcome: "reset" });
    const lookedFor = cluster.nodes.map((node) => node.inject({ on: "gossip", outcome: "reset" }));
    const following = all(store.subscribe({ limit: 3 }));
    const { sent } = await appendPrepared(store, {});
    // The subscription is lost and looks for a server, when the call for appends breaks as well.
    await Promise.all(lookedFor.map((fault) => fault.struck));
    await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 2 });
    expect(await following).toHaveLength(3);
  });
});
