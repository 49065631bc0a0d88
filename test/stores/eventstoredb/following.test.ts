import { expect, onTestFinished, test } from "vitest";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { all, appendPrepared, headAfter, jsonText } from "../../../src/testing/contracts/prepared.ts";
import { startEventStoreDbCluster } from "../../support/eventstoredb/server.ts";
import { started, write } from "../../support/read-models/written-log.ts";
import { opened, startServer, withSetting, writeAside } from "../../support/stores/eventstoredb-opened.ts";

/** Subscriptions and reads of the log, at a server that is as unkind as the real ones (`Unkindness`). */

const isFollowed = ({ operation }: { readonly operation: string }): boolean => operation === "subscribe";

test("follows a prefix that nothing matches yet, though the first checkpoint is beyond every place, and after a restart", async () => {
  const server = await startServer({ unkindness: { checkpointBeyondEnd: true } });
  const store = await opened(server.connectionString);
  const delivered = all(store.subscribe({ streamPrefix: "conversation-new", limit: 2 }));
  await server.untilCalls((calls) => calls.some(isFollowed));
  const { sent } = await appendPrepared(store, { stream: "conversation-new" });
  await server.restart();
  await appendPrepared(store, { stream: "conversation-new", expected: headAfter(sent) });
  expect((await delivered).map(({ revision }) => revision)).toEqual([0, 1]);
});

test("ends when its follower has enough, though the server is away since before it began, and begins with another", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  await server.kill();
  const abort = new AbortController();
  const following = all(store.subscribe({ signal: abort.signal }));
  await new Promise(setImmediate);
  abort.abort();
  expect(await following).toEqual([]);
  const other = all(store.subscribe({ limit: 1 }));
  await server.restart();
  await appendPrepared(store, {});
  expect(await other).toHaveLength(1);
});

test("a projector on a fresh store sees what comes, though the first checkpoint is beyond every place", async () => {
  const server = await startServer({ unkindness: { checkpointBeyondEnd: true } });
  const store = await opened(server.connectionString);
  const projector = createProjector(store, conversationList, { maxEvents: 3, saveWithinMs: 0 });
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const run = projector.run(left.signal);
  await expect.poll(async () => (await projector.status()).state).toBe("live");
  await write(store, [started("one1")]);
  await expect.poll(async () => (await projector.status()).events, { timeout: 5_000 }).toBe(1);
  left.abort();
  await run;
});

test.each(["readStream", "readLog", "subscribe"] as const)(
  "%s goes on where a slow reader was when the server dropped his connection, however long ago",
  async (how) => {
    const server = await startServer({ unkindness: { stalledReaderMs: 600 } });
    // Made before, because the deadline is short for a busy machine that makes a store.
    await opened(server.connectionString);
    const store = await opened(withSetting(server.connectionString, "deadlineMs=500&turnlogReadTimeout=1000"));
    const stream = "conversation-long";
    const sent = writeAside(server, { stream, data: Array.from({ length: 800 }, () => jsonText(10_000)) });
    const reading = {
      readStream: () => store.readStream(stream),
      readLog: () => store.readLog(),
      subscribe: () => store.subscribe({ limit: 800 }),
    };
    const seen: string[] = [];
    for await (const { id } of reading[how]()) {
      seen.push(id);
      // The reader stalls for longer than an append or a read would be tried.
      if (seen.length === 300) await server.untilCalls((calls) => calls.length === 0, 10_000);
    }
    expect(seen).toEqual(sent.envelopes.map(({ id }) => id));
  },
);

test.each(["readStream", "readLog", "subscribe"] as const)(
  "%s does not count the time that its reader took as the server's, when the call was lost meanwhile",
  async (how) => {
    const server = await startServer({ unkindness: { replicationMs: 900 } });
    const writer = await opened(server.connectionString);
    const store = await opened(withSetting(server.connectionString, "deadlineMs=600&turnlogReadTimeout=1000"));
    const { sent } = await appendPrepared(writer, { stream: "conversation-read", count: 20 });
    for (const on of ["read", "subscribe"] as const)
      server.inject({ on, outcome: "reset", afterEvents: 5, everySince: true });
    const reading = {
      readStream: () => store.readStream(sent.stream),
      readLog: () => store.readLog({ streamPrefix: sent.stream }),
      subscribe: () => store.subscribe({ streamPrefix: sent.stream, limit: 20 }),
    };
    const seen: string[] = [];
    for await (const { id } of reading[how]()) {
      seen.push(id);
      // With all in hand that had come, the reader waits for longer than a lost call is tried again.
      if (seen.length === 5) await appendPrepared(writer, { stream: "conversation-other" });
    }
    expect(seen).toEqual(sent.envelopes.map((envelope) => envelope.id));
  },
);

test("notices in silence that its node was cut off, and follows the new leader", async () => {
  const cluster = await startEventStoreDbCluster({ nodes: 3 });
  onTestFinished(() => cluster.stop());
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("three nodes were started");
  const store = await opened(withSetting(cluster.connectionString, "defaultDeadline=1000&turnlogReadTimeout=400"));
  const stream = "conversation-followed";
  const seen: number[] = [];
  const follow = async (): Promise<void> => {
    for await (const { revision } of store.subscribe({ limit: 3 })) seen.push(revision);
  };
  const started = await appendPrepared(store, { stream });
  const following = follow();
  await expect.poll(() => seen).toEqual([0]);
  // What comes by itself shows that the subscription is live: nobody asks any more whether its node leads.
  const live = await appendPrepared(store, { stream, expected: headAfter(started.sent) });
  await expect.poll(() => seen).toEqual([0, 1]);
  cluster.cutOff(first);
  cluster.elect(second);
  writeAside(second, { stream, expected: headAfter(live.sent) });
  cluster.resign(first);
  await following;
  expect(seen).toEqual([0, 1, 2]);
});

test.each([
  ["an accent that follows", "conversation-", ["conversation-\u0301a", "conversation-b", "conversation-\u200Dc"]],
  ["characters of expressions", "a.b*c(1)[$]^|{}+?\\", ["a.b*c(1)[$]^|{}+?\\x"]],
  ["what nobody sees", "con\u00ADversation-", ["con\u00ADversation-1"]],
])("finds streams by the characters of their names: %s", async (_, streamPrefix, streams) => {
  const store = await opened((await startServer()).connectionString);
  for (const stream of [...streams, "aXb*c(1)", "conversatio"]) await appendPrepared(store, { stream });
  expect((await all(store.readLog({ streamPrefix }))).map(({ stream }) => stream)).toEqual(streams);
  expect((await all(store.subscribe({ streamPrefix, limit: streams.length }))).map(({ stream }) => stream)).toEqual(
    streams,
  );
});
