import { expect, test } from "vitest";
import { type LogPage, type OverviewDocument, verdicts } from "../../../src/apps/studio/page-documents.ts";
import type { StackDocument, StackRow } from "../../../src/apps/studio/stack-documents.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { documentAt, statusAt, studioHere } from "../../support/studio/studio-here.ts";

const demoStore = useDemoStore();

async function openDemo() {
  const folder = demoStore();
  const here = await studioHere(`sqlite:${folder.file("turnlog.db")}`);
  const { conversations } = await here.store.list();
  const id = conversations[0]?.id ?? "";
  const stack = (revision: number, query = ""): Promise<StackDocument> =>
    here.get(`/api/c/${id}/stack/${revision}${query}`);
  return {
    ...{ ...here, id, stack, folder },
    [Symbol.asyncDispose]: () => here[Symbol.asyncDispose](),
  };
}

const blocks = ({ rows }: StackDocument): readonly StackRow[] => rows.filter((row) => row.kind === "block");
const signs = (stack: StackDocument): string =>
  stack.rows
    .map((row) => (row.kind === "fold" ? `[${row.from}-${row.to}]` : `${row.index}${row.request?.sign ?? "gone"}`))
    .join(" ");
const title = ({ banner }: StackDocument): string =>
  banner.title.map((part) => (typeof part === "string" ? part : part.layer)).join("");

test("the stack of a rebased request says which layer changed what, what is sent again, and what the server holds", async () => {
  await using demo = await openDemo();
  const stack = await demo.stack(24);
  expect(title(stack)).toBe("Rebased one answer back: shorten-results changed a block that the server already held");
  expect(stack.banner).toMatchObject({ tone: "warn", edit: 23, block: { index: 5 } });
  expect(signs(stack)).toBe("0held 1held [2-4] 5changed 6again 7again 8new");
  const changed = blocks(stack).filter(({ edits }) => edits.length > 0);
  expect(
    changed.map(({ index, edits }) => [index, edits.map(({ layer, change, revision }) => [layer, change, revision])]),
  ).toEqual([
    [1, [[2, "modified", 22]]],
    [5, [[3, "modified", 23]]],
  ]);
  expect(stack.contexts.map(({ revision, verdict }) => [revision, verdict])).toEqual([
    [17, "differs at block 5"],
    [8, "continued from here"],
  ]);
  expect(stack.layers.map(({ name, changed: count }) => `${name} ${count}`)).toEqual([
    ...["tool-loop 0", "redact-emails 1", "shorten-results 1", "ask-first 0", "speak-french 0"],
  ]);
});

test("an event belongs to the request that it leads to, and what follows an answer to the request before", async () => {
  await using demo = await openDemo();
  const requestOf = async (revision: number): Promise<number | undefined> =>
    (await demo.stack(revision)).request?.revision;
  expect(await Promise.all([20, 22, 24, 25, 26, 28, 31, 34, 65].map(requestOf))).toEqual([
    24, 24, 24, 24, 24, 31, 31, 31, 62,
  ]);
});

test("a request in full names the layer, and a block that a layer removed stays in its place", async () => {
  await using demo = await openDemo();
  expect(title(await demo.stack(62))).toBe(
    "Sent in full: speak-french changed block 0, so no answer could be continued from",
  );
  const rebased = await demo.stack(47);
  expect(rebased.banner).toMatchObject({ edit: 41, block: { index: 13 } });
  expect(title(rebased)).toContain("ask-first removed a block");
});

test("a message that was not sent yet says so, with the blocks that the client has", async () => {
  await using demo = await openDemo();
  await demo.store.conversation(demo.id).append("And back?");
  const stack = await demo.stack(66);
  expect(stack).toMatchObject({ request: null, banner: { verdict: "nothing" }, client: { blocks: 21 } });
});

test("a fold opens where the reader opens it, and pages hold what they say", async () => {
  await using demo = await openDemo();
  expect(signs(await demo.stack(24, "?open=2"))).toContain("2held 3held 4held");
  const whole = await demo.stack(62);
  const parts = [
    await demo.stack(62, "?n=7"),
    await demo.stack(62, "?from=7&n=7"),
    await demo.stack(62, "?from=14&n=7"),
  ];
  expect(parts.flatMap(({ rows }) => rows)).toEqual(whole.rows);
});

test("the overview adds up to what ls says", async () => {
  await using demo = await openDemo();
  const overview = await demo.get<OverviewDocument>(`/api/c/${demo.id}`);
  const [listed] = (await demo.store.list()).conversations;
  const sum = (place: 2 | 3): number => overview.requests.items.reduce((all, each) => all + each[place], 0);
  expect([sum(2), sum(3)]).toEqual([listed?.bytesSent, listed?.bytesSaved]);
  expect(overview.groups.items.map(([from, to, , , worst]) => [from, to, verdicts[worst]])).toEqual([
    [0, 19, "first"],
    [20, 34, "rebased"],
    [35, 43, "chained"],
    [44, 57, "rebased"],
    [58, 65, "full"],
  ]);
});

