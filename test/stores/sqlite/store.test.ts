import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { isActor } from "../../../src/domain/actor.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../../src/log/ports/store-errors.ts";
import { setUp } from "../../../src/stores/sqlite/schema.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import {
  describeErasure,
  describeEventStore,
  describeSnapshots,
  describeViews,
} from "../../support/stores/contract.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

describeEventStore("the sqlite store", () => openSqliteStore(temporaryFolder().file("store.db")));
describeEventStore("the sqlite store in memory", () => openSqliteStore(":memory:"));
describeErasure("the sqlite store", () => openSqliteStore(temporaryFolder().file("store.db")));
describeSnapshots("the sqlite store", () => openSqliteStore(temporaryFolder().file("store.db")));
describeViews("the sqlite store", () => openSqliteStore(temporaryFolder().file("store.db")));

test("keeps events, heads, snapshots and its id when it is opened again", async () => {
  const path = temporaryFolder().file("store.db");
  const first = await openSqliteStore(path);
  const { sent } = await appendPrepared(first, { count: 3 });
  await first.snapshots.put({ stream: sent.stream, projection: "turn", version: 1 }, { revision: 2, data: "x" });
  const before = await contentOf(first);
  await first.close();
  await using second = await openSqliteStore(path, { mustExist: true });
  expect(await contentOf(second)).toEqual(before);
  expect(second.storeId).toBe(first.storeId);
  expect(await second.snapshots.get({ stream: sent.stream, projection: "turn", version: 1 }, 9)).not.toBeNull();
  await appendPrepared(second, { stream: sent.stream, expected: headAfter(sent) });
});

test("gives every store an id of its own", async () => {
  const folder = temporaryFolder();
  await using left = await openSqliteStore(folder.file("left.db"));
  await using right = await openSqliteStore(folder.file("right.db"));
  expect(left.storeId).not.toBe(right.storeId);
});

test("writes pages of 8 KiB, a WAL that other connections see, and STRICT tables", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  await appendPrepared(store, {});
  using database = openRaw(path);
  expect(database.get("PRAGMA page_size")).toEqual({ page_size: 8192 });
  expect(database.get("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
  expect(
    database.get("SELECT count(*) AS loose FROM pragma_table_list WHERE strict = 0 AND name NOT LIKE 'sqlite%'"),
  ).toEqual({
    loose: 0,
  });
});

test("leaves one file behind when it is closed", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openSqliteStore(path);
  await appendPrepared(store, { count: 9 });
  await store.close();
  expect(statSync(`${path}-wal`, { throwIfNoEntry: false })).toBeUndefined();
  await using copy = await openSqliteStore(path);
  expect(await all(copy.readLog())).toHaveLength(9);
});

test("goes on with positions beyond what a number holds exactly", async () => {
  const path = temporaryFolder().file("store.db");
  const first = await openSqliteStore(path);
  await appendPrepared(first, {});
  await first.close();
  openRaw(path).run(`UPDATE sqlite_sequence SET seq = ${2n ** 60n} WHERE name = 'events'`);
  await using store = await openSqliteStore(path);
  const { result } = await appendPrepared(store, { count: 100 });
  const log = await all(store.readLog());
  expect(log.slice(1).map((event) => BigInt(event.position))).toEqual(
    Array.from({ length: 100 }, (_, n) => 2n ** 60n + BigInt(n + 1)),
  );
  expect(result).toMatchObject({ position: log.at(-1)?.position });
  expect(await all(store.readLog({ after: log[50]?.position ?? "" }))).toHaveLength(50);
});

test("never uses a position again, even when rows are gone", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { result } = await appendPrepared(store, { count: 5 });
  openRaw(path).run("DELETE FROM events");
  const next = await appendPrepared(store, {});
  expect([result, next.result]).toMatchObject([{ position: "5" }, { position: "6" }]);
});

test("reads on beside a damaged number, so that the event can be named", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { sent } = await appendPrepared(store, { count: 3 });
  openRaw(path).run("UPDATE events SET version = 9223372036854775807 WHERE revision = 1");
  const events = await all(store.readStream(sent.stream));
  expect(events.map((event) => event.version === 1)).toEqual([true, false, true]);
});

