import { describe, expect, onTestFinished, test } from "vitest";
import { StoreCorruptedError } from "../../../src/log/ports/store-errors.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import { anEvent, type EventStoreDbServer, startEventStoreDbCluster } from "../../support/eventstoredb/server.ts";
import { opened, startServer, withSetting, writeAside } from "../../support/stores/eventstoredb-opened.ts";

/** Appends, and reads of what was appended, at a server that is as unkind as the real ones (`Unkindness`). */

const quick = "defaultDeadline=4000&turnlogCommitTimeout=160&turnlogReadTimeout=160";

/** Settles when so many calls of a kind on streams of turnlog have begun since it was asked. */
async function seen(server: EventStoreDbServer, operation: string, count: number): Promise<void> {
  const calls = (): number =>
    server.seenCalls().filter((call) => call.operation === operation && call.stream.startsWith("conversation-")).length;
  const before = calls();
  await expect.poll(calls, { interval: 5, timeout: 10_000 }).toBeGreaterThanOrEqual(before + count);
}

async function startCluster(options: Partial<Parameters<typeof startEventStoreDbCluster>[0]> = {}) {
  const cluster = await startEventStoreDbCluster({ nodes: 3, writeTimeoutMs: 100, ...options });
  onTestFinished(() => cluster.stop());
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("three nodes were started");
  return { cluster, first, second };
}

describe("what the index has not taken in yet", () => {
  test("is read by the process to which it was acknowledged, whatever it reads", async () => {
    const store = await opened((await startServer({ unkindness: { indexLagMs: 30 } })).connectionString);
    const first = await appendPrepared(store, { count: 3 });
    const { stream } = first.sent;
    expect(await store.head(stream)).toEqual(headAfter(first.sent));
    const second = await appendPrepared(store, { stream, expected: headAfter(first.sent), count: 2 });
    const ids = [...first.sent.envelopes, ...second.sent.envelopes].map(({ id }) => id);
    expect((await all(store.readStream(stream))).map(({ id }) => id)).toEqual(ids);
    const third = await appendPrepared(store, { stream, expected: headAfter(second.sent) });
    const backwards = await all(store.readStream(stream, { direction: "backwards", limit: 1 }));
    expect(backwards.map(({ id }) => id)).toEqual(third.sent.envelopes.map(({ id }) => id));
    expect(await all(store.readLog())).toHaveLength(6);
    await appendPrepared(store, {});
    expect(await all(store.heads())).toHaveLength(2);
  });

  test("is waited for when it wins a conflict, and named", async () => {
    const server = await startServer();
    const store = await opened(server.connectionString);
    const { sent } = await appendPrepared(store, { count: 2 });
    const { stream } = sent;
    server.freeze();
    const theirs = writeAside(server, { stream, expected: headAfter(sent), count: 2 });
    const late = store.append(prepared({ stream, expected: headAfter(sent) }));
    await seen(server, "append", 2);
    server.thaw();
    expect(await late).toEqual({ status: "conflict", actual: headAfter(theirs) });
  });

  test("is waited for when it is one's own, and its acknowledgement was lost", async () => {
    const server = await startServer();
    const store = await opened(server.connectionString);
    server.freeze();
    server.inject({ on: "append", stream: "conversation-", when: "after", outcome: "timeout" });
    const sent = prepared({ count: 2 });
    const appending = store.append(sent);
    await seen(server, "read", 4);
    server.thaw();
    expect(await appending).toMatchObject({ status: "appended", head: headAfter(sent) });
    expect(server.events(sent.stream)).toHaveLength(2);
  });

  test("is read from a leader that serves before its index has caught up", async () => {
    const { cluster, second } = await startCluster({ unkindness: { lateLeaderMs: 100 } });
    const store = await opened(withSetting(cluster.connectionString, quick));
    const { sent } = await appendPrepared(store, { count: 5 });
    cluster.elect(second);
    expect(await store.head(sent.stream)).toEqual(headAfter(sent));
    cluster.elect(cluster.nodes[2] ?? second);
    expect(await all(store.readStream(sent.stream))).toHaveLength(5);
    cluster.elect(second);
    expect(await all(store.readLog())).toHaveLength(5);
  });
});

