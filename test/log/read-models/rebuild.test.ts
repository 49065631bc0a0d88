import { copyFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ViewStore } from "../../../src/log/ports/view-store.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createMemoryViews } from "../../../src/stores/memory/views.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { rowsFromScratch, rowsOf, texts } from "../../support/read-models/rows.ts";
import { said, started, write } from "../../support/read-models/written-log.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const conversation = (name: string) => [started(name), said(name, "one"), said(name, "two")];

/** The same rows told otherwise. */
const louder = {
  ...texts,
  version: 2,
  apply: (view: { readonly texts: readonly string[] }) => ({ texts: [...view.texts, "loud"] }),
};

test("a version that rose makes all rows anew, and the old ones are read until it has caught up", async () => {
  await using store = createMemoryStore();
  await write(store, [...conversation("left1"), ...conversation("right")]);
  const old = createProjector(store, texts);
  await old.catchUp();
  const before = await rowsOf(old);
  const risen = createProjector(store, louder, { maxEvents: 2 });
  let saves = 0;
  const readMeanwhile: Promise<unknown>[] = [];
  await risen.catchUp({
    onProgress: () => {
      saves += 1;
      readMeanwhile.push(rowsOf(risen));
    },
  });
  expect(saves).toBe(3);
  // The last save is read once it is published.
  expect((await Promise.all(readMeanwhile)).slice(0, 2)).toEqual([before, before]);
  expect(await rowsOf(risen)).toEqual(await rowsFromScratch(store, louder));
  expect(await store.views.builds("texts")).toMatchObject([{ version: 2, isPublished: true }]);
});

test("an older version leaves newer rows as they are, and says who has to be updated", async () => {
  await using store = createMemoryStore();
  await write(store, conversation("left1"));
  const old = createProjector(store, texts);
  await old.catchUp();
  await createProjector(store, louder).catchUp();
  await write(store, conversation("right"));
  await expect(old.catchUp()).rejects.toThrow(expect.objectContaining({ code: "projection-outdated" }));
  await expect(old.rebuild()).rejects.toThrow(/a newer turnlog made/);
  await expect(old.run(new AbortController().signal)).rejects.toThrow(
    expect.objectContaining({ code: "projection-outdated" }),
  );
  expect(await store.views.builds("texts")).toMatchObject([{ version: 2 }]);
});

test("goes on with a rebuild that was left in its midst", async () => {
  await using store = createMemoryStore();
  await write(store, [...conversation("left1"), ...conversation("right")]);
  await createProjector(store, texts).catchUp();
  const left = new AbortController();
  await createProjector(store, louder, { maxEvents: 2 }).catchUp({
    signal: left.signal,
    onProgress: () => left.abort(),
  });
  const [published, begun] = await store.views.builds("texts");
  expect(published).toMatchObject({ version: 1, isPublished: true });
  expect(begun).toMatchObject({ version: 2, events: 2 });
  await createProjector(store, louder).catchUp();
  expect(await store.views.builds("texts")).toMatchObject([{ id: begun?.id, isPublished: true, events: 6 }]);
  expect(await rowsOf(createProjector(store, louder))).toEqual(await rowsFromScratch(store, louder));
});

test("rows that were made of another store are made anew", async () => {
  const views = createMemoryViews();
  await using left = createMemoryStore();
  await using right = createMemoryStore();
  await write(left, conversation("left1"));
  await write(right, [...conversation("right"), said("right", "three")]);
  await createProjector(left, texts, { views }).catchUp();
  const projector = createProjector(right, texts, { views });
  await projector.catchUp();
  expect((await rowsOf(projector)).map(({ key }) => key)).toEqual(["conversation-cnv_right"]);
  expect(await rowsOf(projector)).toEqual(await rowsFromScratch(right, texts));
});

test.each([
  ["was written on", [said("left1", "else"), said("left1", "other"), said("left1", "more")]],
  ["was not written on", []],
])("rows that know more than a backup that was put back, and %s, are made anew", async (_, later) => {
  const folder = temporaryFolder();
  const views = createMemoryViews();
  const [file, backup] = [folder.file("store.db"), folder.file("backup.db")];
  await (async () => {
    await using store = await openSqliteStore(file);
    await write(store, conversation("left1"));
  })();
  copyFileSync(file, backup);
  await (async () => {
    await using store = await openSqliteStore(file);
    await write(store, [said("left1", "gone"), said("left1", "lost")]);
    await createProjector(store, texts, { views }).catchUp();
  })();
  copyFileSync(backup, file);
  await using store = await openSqliteStore(file);
  await write(store, later);
  const projector = createProjector(store, texts, { views });
  await projector.catchUp();
  const rows = await rowsOf(projector);
  expect(rows).toEqual(await rowsFromScratch(store, texts));
  expect(rows[0]?.view.texts).toHaveLength(3 + later.length);
});

test("rebuild makes the same rows anew, also while another projector goes on", async () => {
  await using store = createMemoryStore();
  await write(store, conversation("left1"));
  const live = createProjector(store, texts, { saveWithinMs: 0 });
  const left = new AbortController();
  const running = live.run(left.signal);
  await write(store, conversation("right"));
  await expect.poll(() => store.views.builds("texts")).toMatchObject([{ isPublished: true }]);
  const [before] = await store.views.builds("texts");
  await createProjector(store, texts, { maxEvents: 2 }).rebuild();
  await write(store, [said("left1", "three")]);
  await expect.poll(() => rowsOf(live)).toEqual(await rowsFromScratch(store, texts));
  left.abort();
  await running;
  const builds = await store.views.builds("texts");
  expect(builds).toMatchObject([{ isPublished: true, events: 7 }]);
  expect(builds[0]?.id).not.toBe(before?.id);
});

test("keeps the rows of one stream apart from those of the whole log", async () => {
  await using store = createMemoryStore();
  await write(store, [...conversation("left1"), ...conversation("left10"), said("left1", "three")]);
  const all = createProjector(store, texts);
  const one = createProjector(store, texts, { stream: "conversation-cnv_left1", maxEvents: 2 });
  await all.catchUp();
  await one.catchUp();
  expect(one.name).toBe("texts/conversation-cnv_left1");
  expect(await rowsOf(one)).toEqual((await rowsOf(all)).slice(0, 1));
  expect(await one.status()).toMatchObject({ events: 4, behind: 0 });
});

test("a long conversation is saved with its one row a few times, and many conversations before they are a long save", async () => {
  await using store = createMemoryStore();
  const changed: number[] = [];
  const views = { ...store.views, save: savingTo(store.views, (rows) => changed.push(rows)) };
  await write(store, [started("left1"), ...Array.from({ length: 4_999 }, () => said("left1"))]);
  await createProjector(store, conversationList, { views }).catchUp();
  expect(changed.splice(0)).toEqual([1, 1]);
  await write(
    store,
    Array.from({ length: 600 }, (_, n) => started(`many${n}`)),
  );
  await createProjector(store, conversationList, { views }).catchUp();
  expect(changed).toEqual([512, 88]);
});

const savingTo =
  (views: ViewStore, note: (rows: number) => void): ViewStore["save"] =>
  (build, batch) => {
    note(batch.rows.length);
    return views.save(build, batch);
  };
