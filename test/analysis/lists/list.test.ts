import { expect, test } from "vitest";
import { createWorkshop, type Workshop } from "../../support/workshop.ts";

test("conversations are listed a page at a time, the one written last first", async () => {
  const { store } = await threeUsers();
  const first = await store.list({ limit: 2, withTotal: true });
  expect(idsOf(first)).toEqual(["cnv_c", "cnv_b"]);
  expect(first).toMatchObject({ total: 3, hidden: 0 });
  const second = await store.list({ limit: 2, after: first.next ?? "" });
  expect(idsOf(second)).toEqual(["cnv_a"]);
  expect(second.next).toBeNull();
});

test("what is written between two pages is given on neither twice", async () => {
  const { store } = await threeUsers();
  const { next } = await store.list({ limit: 1 });
  await store.conversation("cnv_c").append("once more");
  expect(idsOf(await store.list({ after: next ?? "" }))).toEqual(["cnv_b", "cnv_a"]);
});

test("labels are listed, and conversations are found by them", async () => {
  const { store } = await threeUsers();
  const ofAnn = await store.list({ labels: { user: "ann" }, withTotal: true });
  expect(ofAnn.conversations.map(({ id, labels }) => [id, labels])).toEqual([
    ["cnv_c", { user: "ann", team: "red" }],
    ["cnv_a", { user: "ann" }],
  ]);
  expect(ofAnn).toMatchObject({ total: 2, next: null });
  expect(idsOf(await store.list({ labels: { user: "ann", team: "red" } }))).toEqual(["cnv_c"]);
  expect(idsOf(await store.list({ labels: { user: "nobody" } }))).toEqual([]);
});

test("a label that changed is listed as it is now", async () => {
  const { store } = await threeUsers();
  await store.conversation("cnv_a").relabel({ labels: { user: "bob" } });
  expect(idsOf(await store.list({ labels: { user: "bob" } }))).toEqual(["cnv_a", "cnv_b"]);
});

test("a fork has the title and labels of its parent as they were there, until it is given others", async () => {
  const { store } = await threeUsers();
  const parent = store.conversation("cnv_a");
  await parent.relabel({ title: "Trip" });
  const fork = await parent.fork(-1, { id: "cnv_fork" });
  await parent.relabel({ labels: { user: "bob" } });
  expect((await store.list({ labels: { user: "ann" } })).conversations[0]).toMatchObject({
    ...{ id: "cnv_fork", title: "Trip", labels: { user: "ann" } },
  });
  await fork.relabel({ labels: { user: "eve" } });
  expect(idsOf(await store.list({ labels: { user: "eve" } }))).toEqual(["cnv_fork"]);
});

test("an empty store has an empty list", async () => {
  expect(await createWorkshop().store.list({ withTotal: true })).toEqual({
    ...{ conversations: [], total: 0, hidden: 0, next: null },
  });
});

const idsOf = ({ conversations }: Awaited<ReturnType<Workshop["store"]["list"]>>): readonly string[] =>
  conversations.map(({ id }) => id);

async function threeUsers(): Promise<Workshop> {
  const workshop = createWorkshop();
  for (const [id, labels] of [
    ["cnv_a", { user: "ann" }],
    ["cnv_b", { user: "bob" }],
    ["cnv_c", { user: "ann", team: "red" }],
  ] as const) {
    const conversation = workshop.store.conversation(id);
    await conversation.append("hello");
    await conversation.relabel({ labels });
  }
  return workshop;
}
