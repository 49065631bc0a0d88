import { binaryEvent, jsonEvent } from "@eventstore/db-client";
import { expect, test } from "vitest";
import { collect, connect, revisionsOf, someEvents, typesOf } from "../../../support/eventstoredb/bare-client.ts";
import { anEvent, startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

const stream = "conversation-1";

test("reads a stream from a revision in both directions, that revision included", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(100), "no_stream");
  const read = async (options: Parameters<typeof bare.client.readStream>[1]) =>
    revisionsOf(await collect(bare.client.readStream(stream, options)));
  expect(await read({ fromRevision: 97n })).toEqual([97n, 98n, 99n]);
  expect(await read({ fromRevision: 2n, direction: "backwards" })).toEqual([2n, 1n, 0n]);
  expect(await read({ fromRevision: "end", direction: "backwards", maxCount: 2 })).toEqual([99n, 98n]);
  expect(await read({ fromRevision: 500n, direction: "backwards", maxCount: 1 })).toEqual([99n]);
  expect(await read({ maxCount: 3 })).toEqual([0n, 1n, 2n]);
  expect(await read({})).toHaveLength(100);
  expect(await read({ direction: "backwards", fromRevision: "end" })).toHaveLength(100);
  expect(await read({ fromRevision: 100n })).toEqual([]);
});

test("tells a missing stream from one read past its end", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await expect(collect(bare.client.readStream(stream))).rejects.toMatchObject({ type: "stream-not-found" });
  await server.idle();
});

test("gives back id, type, content, metadata and time as they were written", async () => {
  const nowMs = Date.UTC(2026, 7, 1, 12, 0, 0, 5);
  await using server = await startEventStoreDbServer({ now: () => nowMs });
  // The deadline is a time of day: the classic way does not send it.
  await using bare = connect(server.connectionString, "classic");
  const json = jsonEvent({ type: "Jötunn", data: { text: "ø\u{1F600}" }, metadata: { tenant: "a" } });
  const binary = binaryEvent({ type: "Bytes", data: Buffer.from([0, 255, 128]) });
  await bare.append(stream, [json, binary], "no_stream");
  const [first, second] = await collect(bare.client.readStream(stream));
  expect(first?.event).toMatchObject({
    id: json.id,
    type: "Jötunn",
    data: json.data,
    metadata: json.metadata,
    isJson: true,
  });
  expect(first?.event?.created.getTime()).toBe(nowMs);
  expect(second?.event).toMatchObject({ isJson: false });
  expect(second?.event?.data).toEqual(new Uint8Array([0, 255, 128]));
});

test("reads the whole log, the server's own events first: forwards from a position, backwards from before it", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A"), anEvent("B"), anEvent("C")]);
  const all = await collect(bare.client.readAll());
  expect(all.map(({ event }) => event?.streamId)).toEqual([
    ...["$$$stats-127.0.0.1:2113", "$user-admin", "$users"],
    ...[stream, stream, stream],
  ]);
  const middle = all[4]?.event?.position;
  if (middle === undefined) throw new Error("The event has no position.");
  expect(typesOf(await collect(bare.client.readAll({ fromPosition: middle })))).toEqual(["B", "C"]);
  const before = bare.client.readAll({ fromPosition: middle, direction: "backwards", maxCount: 1 });
  expect(typesOf(await collect(before))).toEqual(["A"]);
  const newest = bare.client.readAll({ fromPosition: "end", direction: "backwards", maxCount: 2 });
  expect(typesOf(await collect(newest))).toEqual(["C", "B"]);
});

test("refuses a position between two records, and has nothing beyond the end", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A")]);
  const last = server.events(stream)[0];
  const between = (last?.position ?? 0n) + 1n;
  const invalid = collect(bare.client.readAll({ fromPosition: { commit: between, prepare: between } }));
  await expect(invalid).rejects.toThrow("InvalidPosition");
  const beyond = { commit: (last?.end ?? 0n) + 999n, prepare: 0n };
  expect(await collect(bare.client.readAll({ fromPosition: beyond }))).toEqual([]);
});

test("stops sending while the reader is slow, and goes on when it reads", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  const filler = "x".repeat(10_000);
  server.write(
    stream,
    Array.from({ length: 1000 }, () => anEvent("A", { filler })),
  );
  const reading = bare.client.readStream(stream);
  const iterator = reading[Symbol.asyncIterator]();
  await iterator.next();
  await server.untilCalls(([call]) => (call?.eventsSent ?? 0) > 0);
  // 10 MB do not fit into the buffers of one HTTP/2 stream: the server has to wait.
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(server.openCalls()).toMatchObject([{ operation: "read", stream }]);
  expect(server.openCalls()[0]?.eventsSent).toBeLessThan(900);
  let rest = 0;
  while ((await iterator.next()).done !== true) rest += 1;
  expect(rest).toBe(999);
  await server.idle();
});

test("shows a read that was left early as open, until it is cancelled", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(
    stream,
    Array.from({ length: 1000 }, () => anEvent("A", "x".repeat(10_000))),
  );
  const reading = bare.client.readStream(stream);
  for await (const _ of reading) break;
  expect(server.openCalls()).toMatchObject([{ operation: "read", stream }]);
  await expect(server.idle(20)).rejects.toThrow("read conversation-1");
  await reading.cancel();
  await server.idle();
});
