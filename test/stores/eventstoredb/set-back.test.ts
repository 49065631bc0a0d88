import { describe, expect, test } from "vitest";
import type { StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { StoreReplacedError } from "../../../src/log/ports/store-errors.ts";
import type { EventStoreDbStore } from "../../../src/stores/eventstoredb/open.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import type { EventStoreDbServer } from "../../support/eventstoredb/server.ts";
import { opened, startServer, withSetting, writeAside } from "../../support/stores/eventstoredb-opened.ts";

/** A server that holds less than it did, under a process that has the store open: a restored backup, a memory database. */

const quick = "deadlineMs=1500&turnlogReadTimeout=1000";
const stream = "conversation-kept";

type World = {
  readonly server: EventStoreDbServer;
  readonly store: EventStoreDbStore;
  /** How many records there were when a backup was made: two of the stream's four events. */
  readonly backup: number;
};

/** A store that has written and read, and a backup from before its last append. */
async function written(): Promise<World> {
  const server = await startServer();
  const store = await opened(withSetting(server.connectionString, quick));
  const { sent } = await appendPrepared(store, { stream, count: 2 });
  const backup = server.events().length;
  await appendPrepared(store, { stream, expected: headAfter(sent), count: 2 });
  return { server, store, backup };
}

/** What became of the server, by name. */
const changes: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "an earlier backup": ({ server, backup }) => server.setBack(backup),
  "an earlier backup that others went on from": async ({ server, backup }) => {
    await server.setBack(backup);
    writeAside(server, { stream: "conversation-other", count: 20 });
  },
  "nothing, as a database in memory that was restarted": ({ server }) => server.setBack(),
  "another store": async ({ server }) => {
    await server.setBack();
    await (await opened(withSetting(server.connectionString, "connectionName=other"))).close();
  },
};

describe.each(Object.entries(changes))("a server that holds %s", (_, change) => {
  test("is reported by every call, and nothing is written there", async () => {
    const world = await written();
    const { server, store } = world;
    const head = await store.head(stream);
    await change(world);
    const before = server.events().length;
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      append: () => store.append(prepared({ stream, expected: head })),
      appendAnew: () => appendPrepared(store, { stream: "conversation-new" }),
      head: () => store.head(stream),
      readStream: () => all(store.readStream(stream)),
      readLog: () => all(store.readLog()),
      heads: () => all(store.heads()),
      subscribe: () => all(store.subscribe({ limit: 1 })),
    };
    const told = await Promise.all(
      Object.entries(calls).map(([name, call]) =>
        call().then(
          () => `${name}: nothing`,
          (error: unknown) => `${name}: ${error instanceof Error ? error.name : String(error)}`,
        ),
      ),
    );
    expect(told).toEqual(Object.keys(calls).map((name) => `${name}: StoreReplacedError`));
    expect(server.events()).toHaveLength(before);
  });

  test("ends open followers, which would skip what comes", async () => {
    const world = await written();
    const seen: string[] = [];
    const follow = async (events: AsyncIterable<StoredEnvelope>): Promise<void> => {
      for await (const { id } of events) seen.push(id);
    };
    const following = follow(world.store.subscribe());
    await expect.poll(() => seen.length).toBe(4);
    const ended = expect(following).rejects.toThrow(StoreReplacedError);
    await change(world);
    const { sent } = { sent: writeAside(world.server, { stream: "conversation-late", count: 101 }) };
    await ended;
    expect(seen.filter((id) => sent.envelopes.some((envelope) => envelope.id === id))).toEqual([]);
  });
});

test("a server that was restarted with all it had goes on, for appends, reads and followers", async () => {
  const { server, store } = await written();
  const following = all(store.subscribe({ limit: 5 }));
  await server.setBack(server.events().length);
  const head = await store.head(stream);
  await appendPrepared(store, { stream, expected: head });
  expect((await following).map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
  expect(await all(store.readStream(stream))).toHaveLength(5);
});

test.each(["readLog", "subscribe"] as const)("%s refuses a position beyond the end of the log", async (how) => {
  const { server, store, backup } = await written();
  const after = (await all(store.readLog())).at(-1)?.position ?? "";
  await store.close();
  await server.setBack(backup);
  const later = await opened(withSetting(server.connectionString, quick));
  await expect(all(later[how]({ after, limit: 1 }))).rejects.toThrow(StoreReplacedError);
});

test("a server that was set back while idle is also detected for a user who may not read the whole log", async () => {
  const server = await startServer({ tls: true, users: { writer: { password: "secret" } } });
  await opened(server.connectionString);
  const store = await opened(withSetting(server.connectionStringFor("writer", "secret"), quick));
  const { sent } = await appendPrepared(store, { stream, count: 2 });
  const backup = server.events().length;
  const next = await appendPrepared(store, { stream, expected: headAfter(sent), count: 2 });
  await server.setBack(backup);
  const late = prepared({ stream, expected: headAfter(next.sent) });
  await expect(store.append(late)).rejects.toThrow(StoreReplacedError);
  await server.setBack();
  await expect(appendPrepared(store, { stream: "conversation-new" })).rejects.toThrow(StoreReplacedError);
});
