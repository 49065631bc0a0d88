import { expect, test } from "vitest";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { usage } from "../../../src/projections/usage.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { digest } from "../../support/projections/recorded-events.ts";
import { rowsFromScratch, rowsOf, texts } from "../../support/read-models/rows.ts";
import { said, sound, stream, write } from "../../support/read-models/written-log.ts";
import { createWorkshop } from "../../support/workshop.ts";

const inheriting = { ...texts, name: "inheriting", lineage: "inherit" as const };

test("a fork counts for itself only, and knows the settings that its parent declared", async () => {
  const { store, conversation, scripted } = createWorkshop();
  const { engine } = scripted(["one", "two", "three"]);
  await conversation.append("first");
  await conversation.run(engine);
  const fork = await conversation.fork();
  await fork.append("second");
  await fork.run(engine);
  const costs = createProjector(store.events, usage);
  await costs.catchUp();
  const parent = await costs.read(stream("workshop"));
  const child = await costs.read(`conversation-${fork.id}`);
  expect(child?.view.rows).toMatchObject([{ model: parent?.view.rows[0]?.model, requests: 1 }]);
  expect(parent?.view.rows[0]?.model).not.toBe("unknown");
  const list = createProjector(store.events, conversationList);
  await list.catchUp();
  const row = await list.read(`conversation-${fork.id}`);
  const head = await store.events.head(`conversation-${fork.id}`);
  expect(row?.view.summary).toMatchObject({
    ...{ origin: "fork", parent: conversation.id },
    events: (head?.revision ?? 0) + 1,
  });
  expect(row?.view.summary.bytesSent).toBe(child?.view.rows[0]?.requestBytes);
});

test("an inheriting projection begins a fork with its parent's events, whatever the split and after a retry", async () => {
  const { store, conversation } = createWorkshop();
  await conversation.append("first");
  const fork = await conversation.fork();
  await conversation.append("not of the fork");
  await fork.append("second");
  const projector = createProjector(store.events, inheriting, { maxEvents: 1 });
  await projector.catchUp();
  const key = `conversation-${fork.id}`;
  const wanted = ["0 ConversationStarted", "1 first", "0 ConversationStarted", "1 second"];
  expect((await projector.read(key))?.view.texts).toEqual(wanted);
  expect((await projector.retry(key))?.view.texts).toEqual(wanted);
  expect(await rowsOf(projector)).toEqual(await rowsFromScratch(store.events, inheriting));
});

test("a fork whose parent is not there is degraded for who inherits, and whole for who does not", async () => {
  await using store = createMemoryStore();
  const conversationId = conversationIdSchema.parse("cnv_nobody");
  const origin = { type: "fork", conversationId, revision: 3, digest } as const;
  await write(store, [sound("fork", { type: "ConversationStarted", version: 1, data: { origin } }), said("fork")]);
  const heir = createProjector(store, inheriting);
  await heir.catchUp();
  const [row] = await heir.degraded();
  expect(row).toMatchObject({ key: stream("fork"), view: { texts: ["1 hello"] } });
  expect(row?.quarantine?.first[0]?.reason).toMatch(/forked from cnv_nobody@3, which this store does not have/);
  const own = createProjector(store, conversationList);
  await own.catchUp();
  expect(await own.read(stream("fork"))).toMatchObject({ view: { summary: { parent: "cnv_nobody", events: 2 } } });
});
