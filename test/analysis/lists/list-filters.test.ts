import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { type ListOptions, listedStates } from "../../../src/analysis/lists/list.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { cases, firstSeed } from "../../support/cases.ts";
import { createWorkshop, freshStore, storeKinds, type Workshop } from "../../support/workshop.ts";

type Listed = { id: string; startedAt: number; lastAt: number; written: number; labels: Record<string, string> };

const names = ["cnv_a", "cnv_b", "cnv_c", "cnv_d", "cnv_e", "cnv_f"] as const;
const step = fc.record({
  id: fc.constantFrom(...names),
  does: fc.constantFrom("append", "user", "team", "hide", "unhide"),
  value: fc.constantFrom("ann", "bob"),
  ms: fc.integer({ min: 0, max: 2 }),
});
const time = fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined });
const asked = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  sort: fc.constantFrom("lastAt", "startedAt"),
  order: fc.constantFrom("ascending", "descending"),
  since: time,
  until: time,
  labels: fc.constantFrom({}, { user: "ann" }, { user: "ann", team: "bob" }, { team: "eve" }),
  withHidden: fc.boolean(),
});

test.each(storeKinds)("the pages of a list in a %s store are what a plain filter gives", async (kind) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 16 }),
      fc.array(asked, { minLength: 1, maxLength: 3 }),
      async (steps, lists) => {
        const workshop = createWorkshop({ events: await freshStore(kind) });
        const begun = workshop.clock.now;
        const known = await play(workshop, steps);
        for (const { since, until, ...options } of lists) {
          const at = (ms: number | undefined) => (ms === undefined ? undefined : new Date(begun + ms));
          const [from, to] = [at(since), at(until)?.toISOString()];
          const range = { ...(from && { since: from }), ...(to !== undefined && { until: to }) };
          const inTime = known.filter(
            ({ [options.sort]: each }) => each >= begun + (since ?? -1) && each < begun + (until ?? 1_000),
          );
          const labelled = inTime.filter(({ labels }) =>
            Object.entries(options.labels).every(([name, value]) => labels[name] === value),
          );
          const found = labelled.filter(({ labels }) => options.withHidden || !("turnlog.hidden" in labels));
          const pages = await allPages(workshop, { ...options, ...range });
          expect(pages.flatMap(({ ids }) => ids)).toEqual(ordered(found, options).map(({ id }) => id));
          expect(pages.slice(0, -1).every(({ ids }) => ids.length === options.limit)).toBe(true);
          for (const page of pages)
            expect(page).toMatchObject({ total: found.length, hidden: labelled.length - found.length });
        }
        await workshop.store.close();
      },
    ),
    { numRuns: kind === "memory" ? cases(14, 5_000, 40) : cases(4, 500, 8), seed: firstSeed },
  );
});

test("a conversation that moves while pages are read is on no page twice; by its start, all are on one", async () => {
  const { store, clock } = await written("cnv_a", "cnv_b", "cnv_c", "cnv_d");
  const touched = async (options: ListOptions) => {
    const first = await store.list({ ...options, limit: 2 });
    clock.now += 1;
    await store.conversation("cnv_a").append("again");
    await store.conversation("cnv_d").append("again");
    const rest = await store.list({ ...options, after: first.next ?? "" });
    return [first, rest].flatMap(({ conversations }) => conversations.map(({ id }) => id));
  };
  expect(await touched({})).toEqual(["cnv_d", "cnv_c", "cnv_b"]);
  expect(await touched({ sort: "startedAt" })).toEqual(["cnv_d", "cnv_c", "cnv_b", "cnv_a"]);
  expect(await touched({ sort: "startedAt", order: "ascending" })).toEqual(["cnv_a", "cnv_b", "cnv_c", "cnv_d"]);
  await expect(touched({ order: "ascending" })).resolves.toEqual(expect.arrayContaining([...names.slice(0, 4)]));
});

