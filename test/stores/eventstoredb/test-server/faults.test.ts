import { once } from "node:events";
import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { appendPaths, collect, connect, someEvents, typesOf } from "../../../support/eventstoredb/bare-client.ts";
import {
  anEvent,
  type Fault,
  startEventStoreDbCluster,
  startEventStoreDbServer,
} from "../../../support/eventstoredb/server.ts";

const stream = "conversation-1";

/** How the client puts each disturbance, by the way of appending. */
const outcomes = [
  { outcome: "reset", batch: "unavailable", classic: "unavailable" },
  { outcome: "cancel", batch: "cancelled", classic: "cancelled" },
  { outcome: "timeout", batch: "deadline-exceeded", classic: "timeout" },
  { outcome: "not-ready", batch: "unknown", classic: "unavailable" },
  { outcome: "access-denied", batch: "access-denied", classic: "access-denied" },
  { outcome: "too-large", batch: "maximum-append-size-exceeded", classic: "maximum-append-size-exceeded" },
  { outcome: "kill", batch: "unavailable", classic: "unavailable" },
  { outcome: "restart", batch: "unavailable", classic: "unavailable" },
] as const;

describe.each(appendPaths)("a disturbed append on the %s way", (path) => {
  test.each(outcomes)(
    "ends as $outcome before or after it was stored, and the same append goes through next",
    async ({ outcome, ...types }) => {
      for (const when of ["before", "after"] as const) {
        await using server = await startEventStoreDbServer();
        await using bare = connect(server.connectionString, path);
        const events = someEvents(2);
        const fault = server.inject({ on: "append", when, outcome });
        await expect(bare.append(stream, events, "no_stream")).rejects.toMatchObject({ type: types[path] });
        expect(fault.hits).toBe(1);
        expect(server.events(stream)).toHaveLength(when === "before" ? 0 : 2);
        if (outcome === "kill") await server.restart();
        // A restarting server takes a moment; the bare client gives up on each refused connection.
        const again = async (): Promise<unknown> => bare.append(stream, events, "no_stream").catch(again);
        expect(await again()).toMatchObject({ nextExpectedRevision: 1n });
        expect(server.events(stream).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
      }
    },
  );

  test("loses its acknowledgement, and another writer's event follows before anybody looks", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const events = someEvents(2);
    const foreign = { stream, events: [anEvent("Foreign")] };
    server.inject({ on: "append", when: "after", foreign, outcome: "reset" });
    await expect(bare.append(stream, events, "no_stream")).rejects.toMatchObject({ type: "unavailable" });
    expect(server.events(stream).map(({ type }) => type)).toEqual(["Happened0", "Happened1", "Foreign"]);
    expect(await bare.append(stream, events, "no_stream")).toMatchObject({ nextExpectedRevision: 1n });
  });

  test("fails with the status that a test wants, at the n-th append of the stream that it names", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const internal = { code: status.INTERNAL, details: "Broken." };
    const fault = server.inject({ on: "append", nth: 2, stream: "conversation-", outcome: internal });
    await bare.append(stream, someEvents(1));
    await bare.append("other-1", someEvents(1));
    expect(fault.hits).toBe(0);
    await expect(bare.append(stream, someEvents(1))).rejects.toThrow("Broken.");
    await bare.append(stream, someEvents(1));
    expect(server.events(stream)).toHaveLength(2);
  });

  test("waits until it is released, stored or not", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const before = server.inject({ on: "append", outcome: "hold" });
    const delayed = bare.append(stream, someEvents(1));
    await before.struck;
    expect(server.events(stream)).toEqual([]);
    before.release();
    await delayed;
    const after = server.inject({ on: "append", when: "after", outcome: "hold" });
    const unacknowledged = bare.append(stream, someEvents(1));
    await after.struck;
    expect(server.events(stream)).toHaveLength(2);
    await bare.append(stream, someEvents(1), 1n);
    after.release();
    expect(await unacknowledged).toMatchObject({ nextExpectedRevision: 1n });
  });

  test("names another leader", async () => {
    await using cluster = await startEventStoreDbCluster({ nodes: 2 });
    const [leader, follower] = cluster.nodes;
    await using bare = connect(follower?.connectionString ?? "", path);
    follower?.inject({ on: "append", outcome: "not-leader" });
    const address = { address: leader?.host, port: leader?.port };
    await expect(bare.append(stream, someEvents(1))).rejects.toMatchObject({ type: "not-leader", leader: address });
    await bare.append(stream, someEvents(1));
    expect(leader?.seenCalls().filter(({ operation }) => operation === "append")).toHaveLength(1);
  });
});

