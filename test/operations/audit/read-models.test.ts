import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ViewRow, ViewStore } from "../../../src/log/ports/view-store.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { usage } from "../../../src/projections/usage.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { searchTexts } from "../../../src/projections/views/search-texts.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createMemoryViews } from "../../../src/stores/memory/views.ts";

/** Two conversations, a fork of one, and the rows of both read models. */
async function world() {
  const store = new TurnlogStore(createMemoryStore());
  const views = createMemoryViews();
  const readModels = [
    createProjector(store.events, conversationList, { views }),
    createProjector(store.events, usage, { views }),
    createProjector(store.events, searchTexts, { views }),
  ];
  const journey = store.conversation("cnv_journey");
  await journey.relabel({ title: "A journey to Rome" });
  await journey.append("Hello");
  await store.conversation("cnv_other").append("Hi");
  await journey.fork(1, { id: "cnv_fork" });
  for (const model of readModels) await model.catchUp();
  return { store, views, readModels };
}

type World = Awaited<ReturnType<typeof world>>;

async function verified({ store, readModels }: Pick<World, "store" | "readModels">): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { conversation, problem } of verifyStore(store.events, { codecs, readModels }))
    if (problem !== null) lines.push(`${conversation}@${problem.revision} ${problem.kind}: ${problem.message}`);
  return lines;
}

/** Changes the stored form of one row, as any user with write access to the file can. */
async function change(
  views: ViewStore,
  key: string,
  how: (row: ViewRow) => Partial<ViewRow>,
  projection = "conversation-list",
): Promise<void> {
  const [build] = await views.builds(projection);
  const row = build === undefined ? null : await views.row(build, key);
  if (build === undefined || row === null) throw new Error(`no row of ${key}`);
  const { checkpoint, events } = build;
  await views.save(build, { checkpoint, events, rows: [{ ...row, ...how(row) }] });
}

test("rows that are what their events give are right, also when events came since", async () => {
  const here = await world();
  expect(await verified(here)).toEqual([]);
  await here.store.conversation("cnv_other").append("More");
  await here.store.conversation("cnv_newer").append("Newer");
  expect(await verified(here)).toEqual([]);
});

test("rows that an erasure deleted are right until the next catch-up makes them again, and one that others lost is named", async () => {
  const events = createMemoryStore();
  const { views } = events;
  const store = new TurnlogStore(events);
  const readModels = [createProjector(store.events, conversationList), createProjector(store.events, searchTexts)];
  await store.conversation("cnv_journey").append("My number is 555-0199.");
  await store.conversation("cnv_other").append("Hi");
  for (const model of readModels) await model.catchUp();
  await store.erase(await store.planErasure({ texts: ["555-0199"] }), { by: "dpo", ground: "gdpr-17" });
  const here = { store, readModels };
  expect(await verified(here)).toEqual([]);
  await change(views, "conversation-cnv_other", () => ({ key: "conversation-cnv_ghost" }));
  expect(await verified(here)).toContainEqual(expect.stringMatching(/^cnv_ghost@0 view: /));
  for (const model of readModels) await model.catchUp();
  await change(views, "conversation-cnv_journey", () => ({ view: "{}" }));
  expect(await verified(here)).toContainEqual(expect.stringMatching(/^cnv_journey@2 view: /));
});

test("a row of the search index that says something else, and one that no event gives, are named", async () => {
  const here = await world();
  for (let n = 0; n < 70; n += 1) await here.store.conversation("cnv_journey").append(`said ${n}`);
  for (const model of here.readModels) await model.catchUp();
  expect(await verified(here)).toEqual([]);
  const forge = (row: ViewRow) => ({ view: row.view.replace("said 65", "said nothing") });
  await change(here.views, "conversation-cnv_journey#1", forge, "search-texts");
  expect(await verified(here)).toEqual([
    "cnv_journey@72 view: the events are right, but search-texts differs from them: rebuild that projection",
  ]);
  await here.readModels[2]?.rebuild();
  await change(here.views, "conversation-cnv_other#0", () => ({ key: "conversation-cnv_other#7" }), "search-texts");
  expect(await verified(here)).toEqual(["null@0 view: search-texts has a row for it, but it does not exist"]);
});

test("a row that cannot be read is named, and the rest is verified", async () => {
  const here = await world();
  await change(here.views, "conversation-cnv_journey#0", () => ({ view: "[[" }), "search-texts");
  expect(await verified(here)).toEqual([
    "cnv_journey@2 view: the events are right, but search-texts differs from them: rebuild that projection",
  ]);
});

test("a store that keeps no rows yet has none that are wrong", async () => {
  const here = await world();
  const readModels = [createProjector(here.store.events, conversationList, { views: createMemoryViews() })];
  expect(await verified({ ...here, readModels })).toEqual([]);
});

test.each<[string, (row: ViewRow) => Partial<ViewRow>]>([
  ["says something else", ({ view }) => ({ view: view.replace("A journey to Rome", "An innocent chat") })],
  ["is no JSON", () => ({ view: "{" })],
  ["lacks the newest events", ({ revision }) => ({ revision: revision - 1 })],
])("a row that %s is named, and rebuilding makes it right", async (_, how) => {
  const here = await world();
  await change(here.views, "conversation-cnv_journey", how);
  expect(await verified(here)).toEqual([
    "cnv_journey@2 view: the events are right, but conversation-list differs from them: rebuild that projection",
  ]);
  await here.readModels[0]?.rebuild();
  expect(await verified(here)).toEqual([]);
});

test("a row that is marked as lacking something is no lie", async () => {
  const here = await world();
  await change(here.views, "conversation-cnv_journey", () => ({ view: "{}", quarantine: { events: 1, first: [] } }));
  expect(await verified(here)).toEqual([]);
});

test("a row of a conversation that is not there is named", async () => {
  const here = await world();
  await change(here.views, "conversation-cnv_other", () => ({ key: "conversation-cnv_ghost" }));
  expect(await verified(here)).toEqual(["cnv_ghost@0 view: conversation-list has a row for it, but it does not exist"]);
});

test("a row that is not there where it should be is named", async () => {
  const here = await world();
  const views: ViewStore = {
    ...here.views,
    row: async (build, key) => (key.endsWith("other") ? null : here.views.row(build, key)),
  };
  const readModels = [createProjector(here.store.events, conversationList, { views })];
  expect(await verified({ ...here, readModels })).toEqual([expect.stringMatching(/^cnv_other@1 view: /)]);
});

test("verify names a row that is in a list where its events do not put it", async () => {
  const here = await world();
  const views: ViewStore = {
    ...here.views,
    places: async (build, key) => (key.endsWith("other") ? [] : here.views.places(build, key)),
  };
  const readModels = [createProjector(here.store.events, conversationList, { views })];
  expect(await verified({ ...here, readModels })).toEqual([expect.stringMatching(/^cnv_other@1 view: /)]);
});

test("rows that are saved meanwhile are looked at again", async () => {
  const here = await world();
  let saves = 0;
  const views: ViewStore = {
    ...here.views,
    async row(build, key) {
      if (saves < 3) {
        saves += 1;
        await here.store.conversation("cnv_other").append(`More ${saves}`);
        await here.readModels[0]?.catchUp();
      }
      return here.views.row(build, key);
    },
  };
  const readModels = [createProjector(here.store.events, conversationList, { views })];
  expect(await verified({ ...here, readModels })).toEqual([]);
  expect(saves).toBe(3);
});
