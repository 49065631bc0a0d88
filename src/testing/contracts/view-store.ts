import assert from "node:assert/strict";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import type { ListedPage, ViewBatch, ViewBuild, ViewRow, ViewStore } from "../../log/ports/view-store.ts";
import { type AddCheck, type Check, checksOf } from "./check.ts";
import { batch, listedPage, page, place, quarantine, row, type StoreWithViews, saved } from "./prepared-views.ts";

export type { StoreWithViews } from "./prepared-views.ts";

/** The promises of every store that keeps rows of projections; use it like `eventStoreChecks`. */
export const viewStoreChecks = (create: () => StoreWithViews | Promise<StoreWithViews>): readonly Check[] =>
  checksOf(create, (check) => {
    addSaves(check);
    addBuilds(check);
    addLists(check);
    check("throws StoreClosedError after close", async (store) => {
      const build = await store.views.begin("list", 1);
      await store.close();
      const calls: (() => Promise<unknown>)[] = [
        () => store.views.builds("list"),
        () => store.views.begin("list", 1),
        () => store.views.save(build, batch(1)),
        () => store.views.publish(build),
        () => store.views.row(build, "a"),
        () => store.views.rows(build, page),
        () => store.views.listed(build, listedPage(["x"])),
        () => store.views.countListed(build, listedPage(["x"])),
        () => store.views.places(build, "a"),
        () => store.views.containing(build, ["a"]),
        () => store.views.degraded(build),
      ];
      for (const call of calls) await assert.rejects(call(), StoreClosedError);
    });
  });

function addSaves(check: AddCheck<StoreWithViews>): void {
  check("gives back rows and checkpoint as they were saved", async ({ views }) => {
    const begun = await views.begin("list", 1);
    assert.partialDeepStrictEqual(begun, { projection: "list", version: 1, saves: 0, events: 0, checkpoint: null });
    const rows = [row("a", { quarantine }), row("b")];
    const build = await saved(views, begun, { ...batch(5), rows });
    assert.deepEqual(build, { ...begun, ...place(5), saves: 1 });
    assert.deepEqual(await views.builds("list"), [build]);
    assert.deepEqual(await views.row(build, "a"), rows[0]);
    assert.deepEqual(await views.rows(build, page), rows);
    assert.equal(await views.row(build, "c"), null);
  });

  check("lists the rows that lack something, until they are replaced by ones that do not", async ({ views }) => {
    const rows = [row("b", { quarantine }), row("a", { quarantine }), row("c")];
    const first = await saved(views, await views.begin("list", 1), { ...batch(1), rows });
    assert.deepEqual(await views.degraded(first), [rows[1], rows[0]]);
    const second = await saved(views, first, { ...batch(1), rows: [row("a")] });
    assert.deepEqual(await views.degraded(second), [rows[0]]);
  });

  check("replaces the row of a key, and keeps the others", async ({ views }) => {
    const first = await saved(views, await views.begin("list", 1), { ...batch(1), rows: [row("a"), row("b")] });
    const newer = row("a", { view: '{"n":2}', position: "2" });
    const second = await saved(views, first, { ...batch(2), rows: [newer] });
    assert.deepEqual(await views.rows(second, page), [newer, row("b")]);
  });

  check("refuses a save that follows another one than the last, and writes nothing of it", async ({ views }) => {
    const begun = await views.begin("list", 1);
    const build = await saved(views, begun, { ...batch(1), rows: [row("a")] });
    const late = { ...batch(9), rows: [row("a", { view: "{}", quarantine }), row("z")] };
    assert.deepEqual(await views.save(begun, late), { status: "conflict" });
    assert.deepEqual(await views.builds("list"), [build]);
    assert.deepEqual(await views.rows(build, page), [row("a")]);
  });

  check("lets one of several saves at once through", async ({ views }) => {
    const begun = await views.begin("list", 1);
    const results = await Promise.all(
      ["a", "b", "c"].map((key) => views.save(begun, { ...batch(1), rows: [row(key)] })),
    );
    assert.equal(results.filter(({ status }) => status === "saved").length, 1);
    assert.equal((await views.rows(begun, page)).length, 1);
  });

  check("names the rows in whose view all of some texts stand, letter by letter", async ({ views }) => {
    const texts = { a: "one two", b: "two three", c: 'One %_ \\u0000 \u{1F642} \\"2\\"' };
    const build = await saved(views, await views.begin("list", 1), {
      ...batch(1),
      rows: Object.entries(texts).map(([key, view]) => row(key, { view: `["${view}"]`, position: key })),
    });
    const keys = async (...wanted: readonly string[]): Promise<readonly string[]> =>
      (await views.containing(build, wanted)).map(({ key }) => key).toSorted();
    assert.deepEqual(await keys("two"), ["a", "b"]);
    assert.deepEqual(await keys("two", "ee"), ["b"]);
    assert.deepEqual(await keys("one"), ["a"]);
    assert.deepEqual(await keys("%_"), ["c"]);
    assert.deepEqual(await keys("\\u0000 \u{1F642}", '\\"2'), ["c"]);
    assert.deepEqual(await keys("four"), []);
    assert.deepEqual(await keys(), ["a", "b", "c"]);
    const [found] = await views.containing(build, ["three"]);
    assert.deepEqual({ ...found }, { key: "b", position: "b" });
    assert.deepEqual(await views.containing(await views.begin("list", 2), []), []);
  });

  check("gives rows in the order of their keys' bytes, page by page", async ({ views }) => {
    const keys = ["b", "a-10", "a-1", "\u{1F642}", "\uFF5E", "a"];
    const build = await saved(views, await views.begin("list", 1), {
      ...batch(1),
      rows: keys.map((key) => row(key)),
    });
    const sorted = ["a", "a-1", "a-10", "b", "\uFF5E", "\u{1F642}"];
    assert.deepEqual(
      (await views.rows(build, page)).map(({ key }) => key),
      sorted,
    );
    assert.deepEqual(
      (await views.rows(build, { after: "a-1", limit: 2 })).map(({ key }) => key),
      ["a-10", "b"],
    );
    assert.deepEqual(await views.rows(build, { after: "\u{1F642}", limit: 2 }), []);
  });
}

