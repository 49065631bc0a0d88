import { expect, test } from "vitest";
import type { BlameDocument } from "../../../src/apps/documents/conversations.ts";
import type { OverviewDocument } from "../../../src/apps/studio/page-documents.ts";
import { studioOver } from "../../../src/apps/studio/studio.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { documentAt, studioHere } from "../../support/studio/studio-here.ts";
import { createWorkshop } from "../../support/workshop.ts";

const secret = "My PIN is 7302.";

test("a studio that has shown a conversation and its fork shows of neither what another process erased since", async () => {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  await using other = await openStore(address);
  const talk = other.conversation("talk");
  const { blocks } = await talk.append(secret);
  await talk.run(createEngine({ provider: scripted(["Noted."]) }));
  const fork = await talk.fork();
  await fork.append("And now?");
  await using here = await studioHere(address);
  const texts = async () => {
    const shown = [];
    for (const id of [talk.id, fork.id]) {
      const { blocks: told } = await here.get<BlameDocument>(`/api/c/${id}/blame/1`);
      const log = await here.studio.fetch(new Request(`http://studio/api/c/${id}/log`));
      shown.push(told[0]?.text, (await log.text()).includes(secret));
    }
    return shown;
  };
  expect(await texts()).toEqual([secret, true, secret, false]);
  const target = { conversation: talk.id, block: blocks[0]?.id ?? "" };
  await other.erase(await other.planErasure({ blocks: [target] }), { by: "dpo", ground: "gdpr-17" });
  expect(await texts()).toEqual(["[erased]", false, "[erased]", false]);
});

test("a studio that has shown damage shows the conversation without it, once somebody skipped the event", async () => {
  const { store, conversation, revision, damage } = await damageable();
  damage();
  const studio = studioOver({ store, access: () => true, address: "memory:" }, {});
  const damageShown = async () =>
    (await documentAt<OverviewDocument>(studio, `/api/c/${conversation.id}`)).damage?.revision ?? null;
  expect(await damageShown()).toBe(revision);
  await store.conversation(conversation.id).skipEvent(revision, "half written", { allThatFollow: true });
  expect(await damageShown()).toBeNull();
});

test("a studio that has shown the damage that a fork inherits shows the fork without it, once somebody skipped the event of the parent", async () => {
  const { store, conversation, revision, damage } = await damageable();
  const fork = await conversation.fork();
  await fork.append("And now?");
  const child = await fork.fork();
  await child.append("And then?");
  damage();
  const studio = studioOver({ store, access: () => true, address: "memory:" }, {});
  const damageShown = async () => {
    const overviews = [fork, child].map(({ id }) => documentAt<OverviewDocument>(studio, `/api/c/${id}`));
    return (await Promise.all(overviews)).map(({ damage: shown }) => shown !== null);
  };
  expect(await damageShown()).toEqual([true, true]);
  await store.conversation(conversation.id).skipEvent(revision, "half written", { allThatFollow: true });
  expect(await damageShown()).toEqual([false, false]);
});

/** A conversation whose newest event can be damaged. */
async function damageable() {
  const { events, damage } = createDamagingStore();
  const { store, conversation, scripted: engineOf } = createWorkshop({ events });
  await conversation.append("Hello.");
  await conversation.run(engineOf(["Hi."]).engine);
  const { revision = 0 } = (await conversation.head()) ?? {};
  return {
    ...{ store, conversation, revision },
    damage: () => damage(conversationStream(conversation.id), revision, damages["a type that nobody knows"]),
  };
}
