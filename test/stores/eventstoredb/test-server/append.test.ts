import { randomUUID } from "node:crypto";
import { jsonEvent } from "@eventstore/db-client";
import { describe, expect, test } from "vitest";
import {
  type AppendPath,
  appendPaths,
  collect,
  connect,
  revisionsOf,
  someEvents,
  typesOf,
} from "../../../support/eventstoredb/bare-client.ts";
import { anEvent, startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

const stream = "conversation-1";

describe.each(appendPaths)("the test server, by the %s way of appending", (path: AppendPath) => {
  test("numbers events from 0 and gives the position of the last one, beyond what a number holds", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    await bare.append(stream, someEvents(2), "no_stream");
    const result = await bare.append(stream, someEvents(2), 1n);
    const last = server.events(stream).at(-1);
    expect(result.nextExpectedRevision).toBe(3n);
    expect(result.position).toEqual({ commit: last?.position, prepare: last?.position });
    expect(last?.position).toBeGreaterThan(2n ** 53n);
    expect(server.seenCalls()).toContainEqual(expect.objectContaining({ operation: "append", path }));
  });

  test("tells expected and actual revision of a wrong expectation", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    await bare.append(stream, someEvents(3), "no_stream");
    const wrong = { type: "wrong-expected-version", streamName: stream, actualVersion: 2n };
    await expect(bare.append(stream, someEvents(1), 1n)).rejects.toMatchObject({ ...wrong, expectedVersion: 1n });
    await expect(bare.append(stream, someEvents(1), 7n)).rejects.toMatchObject({ ...wrong, expectedVersion: 7n });
    await expect(bare.append(stream, someEvents(1), "no_stream")).rejects.toMatchObject({
      ...wrong,
      expectedVersion: "no_stream",
    });
    await expect(bare.append("other-1", someEvents(1), 0n)).rejects.toMatchObject({ actualVersion: "no_stream" });
    await expect(bare.append("other-1", someEvents(1), "stream_exists")).rejects.toMatchObject({
      expectedVersion: "stream_exists",
      actualVersion: "no_stream",
    });
    expect(server.events(stream)).toHaveLength(3);
  });

  test("takes the same ids at the same revision for the same append, whatever their data, even after a restart", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const events = someEvents(2);
    const first = await bare.append(stream, events, "no_stream");
    await bare.append(stream, someEvents(1), 1n);
    const forged = events.map(({ id }) => jsonEvent({ id, type: "Forged", data: {} }));
    expect(await bare.append(stream, forged, "no_stream")).toEqual(first);
    await server.restart("stop");
    await using again = connect(server.connectionString, path);
    expect(await again.append(stream, events, "no_stream")).toEqual(first);
    expect(server.events(stream).map(({ type }) => type)).toEqual(["Happened0", "Happened1", "Happened0"]);
  });

  test("answers a repeated beginning with the beginning's end, and a partial overlap with a wrong revision", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const events = someEvents(3);
    await bare.append(stream, events, "no_stream");
    expect(await bare.append(stream, events.slice(0, 2), "no_stream")).toMatchObject({ nextExpectedRevision: 1n });
    expect(await bare.append(stream, events.slice(1), 0n)).toMatchObject({ nextExpectedRevision: 2n });
    const wrong = { type: "wrong-expected-version", actualVersion: 2n };
    await expect(bare.append(stream, [...events, ...someEvents(1)], "no_stream")).rejects.toMatchObject(wrong);
    await expect(bare.append(stream, [...events.slice(0, 1), ...someEvents(1)], "no_stream")).rejects.toMatchObject(
      wrong,
    );
    await expect(bare.append(stream, events.slice(0, 1), 0n)).rejects.toMatchObject(wrong);
    expect(server.events(stream)).toHaveLength(3);
  });

  test("stores a repeated append at any revision again, since the real server forgets", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const events = someEvents(1);
    await bare.append(stream, events, "any");
    expect(await bare.append(stream, events, "any")).toMatchObject({ nextExpectedRevision: 1n });
    await using patient = await startEventStoreDbServer({ rememberedIds: 10 });
    await using remembered = connect(patient.connectionString, path);
    await remembered.append(stream, events, "any");
    expect(await remembered.append(stream, events, "any")).toMatchObject({ nextExpectedRevision: 0n });
    await patient.restart("stop");
    await using later = connect(patient.connectionString, path);
    expect(await later.append(stream, events, "any")).toMatchObject({ nextExpectedRevision: 1n });
  });

  test("lets one of twenty racing first appends through", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const race = await Promise.allSettled(
      Array.from({ length: 20 }, () => bare.append(stream, someEvents(1), "no_stream")),
    );
    expect(race.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(server.events(stream)).toHaveLength(1);
  });

  test("refuses an append over its limit whole: data, metadata and two bytes for each character of the type count", async () => {
    await using server = await startEventStoreDbServer({ maxAppendBytes: 1000 });
    await using bare = connect(server.connectionString, path);
    // {"a":"…"} is 8 bytes and the text, the metadata {"b":1} 7 bytes, the type 4 bytes.
    const sized = (bytes: number) => jsonEvent({ type: "Ab", data: { a: "x".repeat(bytes - 19) }, metadata: { b: 1 } });
    await bare.append(stream, [sized(600), sized(400)], "no_stream");
    const tooLarge = { type: "maximum-append-size-exceeded", maxAppendSize: 1000 };
    await expect(bare.append(stream, [sized(600), sized(401)], 1n)).rejects.toMatchObject(tooLarge);
    expect(server.events(stream)).toHaveLength(2);
  });

  test("refuses an id that is no UUID, in words of its own for each way", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const append = bare.append(stream, [jsonEvent({ id: "V1StGXR8_Z5jdHi6B-myT", type: "A", data: {} })], "no_stream");
    const message = path === "batch" ? "Could not recognize BadRequest" : "Guid should contain 32 digits";
    await expect(append).rejects.toMatchObject({ type: "unknown" });
    await expect(append).rejects.toThrow(message);
    expect(server.events(stream)).toEqual([]);
  });

  test("stores a UUID in lower case", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    const id = randomUUID();
    await bare.append(stream, [jsonEvent({ id: id.toUpperCase(), type: "A", data: {} })], "no_stream");
    expect(server.events(stream)[0]?.id).toBe(id);
  });

  test("accepts an empty append, and returns the head of the stream", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString, path);
    server.write(stream, [anEvent("A"), anEvent("B")]);
    expect(await bare.append(stream, [], 1n)).toMatchObject({ nextExpectedRevision: 1n });
    await expect(bare.append(stream, [], 0n)).rejects.toMatchObject({ type: "wrong-expected-version" });
  });
});