describe("what is not replicated yet", () => {
  test("is repeated without an answer, and stored once", async () => {
    const server = await startServer({ writeTimeoutMs: 100 });
    const store = await opened(withSetting(server.connectionString, quick));
    const { sent } = await appendPrepared(store, {});
    server.holdReplication();
    const next = prepared({ stream: sent.stream, expected: headAfter(sent), count: 2 });
    const appending = store.append(next);
    await seen(server, "append", 3);
    server.replicate();
    expect(await appending).toMatchObject({ status: "appended", head: headAfter(next) });
    expect(server.events(sent.stream)).toHaveLength(3);
  });

  test("wins no conflict when it is lost with its leader: what was refused for it is written", async () => {
    const { cluster, first, second } = await startCluster();
    const store = await opened(withSetting(cluster.connectionString, quick));
    const { sent } = await appendPrepared(store, { count: 2 });
    const { stream } = sent;
    first.holdReplication();
    writeAside(first, { stream, expected: headAfter(sent) });
    const next = prepared({ stream, expected: headAfter(sent), count: 3 });
    const appending = store.append(next);
    await seen(first, "append", 1);
    cluster.elect(second);
    expect(await appending).toMatchObject({ status: "appended", head: headAfter(next) });
    expect((await all(store.readStream(stream))).map(({ id }) => id)).toEqual(
      [...sent.envelopes, ...next.envelopes].map(({ id }) => id),
    );
  });
});

describe("a leader that was cut off", () => {
  test("is left by appends as it is by reads", async () => {
    const { cluster, first, second } = await startCluster();
    const store = await opened(withSetting(cluster.connectionString, quick));
    const { sent } = await appendPrepared(store, {});
    cluster.cutOff(first);
    cluster.elect(second);
    const next = prepared({ stream: sent.stream, expected: headAfter(sent) });
    expect(await store.append(next)).toMatchObject({ status: "appended" });
    expect(second.seenCalls().some(({ operation }) => operation === "append")).toBe(true);
    expect(await store.head(sent.stream)).toEqual(headAfter(next));
    const appends = (): number => first.seenCalls().filter(({ operation }) => operation === "append").length;
    const before = appends();
    expect((await appendPrepared(store, {})).result.status).toBe("appended");
    expect(appends()).toBe(before);
  });

  test("is left by appends when only reads have noticed", async () => {
    const { cluster, first, second } = await startCluster();
    const store = await opened(withSetting(cluster.connectionString, quick));
    const { sent } = await appendPrepared(store, {});
    cluster.cutOff(first);
    cluster.elect(second);
    cluster.resign(first);
    expect(await store.head(sent.stream)).toEqual(headAfter(sent));
    const before = first.seenCalls().filter(({ operation }) => operation === "append").length;
    expect((await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent) })).result.status).toBe(
      "appended",
    );
    expect(first.seenCalls().filter(({ operation }) => operation === "append")).toHaveLength(before);
  });
});

describe("silence", () => {
  test("of one append does not end the others on its call", async () => {
    const server = await startServer();
    // Their limits differ, their call is the same.
    const [hasty, patient] = await Promise.all(
      ["160", "60000"].map((timeout) =>
        opened(withSetting(server.connectionString, `defaultDeadline=800&turnlogCommitTimeout=${timeout}`)),
      ),
    );
    if (hasty === undefined || patient === undefined) throw new Error("two stores were opened");
    const [silent, held] = [prepared({}), prepared({})];
    const fault = server.inject({ on: "append", stream: silent.stream, outcome: "silence" });
    const hold = server.inject({ on: "append", stream: held.stream, when: "after", outcome: "hold" });
    const second = patient.append(held);
    await hold.struck;
    const first = hasty.append(silent);
    await fault.struck;
    const sentOf = (stream: string): number =>
      server.seenCalls().filter((call) => call.operation === "append" && call.stream === stream).length;
    await expect.poll(() => sentOf(silent.stream), { interval: 5, timeout: 10_000 }).toBe(2);
    hold.release();
    for (const result of [await first, await second]) expect(result.status).toBe("appended");
    expect(sentOf(held.stream)).toBe(1);
  });

  test("is not what the server calls waiting: an append that takes as long as its own limit is sent once", async () => {
    const server = await startServer({ unkindness: { replicationMs: 300 } });
    const store = await opened(withSetting(server.connectionString, "deadlineMs=1000&turnlogCommitTimeout=400"));
    server.clear();
    const { sent, result } = await appendPrepared(store, {});
    expect(result.status).toBe("appended");
    expect(
      server.seenCalls().filter(({ operation, stream }) => operation === "append" && stream === sent.stream),
    ).toHaveLength(1);
  });
});

