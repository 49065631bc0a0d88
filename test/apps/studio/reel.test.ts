import { expect, test } from "vitest";
import { Reel } from "../../../src/apps/studio/reel.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import { skippedOf } from "../../../src/log/snapshots/open.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { countingLog } from "../../support/studio/counting-log.ts";
import { createWorkshop } from "../../support/workshop.ts";

test("a conversation without damage is opened with one reading of its events", async () => {
  const { store, conversation } = await randomConversation(1);
  const counting = countingLog(store);
  const reel = await Reel.open(counting.log, conversation.id);
  expect(reel.rows.length).toBeGreaterThan(20);
  // The first event is read twice more: for how the stream names its blocks, and for what the conversation was forked from.
  expect(counting.read).toBe(reel.rows.length + 2);
});

test.each(Object.entries(damages))("with %s, it leaves out what folds leave out", async (_, damage) => {
  for (const place of ["own", "parent"] as const)
    for (const isSkipped of [false, true]) {
      const { events, damage: damageAt } = createDamagingStore();
      const { store, conversation, scripted } = createWorkshop({ events });
      await conversation.append("Hello.");
      await conversation.run(scripted(["Hi."]).engine);
      const { revision = 0 } = (await conversation.head()) ?? {};
      const opened = place === "own" ? conversation : await conversation.fork();
      damageAt(conversationStream(conversation.id), revision, damage);
      if (isSkipped)
        await store.conversation(conversation.id).skipEvent(revision, "half written", { allThatFollow: true });
      const reel = await Reel.open(store.log, opened.id);
      const skipped = [...(await skippedOf(store.log, conversationStream(opened.id)))];
      expect([...reel.skipped], `${place}, skipped: ${isSkipped}`).toEqual(skipped);
      expect(skipped).toHaveLength(isSkipped ? 1 : 0);
      expect(reel.damage === null).toBe(isSkipped);
    }
});

test.each([
  ["data that is no JSON", "Event r1 cannot be read"],
  ["a type that nobody knows", "Event r1 cannot be read"],
  ["data that follows from nothing before", "Event r1 is not what was written"],
] as const)("%s is named as what it is", async (name, title) => {
  const { events, damage } = createDamagingStore();
  const { store, conversation } = createWorkshop({ events });
  await conversation.append(["Hello.", "Are you there?"]);
  const fork = await conversation.fork();
  damage(conversationStream(conversation.id), 1, damages[name]);
  expect((await Reel.open(store.log, conversation.id)).damage).toMatchObject({ revision: 1, title });
  expect((await Reel.open(store.log, fork.id)).damage?.title).toBe("What it was forked from is damaged");
});

test("an event that can be read is not called unreadable where it contradicts the events before it", async () => {
  const { store, conversation } = createWorkshop();
  await conversation.append("Hello.");
  const stream = conversationStream(conversation.id);
  const event = { type: "RunCompleted", version: 1, data: { status: "completed", after: "0".repeat(64) } } as const;
  const appended = await store.log.append(stream, await conversation.head(), [{ event, actor: { kind: "engine" } }]);
  const revision = appended.events[0]?.revision ?? 0;
  const { damage } = await Reel.open(store.log, conversation.id);
  expect(damage).toMatchObject({ revision, title: `Event r${revision} contradicts the events before it` });
});
