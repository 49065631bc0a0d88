import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { usage } from "../../../src/projections/usage.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { damaging } from "../../support/log/damaging-store.ts";
import { rowsFromScratch, rowsOf, texts } from "../../support/read-models/rows.ts";
import { said, sound, started, stream, type Written, write } from "../../support/read-models/written-log.ts";
import { freshStore, storeKinds } from "../../support/workshop.ts";

const inheriting = { ...texts, name: "inheriting", lineage: "inherit" as const };

/** The first event of a fork from the newest event of a conversation. */
async function forked(store: EventStore, name: string, parent: string): Promise<Written> {
  const head = await store.head(stream(parent));
  if (head === null) throw new Error(`${parent} has no events`);
  const origin = { type: "fork", conversationId: conversationIdSchema.parse(`cnv_${parent}`), ...head } as const;
  return sound(name, { type: "ConversationStarted", version: 1, data: { origin } });
}

async function skip(store: EventStore, name: string, revision: number): Promise<void> {
  await new TurnlogStore(store).conversation(`cnv_${name}`).skipEvent(revision, "a test");
}

/** A parent, a fork of its beginning, a fork of its end, and a fork of that one. */
async function family(store: EventStore, between: Written): Promise<void> {
  await write(store, [started("parent")]);
  await write(store, [await forked(store, "early", "parent"), said("early", "apart")]);
  await write(store, [between, said("parent", "last")]);
  await write(store, [await forked(store, "fork", "parent"), said("fork", "own")]);
  await write(store, [await forked(store, "grandchild", "fork"), said("grandchild", "own")]);
}

test.each(storeKinds)(
  "rows of forks, and of their forks, do not keep what their parent said in an event that was skipped, on %s",
  async (kind) => {
    const { events: store, damage } = damaging(await freshStore(kind));
    await using _ = store;
    await family(store, said("parent", "secret"));
    const projector = createProjector(store, inheriting);
    await projector.catchUp();
    const before = new Map((await rowsOf(projector)).map((row) => [row.key, row]));
    for (const name of ["parent", "fork", "grandchild"])
      expect(JSON.stringify(before.get(stream(name)))).toContain("1 secret");
    damage(stream("parent"), 1, damages["data that is no JSON"]);
    await skip(store, "parent", 1);
    await projector.catchUp();
    const rows = await rowsOf(projector);
    expect(JSON.stringify(rows)).not.toContain("secret");
    expect(rows.find(({ key }) => key === stream("grandchild"))?.view.texts).toContain("2 last");
    expect(rows.find(({ key }) => key === stream("early"))).toEqual(before.get(stream("early")));
    expect(rows).toEqual(await rowsFromScratch(store, inheriting));
    expect(await projector.degraded()).toEqual([]);
    for (const { key } of rows) expect(await projector.mismatchedRow(key)).toBeNull();
  },
);

test.each(storeKinds)("a fork is not listed under a title that was skipped in its parent, on %s", async (kind) => {
  const { events: store, damage } = damaging(await freshStore(kind));
  await using _ = store;
  await family(store, sound("parent", { type: "ConversationRelabelled", version: 1, data: { title: "Secret" } }));
  const projector = createProjector(store, conversationList);
  await projector.catchUp();
  expect((await projector.read(stream("grandchild")))?.view.summary.title).toBe("Secret");
  damage(stream("parent"), 1, damages["data that is no JSON"]);
  await skip(store, "parent", 1);
  await projector.catchUp();
  expect(JSON.stringify(await rowsOf(projector))).not.toContain("Secret");
  expect(await rowsOf(projector)).toEqual(await rowsFromScratch(store, conversationList));
});

test("rows of forks from before the skipped event are not folded again, nor are rows of others made", async () => {
  const { events: store, damage } = damaging(await freshStore("memory"));
  await family(store, said("parent", "secret"));
  await write(store, [started("stranger"), said("stranger", "secret")]);
  const folded: string[] = [];
  const noting: typeof inheriting = {
    ...inheriting,
    initial: (key) => {
      folded.push(key);
      return inheriting.initial(key);
    },
  };
  const projector = createProjector(store, noting);
  const ofParent = createProjector(store, noting, { stream: stream("parent") });
  for (const each of [projector, ofParent]) await each.catchUp();
  damage(stream("parent"), 1, damages["data that is no JSON"]);
  await skip(store, "parent", 1);
  folded.length = 0;
  await projector.catchUp();
  expect(new Set(folded)).toEqual(new Set(["parent", "fork", "grandchild"].map(stream)));
  await ofParent.catchUp();
  expect((await rowsOf(ofParent)).map(({ key }) => key)).toEqual([stream("parent")]);
});

test("rows of a fork alone do not keep what its parent said in an event that was skipped", async () => {
  const { events: store, damage } = damaging(await freshStore("memory"));
  await family(store, said("parent", "secret"));
  const projector = createProjector(store, inheriting, { stream: stream("fork") });
  await projector.catchUp();
  expect(JSON.stringify(await rowsOf(projector))).toContain("secret");
  damage(stream("parent"), 1, damages["data that is no JSON"]);
  await skip(store, "parent", 1);
  await projector.catchUp();
  const [row, ...others] = await rowsOf(projector);
  expect([row?.key, others]).toEqual([stream("fork"), []]);
  expect(row?.view.texts).toContain("2 last");
  expect(JSON.stringify(row)).not.toContain("secret");
});

test("a skip that cannot be read is as if it were not there", async () => {
  const { events: store, damage } = damaging(await freshStore("memory"));
  await family(store, said("parent", "secret"));
  damage(stream("parent"), 1, damages["data that is no JSON"]);
  await skip(store, "parent", 1);
  damage(stream("parent"), 3, damages["data that is no JSON"]);
  const costs = createProjector(store, usage);
  await costs.catchUp();
  expect((await costs.degraded()).map(({ key }) => key)).toEqual([stream("parent")]);
  const heirs = createProjector(store, inheriting);
  await heirs.catchUp();
  expect((await heirs.degraded()).map(({ key }) => key)).toEqual(["fork", "grandchild", "parent"].map(stream));
});