test.each(["readLog", "subscribe"] as const)("%s names a position that the server refuses, at once", async (how) => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const { result } = await appendPrepared(store, { count: 2 });
  const position = result.status === "appended" ? result.position : "";
  const [commit = "", prepare = ""] = position.split("/");
  const between = `${BigInt(commit) - 1n}/${(BigInt(prepare) - 1n).toString().padStart(20, "0")}`;
  const before = server.seenCalls().length;
  await expect(all(store[how]({ after: between }))).rejects.toThrow(StoreCorruptedError);
  // Asked once: what is wrong with it does not pass.
  expect(server.seenCalls().length - before).toBeLessThan(6);
  await expect(all(store[how]({ after: between }))).rejects.toThrow(`no such place in its log (${between}`);
});

describe("a stream that another program removed", () => {
  const deleted = { ...anEvent("$metadata"), data: Buffer.from('{"$tb":9223372036854775807}') };

  test("softly is an error for the process that wrote it, and not read as if nothing had been there", async () => {
    const server = await startServer();
    const store = await opened(server.connectionString);
    const { sent } = await appendPrepared(store, { count: 2 });
    server.write(`$$${sent.stream}`, [deleted]);
    await expect(store.head(sent.stream)).rejects.toThrow(StoreCorruptedError);
    await expect(all(store.readStream(sent.stream))).rejects.toThrow("or was deleted");
  });

  test("for ever is an error of appends and reads, and a warning when the log is read", async () => {
    const server = await startServer();
    const warnings: string[] = [];
    const store = await opened(server.connectionString, { warn: (message) => warnings.push(message) });
    const { sent } = await appendPrepared(store, { count: 2 });
    server.tombstone(sent.stream);
    await expect(store.append(prepared({ stream: sent.stream, expected: headAfter(sent) }))).rejects.toThrow(
      "was deleted",
    );
    await expect(all(store.readStream(sent.stream))).rejects.toThrow(StoreCorruptedError);
    expect(await all(store.readLog())).toHaveLength(2);
    expect(warnings).toEqual([expect.stringContaining(`${sent.stream} at `)]);
    expect(warnings[0]).toContain("for ever: restore it");
  });

  test("in part, while an acknowledgement was lost, is not taken for a conflict", async () => {
    const server = await startServer();
    const store = await opened(server.connectionString);
    const { sent } = await appendPrepared(store, { count: 2 });
    server.inject({
      on: "append",
      stream: sent.stream,
      when: "after",
      outcome: "timeout",
      foreign: { stream: `$$${sent.stream}`, events: [anEvent("$metadata", { $tb: 4 })] },
    });
    const next = prepared({ stream: sent.stream, expected: headAfter(sent), count: 2 });
    await expect(store.append(next)).rejects.toThrow(StoreCorruptedError);
    expect(server.events(sent.stream)).toHaveLength(4);
  });

  test("softly, before anybody here looked, does not begin anew", async () => {
    const server = await startServer();
    const { stream } = writeAside(server, { count: 2 });
    const store = await opened(server.connectionString);
    const first = prepared({ stream });
    server.inject({ on: "append", stream, outcome: "timeout", foreign: { stream: `$$${stream}`, events: [deleted] } });
    await expect(store.append(first)).resolves.toMatchObject({ status: "conflict" });
    expect(server.events(stream)).toHaveLength(2);
  });
});
