import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const secret = "My number is 555-0199.";
const skipAll = { allThatFollow: true } as const;

/** A conversation with a secret and a fork of it, in a store whose events may become damaged. */
async function talkAndFork() {
  const { events, damage } = createDamagingStore();
  const store = new TurnlogStore(events);
  const talk = store.conversation("talk");
  const { blocks } = await talk.append(secret);
  await talk.append("And how are you?");
  const fork = await talk.fork(-1, { id: "branch" });
  await fork.append("Well, thank you.");
  const target = { blocks: [{ conversation: "talk", block: blocks[0]?.id ?? "" }] };
  const erase = async () => store.erase(await store.planErasure(target), why);
  const problems = async () => (await verification(events, { codecs })).problems.map(({ message }) => message);
  const key = (id: string) => events.namingKey?.(`conversation-${id}`);
  return { store, events, damage, erase, problems, key };
}

test("a fork whose first event is damaged loses the naming key as well, before and after that is skipped", async () => {
  for (const isSkipped of [false, true]) {
    const { store, damage, erase, key } = await talkAndFork();
    damage("conversation-branch", 0, damages["data that is no JSON"]);
    if (isSkipped) await store.conversation("branch").skipEvent(0, "found damaged", skipAll);
    const before = await key("branch");
    const { conversations } = await erase();
    expect(conversations.map(({ id }) => id).toSorted()).toEqual(["branch", "talk"]);
    expect([await key("talk"), (await key("branch")) === before]).toEqual([await key("branch"), false]);
  }
});

test("the event that records an erasure is damaged later and skipped: its order explains the holes", async () => {
  const { store, events, damage, erase, problems } = await talkAndFork();
  await erase();
  const head = await events.head("conversation-talk");
  damage("conversation-talk", head?.revision ?? 0, damages["data that is no JSON"]);
  expect(await problems()).toHaveLength(1);
  await store.conversation("talk").skipEvent(head?.revision ?? 0, "found damaged", skipAll);
  expect(await problems()).toEqual([]);
  expect((await store.conversation("talk").turn()).at(0)?.isErased).toBe(true);
});

test("an event that lost a line is damaged later and skipped: what of it is left is not called a line that was kept", async () => {
  const { store, damage, erase, problems } = await talkAndFork();
  await erase();
  damage("conversation-talk", 1, damages["data that is no JSON"]);
  await store.conversation("talk").skipEvent(1, "found damaged", skipAll);
  expect(await problems()).toEqual([]);
});

test("a hole without an order is found, also where an event was skipped", async () => {
  const { store, events, damage, problems } = await talkAndFork();
  const { withErasedLines } = await import("../../../src/log/codec/lines.ts");
  damage("conversation-talk", 1, (envelope) => ({ ...envelope, data: withErasedLines(envelope.data, new Set([1])) }));
  const { blocks } = await store.conversation("talk").append("And this?");
  expect(blocks).toHaveLength(1);
  const head = await events.head("conversation-talk");
  damage("conversation-talk", head?.revision ?? 0, damages["data that is no JSON"]);
  await store.conversation("talk").skipEvent(head?.revision ?? 0, "found damaged", skipAll);
  expect(await problems()).toEqual(["line 1 of its data was erased without an order of this store"]);
});
