import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EventStore, StoreClosedError } from "../../../src/log/ports/event-store.ts";
import type { ViewBatch, ViewBuild, ViewRow, ViewStore } from "../../../src/log/ports/view-store.ts";

type StoreWithViews = EventStore & { readonly views: ViewStore };

/** What every store that keeps rows of projections does. */
export function describeViews(name: string, create: () => Promise<StoreWithViews>): void {
  describe(`${name} as a view store`, () => {
    let store: StoreWithViews;
    beforeEach(async () => {
      store = await create();
    });
    afterEach(() => store.close());

    describeSaves(() => store.views);
    describeBuilds(() => store.views);

    test("throws StoreClosedError after close", async () => {
      const build = await store.views.begin("list", 1);
      await store.close();
      const calls: (() => Promise<unknown>)[] = [
        () => store.views.builds("list"),
        () => store.views.begin("list", 1),
        () => store.views.save(build, batch(1)),
        () => store.views.publish(build),
        () => store.views.row(build, "a"),
        () => store.views.rows(build, page),
        () => store.views.containing(build, ["a"]),
        () => store.views.degraded(build),
      ];
      for (const call of calls) await expect(call()).rejects.toThrow(StoreClosedError);
    });
  });
}

function describeSaves(views: () => ViewStore): void {
  test("gives back rows and checkpoint as they were saved", async () => {
    const begun = await views().begin("list", 1);
    expect(begun).toMatchObject({ projection: "list", version: 1, saves: 0, events: 0, checkpoint: null });
    const rows = [row("a", { quarantine }), row("b")];
    const build = await saved(views(), begun, { ...batch(5), rows });
    expect(build).toEqual({ ...begun, ...place(5), saves: 1 });
    expect(await views().builds("list")).toEqual([build]);
    expect(await views().row(build, "a")).toEqual(rows[0]);
    expect(await views().rows(build, page)).toEqual(rows);
    expect(await views().row(build, "c")).toBeNull();
  });

  test("lists the rows that lack something, until they are replaced by ones that do not", async () => {
    const rows = [row("b", { quarantine }), row("a", { quarantine }), row("c")];
    const first = await saved(views(), await views().begin("list", 1), { ...batch(1), rows });
    expect(await views().degraded(first)).toEqual([rows[1], rows[0]]);
    const second = await saved(views(), first, { ...batch(1), rows: [row("a")] });
    expect(await views().degraded(second)).toEqual([rows[0]]);
  });

  test("replaces the row of a key, and keeps the others", async () => {
    const first = await saved(views(), await views().begin("list", 1), { ...batch(1), rows: [row("a"), row("b")] });
    const newer = row("a", { view: '{"n":2}', position: "2" });
    const second = await saved(views(), first, { ...batch(2), rows: [newer] });
    expect(await views().rows(second, page)).toEqual([newer, row("b")]);
  });

  test("refuses a save that follows another one than the last, and writes nothing of it", async () => {
    const begun = await views().begin("list", 1);
    const build = await saved(views(), begun, { ...batch(1), rows: [row("a")] });
    const late = { ...batch(9), rows: [row("a", { view: "{}", quarantine }), row("z")] };
    expect(await views().save(begun, late)).toEqual({ status: "conflict" });
    expect(await views().builds("list")).toEqual([build]);
    expect(await views().rows(build, page)).toEqual([row("a")]);
  });

  test("lets one of several saves at once through", async () => {
    const begun = await views().begin("list", 1);
    const results = await Promise.all(
      ["a", "b", "c"].map((key) => views().save(begun, { ...batch(1), rows: [row(key)] })),
    );
    expect(results.filter(({ status }) => status === "saved")).toHaveLength(1);
    expect(await views().rows(begun, page)).toHaveLength(1);
  });

  test("names the rows in whose view all of some texts stand, letter by letter", async () => {
    const texts = { a: "one two", b: "two three", c: 'One %_ \\u0000 \u{1F642} \\"2\\"' };
    const build = await saved(views(), await views().begin("list", 1), {
      ...batch(1),
      rows: Object.entries(texts).map(([key, view]) => row(key, { view: `["${view}"]`, position: key })),
    });
    const keys = async (...wanted: readonly string[]): Promise<readonly string[]> =>
      (await views().containing(build, wanted)).map(({ key }) => key).toSorted();
    expect(await keys("two")).toEqual(["a", "b"]);
    expect(await keys("two", "ee")).toEqual(["b"]);
    expect(await keys("one")).toEqual(["a"]);
    expect(await keys("%_")).toEqual(["c"]);
    expect(await keys("\\u0000 \u{1F642}", '\\"2')).toEqual(["c"]);
    expect(await keys("four")).toEqual([]);
    expect(await keys()).toEqual(["a", "b", "c"]);
    expect(await views().containing(build, ["three"])).toEqual([{ key: "b", position: "b" }]);
    expect(await views().containing(await views().begin("list", 2), [])).toEqual([]);
  });

  test("gives rows in the order of their keys' bytes, page by page", async () => {
    const keys = ["b", "a-10", "a-1", "\u{1F642}", "\uFF5E", "a"];
    const build = await saved(views(), await views().begin("list", 1), {
      ...batch(1),
      rows: keys.map((key) => row(key)),
    });
    const sorted = ["a", "a-1", "a-10", "b", "\uFF5E", "\u{1F642}"];
    expect((await views().rows(build, page)).map(({ key }) => key)).toEqual(sorted);
    expect((await views().rows(build, { after: "a-1", limit: 2 })).map(({ key }) => key)).toEqual(["a-10", "b"]);
    expect(await views().rows(build, { after: "\u{1F642}", limit: 2 })).toEqual([]);
  });
}