test("a page that knows the overview gets what is new only", async () => {
  await using demo = await openDemo();
  const overview = await demo.get<OverviewDocument>(`/api/c/${demo.id}?groups=4&requests=7`);
  expect([overview.groups.from, overview.requests.from]).toEqual([4, 7]);
  expect([overview.groups.items.length, overview.requests.items.map(([revision]) => revision)]).toEqual([1, [62]]);
});

test("a fork's log is its own, and its stack continues from its parent", async () => {
  await using demo = await openDemo();
  const fork = await demo.store.conversation(demo.id).fork(20, { id: "cnv_fork_of_the_demo" });
  await fork.append("Another question");
  const overview = await demo.get<OverviewDocument>(`/api/c/${fork.id}`);
  expect(overview).toMatchObject({ events: 2, parent: { conversation: demo.id, revision: 20 } });
  expect(await demo.get<StackDocument>(`/api/c/${fork.id}/stack/1`)).toMatchObject({ client: { blocks: 10 } });
});

test("what another writer appends is there with the next look, and changes name it", async () => {
  await using demo = await openDemo();
  const before = await demo.get<{ readonly after: string }>("/api/changes");
  await demo.get(`/api/c/${demo.id}`);
  const { code } = await turnlogHere(["append", demo.id, "Hello"], { cwd: demo.folder.path });
  expect(code).toBe(0);
  expect(await demo.get(`/api/changes?after=${before.after}`)).toMatchObject({
    changed: [{ conversation: demo.id, revision: 66 }],
  });
  const { rows, total } = await demo.get<LogPage>(`/api/c/${demo.id}/log?from=66`);
  expect([total, rows.map(({ words }) => words)]).toEqual([67, ["user"]]);
});

test("changes say once that an order to erase went on, so that a page shows its end", async () => {
  await using demo = await openDemo();
  const { store, id } = demo;
  type Changes = { readonly after: string; readonly changed: readonly unknown[]; readonly hasOrders: boolean };
  const { after } = await demo.get<Changes>("/api/changes");
  await store.erase(await store.planErasure({ conversations: [id] }), { by: "dpo", ground: "gdpr-17" });
  const changes = await demo.get<Changes>(`/api/changes?after=${after}`);
  expect(changes.hasOrders).toBe(true);
  expect(await demo.get(`/api/changes?after=${changes.after}`)).toEqual({
    after: changes.after,
    changed: [],
    hasOrders: false,
  });
});

test("texts of an erased conversation leave the studio's memory with the next look", async () => {
  await using demo = await openDemo();
  const { store, id } = demo;
  await demo.stack(24);
  const plan = await store.planErasure({ conversations: [id] });
  await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
  const log = JSON.stringify(await demo.get(`/api/c/${id}/log`));
  expect(log).toContain("conversation-erased");
  expect(log + JSON.stringify(await demo.stack(24))).not.toContain("hotel");
});

test("without access, or with anything but true from it, every request is refused", async () => {
  const folder = demoStore();
  await using here = await studioHere(`sqlite:${folder.file("turnlog.db")}`);
  const { studioOver } = await import("../../../src/apps/studio/studio.ts");
  const { store } = here;
  expect(await statusAt(studioOver({ store }, {}), "/api/store")).toBe(403);
  // A caller without types may return anything.
  const truthy = (() => "yes") as unknown as () => boolean;
  expect(await statusAt(studioOver({ store, access: truthy }, {}), "/api/store")).toBe(403);
  expect(await statusAt(studioOver({ store, access: async () => true }, {}), "/api/store")).toBe(200);
});

test.each([
  ["/api/c/cnv_none", 404, "not-found"],
  ["/api/c/DEMO/stack/400", 404, "revision-not-found"],
  ["/api/c/DEMO/stack/x", 400, "input"],
  ["/api/c/DEMO/block/blk_none", 404, "not-found"],
  ["/api/c/DEMO/why/1", 404, "request-not-found"],
  ["/api/bill?by=colour", 400, "input"],
  ["/api/search?q=%22", 400, "input"],
  ["/api/nothing", 404, "not-found"],
])("%s answers %i with a code and a sentence", async (path, status, code) => {
  await using demo = await openDemo();
  const target = path.replace("DEMO", path.includes("/why/") ? "cnv_without_requests" : demo.id);
  await demo.store.conversation("cnv_without_requests").append(["one", "two"]);
  expect(await statusAt(demo.studio, target)).toBe(status);
  const { error } = await documentAt<{ readonly error: { readonly code: string; readonly message: string } }>(
    demo.studio,
    target,
  );
  expect(error.code).toBe(code);
  expect(error.message).not.toBe("");
});
