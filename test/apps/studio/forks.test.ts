import { expect, test } from "vitest";
import type { ForksDocument } from "../../../src/apps/studio/fork-documents.ts";
import { forksDocument } from "../../../src/apps/studio/forks-document.ts";
import { blockIdSchema, runIdSchema } from "../../../src/domain/ids.ts";
import { documentAt, statusAt, studioHere } from "../../support/studio/studio-here.ts";

test("the forks of a conversation are below what they began from, from any of them, in the order of where they left it", async () => {
  await using here = await studioHere("memory:");
  const oldest = here.store.conversation("cnv_oldest");
  for (const text of ["one", "two", "three", "four"]) await oldest.append(text);
  await oldest.relabel({ title: "The oldest" });
  const late = await oldest.fork(4, { id: "cnv_late" });
  await late.relabel({ title: "Left late" });
  await oldest.fork(2, { id: "cnv_early" });
  await late.fork(-1, { id: "cnv_of_late" });
  await here.store.conversation("cnv_stranger").append("not of this family");
  const { rows, hasMore } = await here.get<ForksDocument>("/api/c/cnv_of_late/forks");
  expect(
    rows.map(({ conversation, depth, from, title, origin }) => [conversation, depth, from, title, origin]),
  ).toEqual([
    ["cnv_oldest", 0, null, "The oldest", null],
    ["cnv_early", 1, 2, "cnv_early", "fork"],
    ["cnv_late", 1, 4, "Left late", "fork"],
    ["cnv_of_late", 2, (await late.head())?.revision ?? 0, "Left late", "fork"],
  ]);
  expect(hasMore).toBe(false);
  for (const id of ["cnv_oldest", "cnv_early", "cnv_late"])
    expect((await here.get<ForksDocument>(`/api/c/${id}/forks`)).rows).toEqual(rows);
  const alone = await here.get<ForksDocument>("/api/c/cnv_stranger/forks");
  expect(alone.rows.map(({ conversation }) => conversation)).toEqual(["cnv_stranger"]);
  expect(await statusAt(here.studio, "/api/c/cnv_none/forks")).toBe(404);
  expect(await documentAt(here.studio, "/api/c/cnv_none/forks")).toMatchObject({ error: { code: "not-found" } });
});

test("a family of more than are shown is cut off, and says so; children come before forks", async () => {
  await using here = await studioHere("memory:");
  const oldest = here.store.conversation("cnv_oldest");
  await oldest.append("one");
  await oldest.append("two");
  for (let n = 0; n < 5; n += 1) await oldest.fork(1, { id: `cnv_fork_${n}` });
  await oldest.fork(0, { id: "cnv_early" });
  const call = await oldest.child("mine", {
    runId: runIdSchema.parse("run_0123456789abcdef"),
    blockId: blockIdSchema.parse("blk_0123456789abcdef"),
  });
  const shown = (most?: number) => forksDocument(here.store.events, oldest.id, most);
  const { rows, hasMore } = await shown(5);
  expect(hasMore).toBe(true);
  expect(rows.slice(0, 4).map(({ conversation, from, origin }) => [conversation, from, origin])).toEqual([
    ["cnv_oldest", null, null],
    [call.id, null, "child"],
    ["cnv_early", 0, "fork"],
    ["cnv_fork_0", 1, "fork"],
  ]);
  expect(rows).toHaveLength(5);
  expect(await shown()).toMatchObject({ hasMore: false, rows: { length: 8 } });
});