test("never acknowledges: the classic way gives up at its deadline, the batch way not before its stream dies", async () => {
  await using server = await startEventStoreDbServer();
  await using classic = connect(server.connectionString, "classic", 100);
  server.inject({ on: "append", when: "after", outcome: "silence" });
  await expect(classic.append(stream, someEvents(1))).rejects.toMatchObject({ type: "deadline-exceeded" });
  await server.idle();
  await using batch = connect(server.connectionString, "batch", 100);
  const silent = server.inject({ on: "append", when: "after", outcome: "silence" });
  const pending = batch.append(stream, someEvents(1));
  await silent.struck;
  const ended = expect(pending).rejects.toMatchObject({ type: "unavailable" });
  // By now the deadline has passed on the server's clock too: a classic append of the same length gives up.
  server.inject({ on: "append", outcome: "silence" });
  await expect(classic.append(stream, someEvents(1))).rejects.toMatchObject({ type: "deadline-exceeded" });
  await server.kill();
  await ended;
  expect(server.events(stream)).toHaveLength(2);
});

test("resets the batch stream in mid-batch: nothing of the append is stored, earlier ones are", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.inject({ on: "append", nth: 2, when: "first-chunk", outcome: "reset" });
  const options = { expectedRevision: "any", batchAppendSize: 200 } as const;
  const appends = await Promise.allSettled([
    bare.client.appendToStream("conversation-1", someEvents(20), options),
    bare.client.appendToStream("conversation-2", someEvents(20), options),
    bare.client.appendToStream("conversation-3", someEvents(20), options),
  ]);
  expect(appends[1]).toMatchObject({ status: "rejected", reason: { type: "unavailable" } });
  expect(server.events("conversation-2")).toEqual([]);
  for (const name of ["conversation-1", "conversation-3"]) expect([0, 20]).toContain(server.events(name).length);
});

test("fails the client's first question, which a broken client remembers for ever", async () => {
  await using server = await startEventStoreDbServer();
  server.inject({ on: "features", outcome: { code: status.INTERNAL, details: "Broken." } });
  await using broken = connect(server.connectionString);
  await expect(broken.append(stream, someEvents(1))).rejects.toThrow("Broken.");
  await expect(broken.append(stream, someEvents(1))).rejects.toThrow("Broken.");
  await using fresh = connect(server.connectionString);
  await fresh.append(stream, someEvents(1), "no_stream");
});

const readFaults: readonly { readonly outcome: Fault["outcome"]; readonly type: string }[] = [
  { outcome: "reset", type: "unavailable" },
  { outcome: "cancel", type: "cancelled" },
  { outcome: "restart", type: "unavailable" },
  { outcome: "not-ready", type: "unavailable" },
];

test.each(readFaults)(
  "cuts a read and a subscription by $outcome after so many events, and they go on from there",
  async ({ outcome, type }) => {
    await using server = await startEventStoreDbServer();
    server.write(
      stream,
      Array.from({ length: 100 }, (_, index) => anEvent(`E${index}`)),
    );
    for (const operation of ["read", "subscribe"] as const) {
      await using bare = connect(server.connectionString);
      const fault = server.inject({ on: operation, afterEvents: 40, outcome });
      const events = operation === "read" ? bare.client.readStream(stream) : bare.client.subscribeToStream(stream);
      const seen: string[] = [];
      events.on("data", ({ event }: { event?: { type: string } }) => seen.push(event?.type ?? ""));
      expect(await once(events, "error")).toMatchObject([{ type }]);
      expect(fault.hits).toBe(1);
      expect(seen.length).toBeLessThanOrEqual(40);
      expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => `E${index}`));
      await server.restart();
      await using again = connect(server.connectionString);
      const rest = again.client.readStream(stream, { fromRevision: BigInt(seen.length) });
      expect(typesOf(await collect(rest))).toHaveLength(100 - seen.length);
      await server.idle();
    }
  },
);

test("stalls a read until it is released, and for ever when it is silent", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A"), anEvent("B")]);
  const held = server.inject({ on: "read", afterEvents: 1, outcome: "hold" });
  const reading = collect(bare.client.readStream(stream));
  await held.struck;
  held.release();
  expect(typesOf(await reading)).toEqual(["A", "B"]);
  server.inject({ on: "read", afterEvents: 2, outcome: "silence" });
  const silent = bare.client.readStream(stream);
  const iterator = silent[Symbol.asyncIterator]();
  expect([(await iterator.next()).value, (await iterator.next()).value]).toHaveLength(2);
  await expect(server.idle(20)).rejects.toThrow("read conversation-1 (2 sent)");
  await silent.cancel();
  await server.idle();
});
