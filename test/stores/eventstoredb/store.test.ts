import { expect, test } from "vitest";
import { comparePositions, type StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import {
  EventTooLargeError,
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
} from "../../../src/log/ports/store-errors.ts";
import { all, appendPrepared, headAfter, jsonText, prepared } from "../../../src/testing/contracts/prepared.ts";
import { anEvent } from "../../support/eventstoredb/server.ts";
import { describeSnapshots, describeViews } from "../../support/stores/contract.ts";
import { opened, startServer, withSetting } from "../../support/stores/eventstoredb-opened.ts";

// Its contract as an event store is played at an unkind server (unkind.test.ts), and at others in store-contract.slow.test.ts.
describeSnapshots("the EventStoreDB store", async () => opened((await startServer()).connectionString));
describeViews("the EventStoreDB store", async () => opened((await startServer()).connectionString));

test("writes an event as JSON that the server's own tools read, data and id unchanged", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const data = '{ "b": 1.0, "a": "é" }';
  const { sent } = await appendPrepared(store, { data: [data], extra: { runId: "run_1", frame: "" } });
  const [event] = server.events(sent.stream);
  const [envelope] = sent.envelopes;
  expect(event).toMatchObject({ id: envelope?.id, type: "Noted", isJson: true });
  expect(Buffer.from(event?.data ?? []).toString("utf8")).toBe(data);
  const metadata = { turnlog: 1, version: 1, at: envelope?.at, actor: { kind: "app" }, runId: "run_1", frame: "" };
  const digests = { encoding: "json", dataDigest: envelope?.dataDigest, digest: envelope?.digest };
  expect(JSON.parse(Buffer.from(event?.metadata ?? []).toString("utf8"))).toEqual({ ...metadata, ...digests });
});

test("has one id for everybody who opens it, however many do so at once", async () => {
  const server = await startServer();
  const stores = await Promise.all(Array.from({ length: 8 }, () => opened(server.connectionString)));
  expect(new Set(stores.map((store) => store.storeId)).size).toBe(1);
  expect(server.events("turnlog-store")).toHaveLength(1);
  const other = await opened(withSetting(server.connectionString, "turnlogNamespace=other"));
  expect(other.storeId).not.toBe(stores[0]?.storeId);
});

test("refuses a store that is not there when it must exist, and creates nothing", async () => {
  const server = await startServer();
  const before = server.events().length;
  await expect(opened(server.connectionString, { mustExist: true })).rejects.toThrow(StoreNotFoundError);
  expect(server.events()).toHaveLength(before);
  await opened(server.connectionString);
  await opened(server.connectionString, { mustExist: true });
});

test("refuses the store of a newer turnlog, and a stream of its name that is another program's", async () => {
  const newer = await startServer();
  const metadata = Buffer.from(JSON.stringify({ turnlog: 2 }));
  newer.write("turnlog-store", [{ ...anEvent("StoreCreated", {}), metadata }]);
  await expect(opened(newer.connectionString)).rejects.toThrow(StoreTooNewError);
  const foreign = await startServer();
  foreign.write("turnlog-store", [anEvent("StoreCreated", { storeId: "x" })]);
  await expect(opened(foreign.connectionString)).rejects.toThrow(StoreCorruptedError);
  await expect(opened(foreign.connectionString)).rejects.toThrow("turnlogNamespace");
});

test("sends the appends of all stores of a process at one address over one call, and ends it with the last of them", async () => {
  const server = await startServer();
  const [first, second] = [await opened(server.connectionString), await opened(server.connectionString)];
  for (const store of [first, second]) await appendPrepared(store, { count: 2 });
  expect(server.openCalls().map((call) => call.operation)).toEqual(["batch"]);
  await first.close();
  await appendPrepared(second, {});
  await second.close();
  await server.untilCalls((calls) => calls.length === 0);
});

test("gives positions that keep all their digits and order as the server's do", async () => {
  const server = await startServer({ firstPosition: 2n ** 63n - 20_000n });
  const store = await opened(server.connectionString);
  await appendPrepared(store, { count: 150 });
  const log = await all(store.readLog());
  expect(log).toHaveLength(150);
  const places = server.events(log[0]?.stream).map((event) => event.position);
  expect(log.map((event) => BigInt(event.position.split("/")[0] ?? ""))).toEqual(places);
  expect(log.every((event, n) => n === 0 || comparePositions(log[n - 1]?.position ?? "", event.position) < 0)).toBe(
    true,
  );
  expect(await all(store.readLog({ after: log[70]?.position ?? "" }))).toEqual(log.slice(71));
});

test("refuses a position that another store has given", async () => {
  const store = await opened((await startServer()).connectionString);
  await expect(all(store.readLog({ after: "12" }))).rejects.toThrow(StoreCorruptedError);
  await expect(all(store.subscribe({ after: "12" }))).rejects.toThrow(StoreCorruptedError);
});