test.each(["{", "null", '{"kind":"\\u0061pp"}'])(
  "reads past an actor that became %s, and attributes nothing to it",
  async (text) => {
    const path = temporaryFolder().file("store.db");
    await using store = await openSqliteStore(path);
    const { sent } = await appendPrepared(store, { count: 3 });
    openRaw(path).run(`UPDATE events SET actor = '${text}' WHERE revision = 1`);
    for (const events of [await all(store.readStream(sent.stream)), await all(store.readLog())])
      expect(events.map(({ actor }) => isActor(actor))).toEqual([true, false, true]);
  },
);

test("reports damage when heads and events disagree, and writes nothing", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { sent } = await appendPrepared(store, { count: 2 });
  openRaw(path).run(`UPDATE streams SET revision = 0, digest = '${sent.envelopes[0]?.digest ?? ""}'`);
  const late = prepared({ stream: sent.stream, expected: await store.head(sent.stream) });
  await expect(store.append(late)).rejects.toThrow(StoreCorruptedError);
  expect(await all(store.readLog())).toHaveLength(2);
});

test("refuses a store that is not there when it must exist, and creates nothing", async () => {
  const folder = temporaryFolder();
  const path = folder.file("none.db");
  await expect(openSqliteStore(path, { mustExist: true })).rejects.toThrow(StoreNotFoundError);
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  await expect(openSqliteStore(":memory:", { mustExist: true })).rejects.toThrow(StoreNotFoundError);
  writeFileSync(path, "");
  await expect(openSqliteStore(path, { mustExist: true })).rejects.toThrow(StoreNotFoundError);
  expect(statSync(path).size).toBe(0);
});

test("refuses a file that is no database, and leaves it is", async () => {
  const path = temporaryFolder().file("letter.db");
  writeFileSync(path, "Dear Sir, ".repeat(2_000));
  await expect(openSqliteStore(path)).rejects.toThrow(StoreCorruptedError);
  await expect(openSqliteStore(path)).rejects.toThrow("restore it from a copy, or choose another path");
  expect(readFileSync(path, "utf8")).toBe("Dear Sir, ".repeat(2_000));
});

test("refuses a database of another program, and leaves its tables as they are", async () => {
  const path = temporaryFolder().file("other.db");
  using database = openRaw(path);
  database.run("CREATE TABLE letters (text TEXT)");
  await expect(openSqliteStore(path)).rejects.toThrow(StoreCorruptedError);
  expect(database.get("SELECT count(*) AS tables FROM sqlite_schema")).toEqual({ tables: 1 });
});

test("a subscription of few streams looks at what others write once, however long it waits for its own", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path, { pollMs: 5 });
  const { sent } = await appendPrepared(store, { stream: "mine-1" });
  await appendPrepared(store, { stream: "theirs" });
  const events = store.subscribe({ streamPrefix: "mine" })[Symbol.asyncIterator]();
  await events.next();
  const next = events.next();
  await new Promise(setImmediate);
  // Only who looks again finds it under this name.
  using database = openRaw(path);
  database.run("UPDATE streams SET name = 'mine-2' WHERE name = 'theirs'");
  await appendPrepared(store, { stream: "mine-1", expected: headAfter(sent) });
  expect((await next).value).toMatchObject({ stream: "mine-1", revision: 1 });
  await store.close();
  await events.return?.();
});

test("a sleeping subscription learns that its file cannot be read any more", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path, { pollMs: 5 });
  const next = store.subscribe()[Symbol.asyncIterator]().next();
  await new Promise(setImmediate);
  using database = openRaw(path);
  database.run("UPDATE meta SET value = value; PRAGMA wal_checkpoint(TRUNCATE)");
  writeFileSync(path, "no database".padEnd(statSync(path).size, "."));
  await expect(next).rejects.toBeInstanceOf(StoreCorruptedError);
});

test("reports a damaged file when it meets the damage", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openSqliteStore(path);
  await appendPrepared(store, { data: Array.from({ length: 100 }, () => JSON.stringify({ text: "x".repeat(2_000) })) });
  await store.close();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 8192 * 6, 8192 * 20));
  const read = async (): Promise<unknown> => {
    await using damaged = await openSqliteStore(path);
    return await all(damaged.readLog());
  };
  await expect(read()).rejects.toThrow(StoreCorruptedError);
});

