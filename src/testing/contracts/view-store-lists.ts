import assert from "node:assert/strict";
import type { ListedPage, ViewBatch, ViewBuild, ViewRow, ViewStore } from "../../log/ports/view-store.ts";
import type { AddCheck } from "./check.ts";
import { batch, listedPage, row, type StoreWithViews, saved } from "./prepared-views.ts";

/** How every store lists rows by their places. */
export function addLists(check: AddCheck<StoreWithViews>): void {
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