test("a run is found by its state while it is open, and a conversation by what it lost", async () => {
  const { store, scripted } = await written("cnv_idle", "cnv_runs", "cnv_lost");
  const ids = async (options: ListOptions) => (await store.list(options)).conversations.map(({ id }) => id);
  const seen: (readonly string[])[] = [];
  const look = tool({
    ...{ name: "look", description: "Looks at the list.", inputSchema: z.object({}) },
    async execute() {
      for (const state of listedStates) seen.push(await ids({ state }));
      return "seen";
    },
  });
  const calls = [{ name: "look", arguments: {} }];
  await store.conversation("cnv_runs").run(scripted([{ calls }, "done"], { tools: [look] }).engine);
  expect(seen).toEqual([["cnv_runs"], ["cnv_runs"], [], [], []]);
  expect(await ids({ state: "open" })).toEqual([]);
  const { provider } = scripted([]);
  const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Once" }] };
  const cut = createWorkshop().engine({
    provider: {
      ...provider,
      infer: () =>
        Promise.reject(new ProviderError("cut", { kind: "stream-cut", outcome: "unknown", partial: [item] })),
    },
  });
  await expect(store.conversation("cnv_lost").run(cut)).rejects.toThrow("cut");
  expect(await ids({ losses: true })).toEqual(["cnv_lost"]);
});

test("search looks in the conversations that have some labels", async () => {
  const { store } = await written("cnv_a", "cnv_b");
  await store.conversation("cnv_a").relabel({ labels: { user: "ann" } });
  const found = async (labels: Record<string, string>) =>
    (await store.search("hello", { labels })).hits.map(({ conversation }) => conversation);
  expect(await found({ user: "ann" })).toEqual(["cnv_a"]);
  expect(await found({ user: "eve" })).toEqual([]);
  expect(await found({})).toEqual(["cnv_a", "cnv_b"]);
});

test("rows of an older version, which are in no list, are rebuilt", async () => {
  const { store } = await written("cnv_a", "cnv_b");
  const older = { ...conversationList, version: conversationList.version - 1, places: () => [] };
  await createProjector(store.events, older).catchUp();
  expect((await store.list()).conversations.map(({ id }) => id)).toEqual(["cnv_b", "cnv_a"]);
  expect(await store.events.views?.builds("conversation-list")).toMatchObject([
    { version: conversationList.version, isPublished: true },
  ]);
});

test("a page is refused to a caller who may not read all conversations", async () => {
  await using store = await openStore("memory:", { authorize: ({ stream }) => stream === "conversation-cnv_a" });
  await store.conversation("cnv_a").append("hello");
  await expect(store.list()).rejects.toMatchObject({ code: "access-denied" });
});

async function written(...ids: readonly string[]): Promise<Workshop> {
  const workshop = createWorkshop();
  for (const id of ids) {
    workshop.clock.now += 1;
    await workshop.store.conversation(id).append("hello");
  }
  return workshop;
}

type Step = { readonly id: string; readonly does: string; readonly value: string; readonly ms: number };

/** What a reader who was there knows of the conversations. */
async function play({ store, clock }: Workshop, steps: readonly Step[]): Promise<readonly Listed[]> {
  const known = new Map<string, Listed>();
  for (const [index, { id, does, value, ms }] of steps.entries()) {
    clock.now += ms;
    const conversation = store.conversation(id);
    const before = known.get(id) ?? { id, startedAt: clock.now, lastAt: 0, written: 0, labels: {} };
    const labels = { ...before.labels };
    const head = await store.events.head(`conversation-${id}`);
    if (does === "append") await conversation.append("hello");
    else if (does === "hide") await conversation.hide();
    else if (does === "unhide") await conversation.unhide();
    else await conversation.relabel({ labels: { [does]: value } });
    const now = await store.events.head(`conversation-${id}`);
    if (now === null || now.revision === head?.revision) continue;
    if (does === "hide") labels["turnlog.hidden"] = "";
    else if (does === "unhide") delete labels["turnlog.hidden"];
    else if (does !== "append") labels[does] = value;
    known.set(id, { ...before, labels, lastAt: clock.now, written: index });
  }
  return [...known.values()];
}

function ordered(
  found: readonly Listed[],
  { sort, order }: { readonly sort: "lastAt" | "startedAt"; readonly order: string },
) {
  const tie = (left: Listed, right: Listed): number =>
    sort === "lastAt" ? left.written - right.written : left.id < right.id ? -1 : 1;
  const ascending = found.toSorted((left, right) => left[sort] - right[sort] || tie(left, right));
  return order === "ascending" ? ascending : ascending.toReversed();
}

async function allPages({ store }: Workshop, options: ListOptions) {
  const pages: { readonly ids: readonly string[]; readonly total: number | null; readonly hidden: number | null }[] =
    [];
  for (let after: string | null | undefined; after !== null && pages.length < 20; ) {
    const page = await store.list({ ...options, withTotal: true, ...(after === undefined ? {} : { after }) });
    pages.push({ ids: page.conversations.map(({ id }) => id), total: page.total, hidden: page.hidden });
    after = page.next;
  }
  return pages;
}