function addBuilds(check: AddCheck<StoreWithViews>): void {
  check("keeps builds of one projection apart, and projections from each other", async ({ views }) => {
    const left = await saved(views, await views.begin("list", 1), { ...batch(1), rows: [row("a")] });
    const right = await saved(views, await views.begin("list", 2), { ...batch(1), rows: [row("b")] });
    const other = await saved(views, await views.begin("usage", 1), batch(1));
    assert.deepEqual(
      (await views.rows(left, page)).map(({ key }) => key),
      ["a"],
    );
    assert.deepEqual(
      (await views.rows(right, page)).map(({ key }) => key),
      ["b"],
    );
    assert.deepEqual(await views.rows(other, page), []);
    assert.deepEqual(
      (await views.builds("list")).map(({ id }) => id),
      [right.id, left.id],
    );
    assert.deepEqual(await views.builds("nothing"), []);
  });

  check("publishes a build and deletes the others of its projection, which then read as empty", async ({ views }) => {
    const old = await saved(views, await views.begin("list", 1), { ...batch(1), rows: [row("a")] });
    assert.equal(await views.publish(old), true);
    const other = await views.begin("usage", 1);
    const next = await saved(views, await views.begin("list", 2), {
      ...batch(2),
      rows: [row("b", { quarantine })],
    });
    assert.deepEqual(
      (await views.builds("list")).map(({ id, isPublished }) => [id, isPublished]),
      [
        [old.id, true],
        [next.id, false],
      ],
    );
    assert.equal((await views.rows(old, page)).length, 1);
    assert.equal(await views.publish(next), true);
    assert.deepEqual(await views.builds("list"), [{ ...next, isPublished: true }]);
    assert.deepEqual(await views.rows(old, page), []);
    assert.equal(await views.row(old, "a"), null);
    assert.deepEqual(await views.rows(next, page), [row("b", { quarantine })]);
    assert.deepEqual(await views.degraded(old), []);
    assert.deepEqual(await views.builds("usage"), [other]);
  });

  check("refuses to save or publish a build that is gone, and never gives its number again", async ({ views }) => {
    const gone = await views.begin("list", 1);
    await views.publish(await views.begin("list", 1));
    assert.deepEqual(await views.save(gone, { ...batch(1), rows: [row("a")] }), { status: "conflict" });
    assert.equal(await views.publish(gone), false);
    assert.ok((await views.begin("list", 1)).id > gone.id);
    assert.deepEqual(await views.rows(gone, page), []);
  });
}

