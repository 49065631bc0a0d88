import { describe, expect, test } from "vitest";
import { collect, connect, someEvents, typesOf } from "../../../support/eventstoredb/bare-client.ts";
import { anEvent, startEventStoreDbCluster, startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

/** Each switch bites, so that a suite that draws it meets it. */

const stream = "conversation-1";
const late = { timeout: 10_000 };

test("lets a hundred calls of a connection begin, and keeps the others waiting without a word", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  const subscriptions = Array.from({ length: 110 }, () => bare.client.subscribeToStream(stream));
  for (const each of subscriptions) each.on("error", () => undefined);
  await server.untilCalls((calls) => calls.length === 100);
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  expect(server.openCalls()).toHaveLength(100);
  await Promise.all(subscriptions.map((each) => each.unsubscribe()));
});

describe("a filtered subscription that matched nothing before the end", () => {
  const beyond = 2n ** 64n - 1n;
  test.each([
    [true, beyond],
    [false, null],
  ])("with the fault %s gets the checkpoint %s", async (checkpointBeyondEnd, told) => {
    await using server = await startEventStoreDbServer({ unkindness: { checkpointBeyondEnd } });
    await using bare = connect(server.connectionString);
    const checkpoints: bigint[] = [];
    const filter = {
      ...{ filterOn: "streamName" as const, checkpointInterval: 1, prefixes: ["none-"] },
      checkpointReached: (_: unknown, { commit }: { readonly commit: bigint }) => void checkpoints.push(commit),
    };
    const subscription = bare.client.subscribeToAll({ filter });
    await new Promise((resolve) => subscription.once("caughtUp", resolve));
    expect(checkpoints).toEqual(told === null ? [] : [told]);
    await subscription.unsubscribe();
  });
});

test("shows what was acknowledged later, where the index lags", async () => {
  await using server = await startEventStoreDbServer({ unkindness: { indexLagMs: 400 } });
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(1), "no_stream");
  await expect(collect(bare.client.readStream(stream))).rejects.toMatchObject({ type: "stream-not-found" });
  // A conflict is told by what is written, and not by what can be read.
  await expect(bare.append(stream, someEvents(1), "no_stream")).rejects.toMatchObject({ actualVersion: 0n });
  await expect.poll(async () => typesOf(await collect(bare.client.readAll())), late).toContain("Happened0");
});

test("acknowledges what is replicated, says nothing to a repeat before, and loses the rest with its leader", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2, writeTimeoutMs: 50 });
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("two nodes were started");
  await using bare = connect(first.connectionString);
  first.holdReplication();
  const events = someEvents(2);
  for (const _ of ["at first", "again"])
    await expect(bare.append(stream, events, "no_stream")).rejects.toMatchObject({ type: "deadline-exceeded" });
  expect(first.events(stream)).toHaveLength(2);
  cluster.elect(second);
  expect(second.events(stream)).toHaveLength(0);
});

test("serves as a new leader before its index has caught up", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2, unkindness: { lateLeaderMs: 400 } });
  const [, second] = cluster.nodes;
  if (second === undefined) throw new Error("two nodes were started");
  second.write(stream, [anEvent("A")]);
  cluster.elect(second);
  await using bare = connect(second.connectionString);
  const read = () => collect(bare.client.readStream(stream, { requiresLeader: true }));
  await expect(read()).rejects.toMatchObject({ type: "stream-not-found" });
  await expect.poll(async () => typesOf(await read().catch(() => [])), late).toEqual(["A"]);
});

test("believes that it leads while it is cut off, writes nothing, and says that it is not ready once it has noticed", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2, writeTimeoutMs: 50 });
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("two nodes were started");
  await using bare = connect(first.connectionString);
  await bare.append(stream, someEvents(1), "no_stream");
  cluster.cutOff(first);
  cluster.elect(second);
  await expect(bare.append(stream, someEvents(1), 0n)).rejects.toMatchObject({ type: "deadline-exceeded" });
  second.write(stream, [anEvent("B")]);
  const read = () => collect(bare.client.readStream(stream, { requiresLeader: true }));
  expect(typesOf(await read())).toEqual(["Happened0"]);
  cluster.resign(first);
  await expect(read()).rejects.toMatchObject({ type: "unavailable" });
  cluster.rejoin(first);
  await expect(read()).rejects.toMatchObject({ type: "not-leader" });
});

test.each([
  ["data", 1],
  ["all", 0],
] as const)("counts %s against the limit of an append", async (countedBytes, stored) => {
  await using server = await startEventStoreDbServer({ maxAppendBytes: 100, unkindness: { countedBytes } });
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(1, "Happened".repeat(10)), "no_stream").catch(() => undefined);
  expect(server.events(stream)).toHaveLength(stored);
});

test("ends a live subscription to which too much comes at once, where its version does", async () => {
  await using server = await startEventStoreDbServer({ unkindness: { endsSlowConsumers: true } });
  await using bare = connect(server.connectionString);
  const subscription = bare.client.subscribeToAll();
  const failed = new Promise<Error>((resolve) => subscription.once("error", resolve));
  await new Promise((resolve) => subscription.once("caughtUp", resolve));
  server.write(
    stream,
    Array.from({ length: 40 }, () => anEvent("A")),
  );
  expect((await failed).message).toContain("Consumer too slow");
});

test("drops the connection of a reader that stalls, with all of its calls", async () => {
  await using server = await startEventStoreDbServer({ unkindness: { stalledReaderMs: 30 } });
  await using bare = connect(server.connectionString);
  server.write(
    stream,
    Array.from({ length: 500 }, () => anEvent("A", { filler: "x".repeat(10_000) })),
  );
  const other = bare.client.subscribeToStream("conversation-2");
  const lost = new Promise<Error>((resolve) => other.once("error", resolve));
  const reading = bare.client.readStream(stream)[Symbol.asyncIterator]();
  await reading.next();
  expect(await lost).toBeInstanceOf(Error);
});

test("compares prefixes by culture", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  for (const name of ["conversation-\u0301a", "conversation-b"]) server.write(name, [anEvent(name)]);
  const filter = { filterOn: "streamName" as const, checkpointInterval: 1, prefixes: ["conversation-"] };
  const subscription = bare.client.subscribeToAll({ filter });
  const seen: string[] = [];
  subscription.on("data", ({ event }) => void seen.push(event?.type ?? ""));
  await new Promise((resolve) => subscription.once("caughtUp", resolve));
  expect(seen).toEqual(["conversation-b"]);
  await subscription.unsubscribe();
});
