import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { maxQuarantined } from "../../../src/log/read-models/view-state.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { changedStore, rowsFromScratch, rowsOf, texts } from "../../support/read-models/rows.ts";
import { beyond, said, sound, started, stream, write } from "../../support/read-models/written-log.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test.each(Object.keys(beyond("bad_")))("puts %s into quarantine, degrades its key, and goes on", async (what) => {
  await using store = createMemoryStore();
  const bad = beyond("bad_")[what] ?? started("bad_");
  await write(store, [
    started("bad_"),
    said("bad_", "one"),
    started("good"),
    bad,
    said("good", "one"),
    said("bad_", "two"),
  ]);
  const projector = createProjector(store, texts);
  await projector.catchUp();
  const [degraded, good] = await rowsOf(projector);
  expect(good).toMatchObject({ key: stream("good"), quarantine: null, view: { texts: { length: 2 } } });
  const event = { stream: stream("bad_"), revision: 2, type: bad.type, version: bad.version };
  expect(degraded?.quarantine).toMatchObject({ events: 1, first: [event] });
  expect(degraded?.quarantine?.first[0]?.reason).toMatch(/\w/);
  // Later events of the key are taken in as well: a list says when it was last written.
  expect(degraded?.view.texts).toEqual(["0 ConversationStarted", "1 one", "3 two"]);
  expect(await projector.degraded()).toEqual([degraded]);
  expect(await projector.status()).toMatchObject({ degraded: 1, quarantined: 1, behind: 0 });
});

test("what a projection throws at an event is a quarantine as well", async () => {
  await using store = createMemoryStore();
  await write(store, [
    started("left1"),
    sound("left1", { type: "ConversationRelabelled", version: 1, data: { title: "x" } }),
    said("left1"),
  ]);
  const projector = createProjector(store, texts);
  await projector.catchUp();
  expect(await projector.degraded()).toMatchObject([
    { quarantine: { events: 1, first: [{ revision: 1, reason: "no titles here" }] }, view: { texts: { length: 2 } } },
  ]);
});

test("names a revision that is missing", async () => {
  await using store = createMemoryStore();
  await write(store, [started("left1"), said("left1", "one"), said("left1", "two")]);
  async function* gapped(events: ReturnType<typeof store.readLog>) {
    for await (const event of events) if (event.revision !== 1) yield event;
  }
  const projector = createProjector(
    changedStore(store, { readLog: (options) => gapped(store.readLog(options)) }),
    texts,
  );
  await projector.catchUp();
  expect((await projector.degraded())[0]?.quarantine?.first[0]?.reason).toBe("it is in the place of revision 1");
});

test("keeps the first events of a key that has too many, and counts the rest", async () => {
  await using store = createMemoryStore();
  const bad = beyond("bad_")["an unknown type"] ?? started("bad_");
  await write(
    store,
    Array.from({ length: maxQuarantined + 20 }, () => bad),
  );
  const projector = createProjector(store, texts, { maxEvents: 7 });
  await projector.catchUp();
  const quarantine = (await projector.degraded())[0]?.quarantine;
  expect([quarantine?.events, quarantine?.first.length]).toEqual([maxQuarantined + 20, maxQuarantined]);
  expect(quarantine?.first.map(({ revision }) => revision)).toEqual([...Array(maxQuarantined).keys()]);
});

test("a retry after a repair makes the row that would have been, and only that one", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  await write(store, [started("bad_"), said("bad_", "one"), started("good"), said("bad_", "two")]);
  const sane = await rowsFromScratch(store, conversationList);
  const database = new DatabaseSync(path);
  database.exec("UPDATE events SET version = 9 WHERE revision = 1");
  const projector = createProjector(store, conversationList);
  await projector.catchUp();
  expect(await projector.retry(stream("bad_"))).toMatchObject({ quarantine: { events: 1 } });
  database.exec("UPDATE events SET version = 1 WHERE revision = 1");
  database.close();
  expect(await rowsOf(projector)).not.toEqual(sane);
  expect(await projector.retry(stream("bad_"))).toMatchObject({ quarantine: null });
  expect(await rowsOf(projector)).toEqual(sane);
  expect(await projector.degraded()).toEqual([]);
  expect(await projector.retry(stream("nobody"))).toBeNull();
});

test("a retry beside a projector that goes on is not undone by it", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  await write(store, [started("bad_"), said("bad_", "one")]);
  const database = new DatabaseSync(path);
  database.exec("UPDATE events SET version = 9 WHERE revision = 1");
  const left = new AbortController();
  const live = createProjector(store, texts, { saveWithinMs: 0 });
  const running = live.run(left.signal);
  await expect.poll(async () => (await live.degraded()).length).toBe(1);
  database.exec("UPDATE events SET version = 1 WHERE revision = 1");
  database.close();
  await createProjector(store, texts).retry(stream("bad_"));
  await write(store, [said("bad_", "two")]);
  await expect.poll(() => rowsOf(live)).toEqual(await rowsFromScratch(store, texts));
  left.abort();
  await running;
  expect(await live.degraded()).toEqual([]);
});

test("an event that an operator skipped degrades its key no more", async () => {
  await using store = createMemoryStore();
  const unknown = beyond("bad_")["an unknown type"] ?? started("bad_");
  const skip = (revision: number) =>
    sound("bad_", { type: "EventSkipped", version: 1, data: { revision, reason: "a test" } });
  await write(store, [started("bad_"), unknown, unknown, skip(1)]);
  const projector = createProjector(store, texts);
  await projector.catchUp();
  expect(await projector.degraded()).toMatchObject([{ quarantine: { events: 1, first: [{ revision: 2 }] } }]);
  await write(store, [skip(2)]);
  await projector.catchUp();
  expect(await projector.degraded()).toEqual([]);
});

test("what a row had read of an event before it was damaged and skipped is not in it any more", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  await write(store, [started("bad_"), said("bad_", "one"), said("bad_", "two")]);
  const projector = createProjector(store, texts);
  await projector.catchUp();
  const before = await rowsOf(projector);
  const database = new DatabaseSync(path);
  database.exec("UPDATE events SET version = 9 WHERE revision = 1");
  database.close();
  await write(store, [
    sound("bad_", { type: "EventSkipped", version: 1, data: { revision: 1, reason: "a test" } }),
    said("bad_", "three"),
  ]);
  await projector.catchUp();
  const rows = await rowsOf(projector);
  expect(rows).toEqual(await rowsFromScratch(store, texts));
  expect(JSON.stringify(before)).toContain("one");
  expect(JSON.stringify(rows)).not.toContain("one");
  expect(await projector.degraded()).toEqual([]);
});