describe("the test server", () => {
  test("puts an append together from many chunks, and keeps two hundred unawaited ones in order", async () => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString);
    await bare.client.appendToStream(stream, someEvents(50), { expectedRevision: "no_stream", batchAppendSize: 200 });
    expect(revisionsOf(await collect(bare.client.readStream(stream)))).toHaveLength(50);
    const appends = Array.from({ length: 200 }, (_, index) => bare.append("other-1", someEvents(1, `Event${index}-`)));
    await Promise.all(appends);
    const types = typesOf(await collect(bare.client.readStream("other-1")));
    expect(types).toEqual(Array.from({ length: 200 }, (_, index) => `Event${index}-0`));
  });

  test("answers a batch append whose deadline has passed by its own clock with a time-out", async () => {
    await using server = await startEventStoreDbServer({ now: () => Date.now() + 60_000 });
    await using bare = connect(server.connectionString);
    await expect(bare.append(stream, someEvents(1))).rejects.toMatchObject({ type: "deadline-exceeded" });
    expect(server.events(stream)).toEqual([]);
  });

  test.each(["classic", "unimplemented"] as const)(
    "is appended to the classic way when its features are %s",
    async (features) => {
      await using server = await startEventStoreDbServer({ features });
      await using bare = connect(server.connectionString);
      await bare.append(stream, someEvents(1), "no_stream");
      expect(server.seenCalls()).toContainEqual(expect.objectContaining({ operation: "append", path: "classic" }));
    },
  );
});