test("what SQLite says of a statement is a bug of turnlog, and not told as damage", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  openRaw(path).run("DROP TABLE snapshots");
  const refused = store.snapshots.get({ stream: "s", projection: "turn", version: 1 }, 1);
  await expect(refused).rejects.toThrow("no such table: snapshots");
  await expect(refused).rejects.not.toHaveProperty("code");
  await expect(openSqliteStore(path)).rejects.toThrow(StoreCorruptedError);
  await expect(openSqliteStore(path)).rejects.toThrow("its table snapshots is missing");
});

test("refuses the store of a newer turnlog and says what to do", async () => {
  const path = temporaryFolder().file("store.db");
  await (await openSqliteStore(path)).close();
  openRaw(path).run("UPDATE meta SET value = '3' WHERE name = 'schemaVersion'");
  await expect(openSqliteStore(path)).rejects.toThrow(StoreTooNewError);
  await expect(openSqliteStore(path)).rejects.toThrow("update turnlog");
});

test("says what to do when the file cannot be created", async () => {
  const folder = temporaryFolder();
  mkdirSync(folder.file("folder"));
  writeFileSync(folder.file("file"), "");
  const paths = { "none/store.db": "create the folder", folder: "is a folder", "file/store.db": "is not a folder" };
  for (const [name, advice] of Object.entries(paths)) {
    await expect(openSqliteStore(folder.file(name))).rejects.toThrow(StoreUnavailableError);
    await expect(openSqliteStore(folder.file(name))).rejects.toThrow(advice);
  }
});

test("reports a file that another process keeps locked, and goes on when it is free again", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path, { deadlineMs: 20 });
  using other = openRaw(path);
  other.run("BEGIN IMMEDIATE");
  const sent = prepared({});
  await expect(store.append(sent)).rejects.toThrow(StoreUnavailableError);
  await expect(store.append(sent)).rejects.toThrow("locked by another process");
  other.run("COMMIT");
  expect(await store.append(sent)).toMatchObject({ status: "appended" });
});

test("is opened by many at once while it does not exist yet", async () => {
  const path = temporaryFolder().file("store.db");
  const stores = await Promise.all(Array.from({ length: 8 }, () => openSqliteStore(path)));
  expect(new Set(stores.map((store) => store.storeId)).size).toBe(1);
  for (const store of stores) await store.close();
});

test("warns of an SQLite that is too old for several writers, and opens all the same", async () => {
  const warnings: string[] = [];
  await using store = await openSqliteStore(":memory:", { warn: (message) => warnings.push(message) });
  using database = openRaw(":memory:");
  const [major = 0, minor = 0, patch = 0] = String(database.get("SELECT sqlite_version() AS version")["version"])
    .split(".")
    .map(Number);
  const isOld = major * 1e6 + minor * 1e3 + patch < 3_051_003;
  expect(warnings).toHaveLength(isOld ? 1 : 0);
  expect(await store.head("nothing")).toBeNull();
});

async function contentOf(store: EventStore): Promise<unknown> {
  return { log: await all(store.readLog()), heads: await all(store.heads()) };
}

function openRaw(path: string) {
  const database = new DatabaseSync(path);
  return {
    get: (sql: string) => ({ ...database.prepare(sql).get() }),
    run: (sql: string) => {
      database.exec(sql);
    },
    [Symbol.dispose]: () => {
      database.close();
    },
  };
}

test("every connection asks macOS to write through the drive's cache, and reads back that SQLite will", async () => {
  const path = temporaryFolder().file("store.db");
  const database = new DatabaseSync(path);
  setUp(database, { path, kind: "store", mustExist: false });
  for (const [name, value] of Object.entries({ synchronous: 2, fullfsync: 1, checkpoint_fullfsync: 1 }))
    expect(database.prepare(`PRAGMA ${name}`).get()).toEqual({ [name]: value });
  database.close();
});

test.each(["fullfsync", "checkpoint_fullfsync", "synchronous"])("a SQLite that forgets %s opens no store", (name) => {
  class Forgetful extends DatabaseSync {
    override prepare(sql: string) {
      return super.prepare(sql === `PRAGMA ${name}` ? `SELECT 0 AS ${name}` : sql);
    }
  }
  const path = temporaryFolder().file("store.db");
  using database = new Forgetful(path);
  expect(() => setUp(database, { path, kind: "store", mustExist: false })).toThrow(
    `store.db cannot be written durably (journal wal, ${name} 0): choose a path on a local disk`,
  );
});
