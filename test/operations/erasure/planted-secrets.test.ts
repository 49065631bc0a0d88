import { afterAll, expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cases } from "../../support/cases.ts";
import { leftIn, type Planted, plant } from "../../support/erasure/plant.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const secretsWanted = cases(30, 1_000, 170);
const why = { by: "dpo", ground: "gdpr-17" } as const;
const ways = ["texts", "whole", "subject"] as const;

/** Conversations full of secrets, one that stays among them, with snapshots and rows of all. */
async function filled(events: EventStore, wanted: number) {
  const store = new TurnlogStore(events);
  const gone: { readonly conversation: Conversation; readonly planted: readonly Planted[] }[] = [];
  const add = async (id: string) => {
    const conversation = store.conversation(id);
    const planted = await plant(conversation, id);
    await takeSnapshots(events, `conversation-${id}`, { events: 4, edits: 3 });
    return { conversation, planted };
  };
  const kept = await add("kept");
  while (gone.flatMap(({ planted }) => planted).length < wanted) gone.push(await add(`gone-${gone.length}`));
  await store.list();
  await store.search("key");
  return { store, kept: kept.planted, gone };
}

async function eraseAll(store: TurnlogStore, gone: Awaited<ReturnType<typeof filled>>["gone"]): Promise<void> {
  for (const [index, { conversation, planted }] of gone.entries()) {
    const { id } = conversation;
    const family = [id, `${id}-fork`];
    const way = ways[index % ways.length];
    if (way === "subject")
      for (const each of family) await store.conversation(each).relabel({ labels: { subject: id } });
    // A text in a file is base64, so it is named by its block.
    const files = (await conversation.turn()).blocks.filter(({ parts }) => parts.some(({ type }) => type === "file"));
    const plan = await store.planErasure(
      way === "whole"
        ? { conversations: family }
        : way === "subject"
          ? { subject: id }
          : {
              texts: planted.flatMap(({ form, text }) => (form === "base64" ? [] : [text])),
              blocks: files.map((block) => ({ conversation: id, block: block.id ?? "" })),
            },
    );
    const receipt = await store.erase(plan, why);
    expect(receipt.search).toMatchObject({ found: 0 });
  }
}

const sum = (gone: Awaited<ReturnType<typeof filled>>["gone"]): readonly Planted[] =>
  gone.flatMap(({ planted }) => planted);

let count = 0;
let forms = 0;

test("of secrets that were planted in every form, none is left in any file after they were erased, nor after a restart", {
  timeout: 600_000,
}, async () => {
  const { path, file } = temporaryFolder();
  const { store, kept, gone } = await filled(await openSqliteStore(file("turnlog.db")), secretsWanted);
  const planted = sum(gone);
  count = planted.length;
  forms = new Set(planted.map(({ form }) => form)).size;
  expect(leftIn(path, planted)).toHaveLength(count);
  await eraseAll(store, gone);
  expect(leftIn(path, planted)).toEqual([]);
  await store.close();
  expect(leftIn(path, planted)).toEqual([]);
  await using again = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  for await (const id of again.conversations())
    await again
      .conversation(id)
      .turn()
      .catch(() => undefined);
  await again.list();
  await again.search("key");
  expect((await again.verify()).problems).toEqual([]);
  expect(leftIn(path, planted)).toEqual([]);
  expect(leftIn(path, kept)).toHaveLength(kept.length);
});

const controls = {
  "the lines": (events: SqliteStore): Partial<EventStore> => ({
    erase: ({ lines, ...erasure }) =>
      events.erase({ ...erasure, lines: lines.map((each) => ({ ...each, places: [] })) }),
  }),
  "the log of the file": (): Partial<EventStore> => ({
    scrub: async () => ({ status: "done", isRewritten: false }),
  }),
  "the long texts": (events: SqliteStore): Partial<EventStore> => ({
    erase: (erasure) => events.erase({ ...erasure, removed: [] }),
  }),
  "the rows": (events: SqliteStore): Partial<EventStore> => ({
    erase: (erasure) => events.erase({ ...erasure, rows: [] }),
  }),
} as const;

for (const [left, without] of Object.entries(controls).slice(0, cases(1, 4, 4)))
  test(`an erasure of texts that leaves out ${left} is found by the same look, and by its receipt or verify`, async () => {
    const { path, file } = temporaryFolder();
    const events = await openSqliteStore(file("turnlog.db"));
    const lazy = { ...events, ...without(events), [Symbol.asyncDispose]: () => events.close() };
    await using store = new TurnlogStore(lazy);
    const planted = await plant(store.conversation("gone"), "gone");
    await store.list();
    await store.search("key");
    const plan = await store.planErasure({
      texts: planted.flatMap(({ form, text }) => (form === "base64" ? [] : [text])),
    });
    const receipt = await store.erase(plan, why);
    expect(leftIn(path, planted).filter(({ form }) => form !== "base64")).not.toEqual([]);
    // What the log still has counts as content that stays: verify names that.
    const { problems } = await store.verify();
    expect([receipt.finished, problems.length]).not.toEqual([true, 0]);
  });

afterAll(() => {
  process.stdout.write(`planted: ${count} secrets in ${forms} forms erased, none left in any file\n`);
});