/** How every store lists rows by their places. */
function addLists(check: AddCheck<StoreWithViews>): void {
  const lists = ["x", "x all", "y"];
  const placed = async (views: ViewStore, atByKey: Readonly<Record<string, string>>): Promise<ViewBuild> =>
    saved(views, await views.begin("list", 1), {
      ...batch(1),
      rows: Object.entries(atByKey).map(([key, at]) => ({ ...row(key), places: [{ list: "x", at }] })),
    });
  const keysOf = (rows: readonly Pick<ViewRow, "key">[]): readonly string[] => rows.map(({ key }) => key);

  check("lists rows by their place, then by their key, both ways", async ({ views }) => {
    const build = await placed(views, { a: "2", b: "1", "\u{1F642}": "2", "\uFF5E": "2", c: "\u{1F642}", d: "\uFF5E" });
    const ascending = ["b", "a", "\uFF5E", "\u{1F642}", "d", "c"];
    assert.deepEqual(keysOf(await views.listed(build, listedPage(["x"]))), ascending);
    const backwards = await views.listed(build, listedPage(["x"], { order: "descending" }));
    assert.deepEqual(keysOf(backwards), ascending.toReversed());
    assert.deepEqual(backwards[0], { ...row("c"), at: "\u{1F642}" });
    assert.equal(await views.countListed(build, listedPage(["x"])), 6);
    assert.deepEqual(await views.listed(build, listedPage(["nothing"])), []);
    assert.equal(await views.countListed(build, listedPage(["nothing"])), 0);
  });

  check("lists from a time on, before another, and after a place, page by page", async ({ views }) => {
    const build = await placed(views, { a: "1", b: "2", c: "2", d: "3", e: "4" });
    const range = { from: "2", until: "4" };
    assert.equal(await views.countListed(build, listedPage(["x"], range)), 3);
    for (const [order, keys] of [
      ["ascending", ["b", "c", "d"]],
      ["descending", ["d", "c", "b"]],
    ] as const) {
      const found: string[] = [];
      for (let after: ListedPage["after"] = null, pages = 0; pages < 4; pages += 1) {
        const [only] = await views.listed(build, listedPage(["x"], { ...range, order, after, limit: 1 }));
        if (only === undefined) break;
        found.push(only.key);
        after = { at: only.at, key: only.key };
      }
      assert.deepEqual(found, keys);
    }
    const after = { at: "2", key: "bb" };
    assert.deepEqual(keysOf(await views.listed(build, listedPage(["x"], { after }))), ["c", "d", "e"]);
  });

  check("lists what stands in all of some lists at one place", async ({ views }) => {
    const at = (key: string, ...names: readonly string[]): ViewBatch["rows"][number] => ({
      ...row(key),
      places: names.map((list) => ({ list, at: key })),
    });
    const rows = [at("a", ...lists), at("b", "x all"), at("c", "x", "x all"), at("d", "y", "x"), at("e", ...lists)];
    const build = await saved(views, await views.begin("list", 1), { ...batch(1), rows });
    for (const wanted of [
      ["x", "x all", "y"],
      ["y", "x all"],
    ]) {
      assert.deepEqual(keysOf(await views.listed(build, listedPage(wanted))), ["a", "e"]);
      assert.equal(await views.countListed(build, listedPage(wanted)), 2);
    }
    assert.deepEqual(keysOf(await views.listed(build, listedPage(["y", "nothing"]))), []);
  });

  check("replaces the places of a row with the row, and tells them", async ({ views }) => {
    const places = [
      { list: "x", at: "1" },
      { list: "y", at: "1" },
    ];
    const first = await saved(views, await views.begin("list", 1), { ...batch(1), rows: [{ ...row("a"), places }] });
    assert.deepEqual(await views.places(first, "a"), places);
    const moved = [
      { list: "x", at: "2" },
      { list: "z", at: "1" },
    ];
    const second = await saved(views, first, { ...batch(2), rows: [{ ...row("a"), places: moved }] });
    assert.deepEqual(await views.places(second, "a"), moved);
    assert.deepEqual(await views.listed(second, listedPage(["x"])), [{ ...row("a"), at: "2" }]);
    assert.deepEqual(await views.listed(second, listedPage(["y"])), []);
    assert.deepEqual(await views.row(second, "a"), row("a"));
    const third = await saved(views, second, { ...batch(3), rows: [row("a")] });
    assert.deepEqual(await views.places(third, "a"), []);
    assert.deepEqual(await views.listed(third, listedPage(["x"])), []);
    assert.deepEqual(await views.places(third, "b"), []);
  });

  check("keeps lists of builds apart, and those of a build that is gone are empty", async ({ views }) => {
    const old = await placed(views, { a: "1" });
    const next = await placed(views, { b: "1" });
    assert.deepEqual(keysOf(await views.listed(old, listedPage(["x"]))), ["a"]);
    await views.publish(next);
    assert.deepEqual(await views.listed(old, listedPage(["x"])), []);
    assert.deepEqual(await views.places(old, "a"), []);
    assert.equal(await views.countListed(old, listedPage(["x"])), 0);
    assert.deepEqual(keysOf(await views.listed(next, listedPage(["x"]))), ["b"]);
  });
}
