import { expect, test } from "vitest";
import { collect, connect, revisionsOf, someEvents, typesOf } from "../../../support/eventstoredb/bare-client.ts";
import { startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

const stream = "conversation-1";

test("hides a soft-deleted stream, keeps it in the whole log, and numbers on when it is written to again", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(4), "no_stream");
  await bare.client.deleteStream(stream, { expectedRevision: 3n });
  await expect(collect(bare.client.readStream(stream))).rejects.toMatchObject({ type: "stream-not-found" });
  await expect(bare.append(stream, someEvents(1), "stream_exists")).rejects.toMatchObject({ type: "stream-deleted" });
  expect(typesOf(await collect(bare.client.readAll()))).toContain("Happened3");
  expect(await bare.append(stream, someEvents(2, "Again"), "no_stream")).toMatchObject({ nextExpectedRevision: 5n });
  expect(revisionsOf(await collect(bare.client.readStream(stream)))).toEqual([4n, 5n]);
  const { metadata } = await bare.client.getStreamMetadata(stream);
  expect(metadata).toMatchObject({ truncateBefore: 4 });
});

test("refuses a deletion at a wrong revision, with trailers", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(2), "no_stream");
  const wrong = { type: "wrong-expected-version", expectedVersion: 0n, actualVersion: 1n };
  await expect(bare.client.deleteStream(stream, { expectedRevision: 0n })).rejects.toMatchObject(wrong);
  await expect(bare.client.tombstoneStream(stream, { expectedRevision: 0n })).rejects.toMatchObject(wrong);
});

test("ends a tombstoned stream for ever, for readers, writers and subscribers", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(1), "no_stream");
  await bare.client.tombstoneStream(stream, { expectedRevision: 0n });
  const deleted = { type: "stream-deleted", streamName: stream };
  await expect(collect(bare.client.readStream(stream))).rejects.toMatchObject(deleted);
  await expect(bare.append(stream, someEvents(1), "no_stream")).rejects.toMatchObject(deleted);
  await expect(bare.append(stream, someEvents(1), "any")).rejects.toMatchObject(deleted);
  await expect(collect(bare.client.subscribeToStream(stream))).rejects.toMatchObject(deleted);
  await server.idle();
});

test("cuts a stream by count, age and truncation, so that revision 0 is missing", async () => {
  let nowMs = Date.now();
  await using server = await startEventStoreDbServer({ now: () => nowMs });
  await using bare = connect(server.connectionString, "classic");
  await bare.append(stream, someEvents(4), "no_stream");
  const shown = async () => revisionsOf(await collect(bare.client.readStream(stream)));
  await bare.client.setStreamMetadata(stream, { maxCount: 3 });
  expect(await shown()).toEqual([1n, 2n, 3n]);
  const first = bare.client.readStream(stream, { maxCount: 1 });
  expect(revisionsOf(await collect(first))).toEqual([1n]);
  await bare.client.setStreamMetadata(stream, { truncateBefore: 2 });
  expect(await shown()).toEqual([2n, 3n]);
  const backwards = bare.client.readStream(stream, { direction: "backwards", fromRevision: "end" });
  expect(revisionsOf(await collect(backwards))).toEqual([3n, 2n]);
  await bare.client.setStreamMetadata(stream, { maxAge: 10 });
  expect(await shown()).toHaveLength(4);
  nowMs += 11_000;
  expect(await shown()).toEqual([]);
  expect(server.events(stream)).toHaveLength(4);
});

test("keeps one event of a metadata stream", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await bare.client.setStreamMetadata(stream, { maxCount: 3 });
  await bare.client.setStreamMetadata(stream, { maxCount: 4 });
  expect(revisionsOf(await collect(bare.client.readStream(`$$${stream}`)))).toEqual([1n]);
  expect((await bare.client.getStreamMetadata(stream)).metadata).toEqual({ maxCount: 4 });
});