test("stops at an event that another program wrote to a stream, and leaves it out of the log with a warning", async () => {
  const server = await startServer();
  const warnings: string[] = [];
  const store = await opened(server.connectionString, { warn: (message) => warnings.push(message) });
  const { sent } = await appendPrepared(store, { count: 2 });
  server.write(sent.stream, [anEvent("Ordered")]);
  const second = await appendPrepared(store, {});
  const seen: number[] = [];
  const read = async (): Promise<void> => {
    for await (const event of store.readStream(sent.stream)) seen.push(event.revision);
  };
  await expect(read()).rejects.toThrow(`another program wrote event 2 of ${sent.stream}`);
  expect(seen).toEqual([0, 1]);
  await expect(store.append(prepared({ stream: sent.stream, expected: headAfter(sent) }))).rejects.toThrow(
    StoreCorruptedError,
  );
  expect(server.events(sent.stream)).toHaveLength(3);
  for (const _ of [1, 2]) expect((await all(store.readLog())).at(-1)?.id).toBe(second.sent.envelopes[0]?.id);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain("turnlogNamespace");
});

test.each([
  ["$maxCount", { $maxCount: 2 }],
  ["$maxAge", { $maxAge: 1_000_000 }],
  ["$tb", { $tb: 2 }],
])("refuses a stream with %s, from which the server drops events", async (_, settings) => {
  const server = await startServer();
  const writer = await opened(server.connectionString);
  const { sent } = await appendPrepared(writer, { count: 4 });
  await writer.close();
  server.write(`$$${sent.stream}`, [anEvent("$metadata", settings)]);
  const store = await opened(server.connectionString);
  const next = prepared({ stream: sent.stream, expected: headAfter(sent) });
  await expect(store.append(next)).rejects.toThrow(StoreCorruptedError);
  await expect(store.append(next)).rejects.toThrow("$maxCount, $maxAge or $tb");
  expect(server.events(sent.stream)).toHaveLength(4);
  if ("$maxAge" in settings) return;
  await expect(all(store.readStream(sent.stream))).rejects.toThrow("revision 0");
  await expect(all(store.readStream(sent.stream, { from: 1 }))).rejects.toThrow("revision 1");
  await expect(all(store.readStream(sent.stream, { direction: "backwards" }))).rejects.toThrow(StoreCorruptedError);
});

test("refuses to go on with a stream that was deleted, so that its revisions stay what they were", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const { sent } = await appendPrepared(store, { count: 2 });
  server.write(`$$${sent.stream}`, [{ ...anEvent("$metadata"), data: Buffer.from('{"$tb":9223372036854775807}') }]);
  const other = await opened(withSetting(server.connectionString, "connectionName=other"));
  expect(await other.head(sent.stream)).toBeNull();
  await expect(other.append(prepared({ stream: sent.stream }))).rejects.toThrow(StoreCorruptedError);
  expect(server.events(sent.stream)).toHaveLength(2);
});

test("names the server's setting when it takes less than an append has", async () => {
  const server = await startServer({ maxAppendBytes: 100_000 });
  const store = await opened(server.connectionString);
  const sent = prepared({ data: [jsonText(200_000)] });
  await expect(store.append(sent)).rejects.toThrow(EventTooLargeError);
  await expect(store.append(sent)).rejects.toThrow("MaxAppendSize");
  expect(await store.head(sent.stream)).toBeNull();
});

test("sends the largest append that turnlog makes to a server with its default limit", async () => {
  const store = await opened((await startServer()).connectionString);
  const { result } = await appendPrepared(store, { data: Array.from({ length: 1_700 }, () => "{}") });
  expect(result.status).toBe("appended");
});

test("leaves the rest at the server while a reader is slow, and ends the call when it has had enough", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const stream = "conversation-long";
  let expected = null;
  for (let round = 0; round < 20; round += 1) {
    const { sent } = await appendPrepared(store, {
      stream,
      expected,
      data: Array.from({ length: 40 }, () => jsonText(10_000)),
    });
    expected = headAfter(sent);
  }
  const reads: AsyncIterable<StoredEnvelope>[] = [store.readStream(stream), store.readLog(), store.subscribe()];
  for (const events of reads) {
    for await (const event of events) {
      expect(event.revision).toBe(0);
      // The reader does nothing while the server sends what it can.
      for (let turn = 0; turn < 500; turn += 1) await new Promise(setImmediate);
      const sent = Math.max(...server.openCalls().map((call) => call.eventsSent));
      expect(sent).toBeGreaterThan(0);
      expect(sent).toBeLessThan(400);
      break;
    }
    await server.idle();
  }
});

test("goes on over the same connection when readers have had enough", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const { sent } = await appendPrepared(store, { count: 200 });
  const connections = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  const before = connections();
  for (let round = 0; round < 5; round += 1) {
    for await (const event of store.readStream(sent.stream)) if (event.revision === 3) break;
    await server.idle();
    await appendPrepared(store, {});
  }
  expect(connections()).toBe(before);
});

test("answers a conflict with the head that somebody else has made since", async () => {
  const server = await startServer();
  const [ours, theirs] = await Promise.all(
    ["ours", "theirs"].map((name) => opened(withSetting(server.connectionString, `connectionName=${name}`))),
  );
  if (ours === undefined || theirs === undefined) throw new Error("two stores were opened");
  const { sent } = await appendPrepared(ours, { count: 2 });
  const { stream } = sent;
  const second = await appendPrepared(theirs, { stream, expected: headAfter(sent), count: 2 });
  const late = prepared({ stream, expected: headAfter(sent), count: 3 });
  expect(await ours.append(late)).toEqual({ status: "conflict", actual: headAfter(second.sent) });
  expect(await ours.append(second.sent)).toEqual(second.result);
  const third = prepared({ stream, expected: headAfter(second.sent) });
  expect(await ours.append(third)).toMatchObject({ status: "appended" });
});