function describeBuilds(views: () => ViewStore): void {
  test("keeps builds of one projection apart, and projections from each other", async () => {
    const left = await saved(views(), await views().begin("list", 1), { ...batch(1), rows: [row("a")] });
    const right = await saved(views(), await views().begin("list", 2), { ...batch(1), rows: [row("b")] });
    const other = await saved(views(), await views().begin("usage", 1), batch(1));
    expect((await views().rows(left, page)).map(({ key }) => key)).toEqual(["a"]);
    expect((await views().rows(right, page)).map(({ key }) => key)).toEqual(["b"]);
    expect(await views().rows(other, page)).toEqual([]);
    expect((await views().builds("list")).map(({ id }) => id)).toEqual([right.id, left.id]);
    expect(await views().builds("nothing")).toEqual([]);
  });

  test("publishes a build and deletes the others of its projection, which then read as empty", async () => {
    const old = await saved(views(), await views().begin("list", 1), { ...batch(1), rows: [row("a")] });
    expect(await views().publish(old)).toBe(true);
    const other = await views().begin("usage", 1);
    const next = await saved(views(), await views().begin("list", 2), {
      ...batch(2),
      rows: [row("b", { quarantine })],
    });
    expect((await views().builds("list")).map(({ id, isPublished }) => [id, isPublished])).toEqual([
      [old.id, true],
      [next.id, false],
    ]);
    expect(await views().rows(old, page)).toHaveLength(1);
    expect(await views().publish(next)).toBe(true);
    expect(await views().builds("list")).toEqual([{ ...next, isPublished: true }]);
    expect(await views().rows(old, page)).toEqual([]);
    expect(await views().row(old, "a")).toBeNull();
    expect(await views().rows(next, page)).toEqual([row("b", { quarantine })]);
    expect(await views().degraded(old)).toEqual([]);
    expect(await views().builds("usage")).toEqual([other]);
  });

  test("refuses to save or publish a build that is gone, and never gives its number again", async () => {
    const gone = await views().begin("list", 1);
    await views().publish(await views().begin("list", 1));
    expect(await views().save(gone, { ...batch(1), rows: [row("a")] })).toEqual({ status: "conflict" });
    expect(await views().publish(gone)).toBe(false);
    expect((await views().begin("list", 1)).id).toBeGreaterThan(gone.id);
    expect(await views().rows(gone, page)).toEqual([]);
  });
}

const page = { after: null, limit: 100 };

async function saved(views: ViewStore, build: ViewBuild, batch: ViewBatch): Promise<ViewBuild> {
  const result = await views.save(build, batch);
  if (result.status === "conflict") throw new Error("the save was refused");
  return result.build;
}

const batch = (events: number): ViewBatch => ({ ...place(events), rows: [] });

const place = (events: number) => ({
  events,
  checkpoint: {
    ...{ storeId: "store", position: String(events), eventId: "event", stream: "conversation-1" },
    revision: events - 1,
  },
});

const row = (key: string, changes: Partial<ViewRow> = {}): ViewRow => ({
  ...{ key, view: '{"text":"é 你好 🙂"}', position: "1", revision: 0, eventId: "event", quarantine: null },
  ...changes,
});

const quarantine = {
  events: 2,
  first: [{ stream: "s", revision: 3, position: "10", type: "Noted", version: 1, reason: 'unknown "type" 🙂' }],
};
