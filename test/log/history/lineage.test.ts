import { expect, test } from "vitest";
import { compareConversations } from "../../../src/analysis/time-travel/compare.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { type StreamReport, verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createWorkshop, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** The store with some of its envelopes changed, as damage would, or left out. */
function damaged(store: EventStore, change: (envelope: StoredEnvelope) => StoredEnvelope | null): EventStore {
  const { snapshots: _, ...rest } = store;
  return {
    ...rest,
    async *readStream(stream, options) {
      for await (const envelope of store.readStream(stream, options)) {
        const changed = change(envelope);
        if (changed !== null) yield changed;
      }
    },
  };
}

const load = async (conversation: Conversation, revision: number) => (await conversation.at(revision)).load();

test("two conversations part at the last event that both go on from, and at the first block that differs", async () => {
  const { conversation, store } = createWorkshop();
  for (const text of ["one", "two", "three"]) await conversation.append(text);
  const fork = await conversation.fork(2);
  await fork.append("another three", { actor: { kind: "app" } });
  const parting = await compareConversations(store.log, await load(conversation, -1), await load(fork, -1));
  expect(parting).toMatchObject({
    event: { stream: "conversation-cnv_workshop", revision: 2 },
    blocks: 2,
    left: {
      block: { kind: "user" },
      change: { actor: { kind: "user" }, stream: "conversation-cnv_workshop", revision: 3 },
    },
    right: { change: { actor: { kind: "app" }, stream: `conversation-${fork.id}`, revision: 1 } },
  });
  const second = await fork.fork();
  expect(await compareConversations(store.log, await load(fork, -1), await load(second, -1))).toEqual({
    event: { stream: `conversation-${fork.id}`, revision: 1 },
    blocks: 3,
    left: null,
    right: null,
  });
  const sibling = await conversation.fork(1);
  expect(await compareConversations(store.log, await load(second, -1), await load(sibling, -1))).toMatchObject({
    event: { stream: "conversation-cnv_workshop", revision: 1 },
    blocks: 1,
    right: null,
  });
});

test("conversations of different lineages share blocks, and no event", async () => {
  const { conversation, store } = createWorkshop();
  const other = store.conversation();
  await conversation.append(["one", "two"].join(" "));
  await other.append("one two");
  expect(await compareConversations(store.log, await load(conversation, -1), await load(other, -1))).toMatchObject({
    event: null,
    blocks: 1,
  });
});

test("verify folds a fork on its ancestors, and names one that is not what it was", async () => {
  const events = createMemoryStore();
  const workshop = createWorkshop({ events });
  const { conversation } = workshop;
  await conversation.append("one");
  await conversation.run(workshop.scripted(["1"]).engine);
  const fork = await conversation.fork(-3);
  await fork.append("two");
  const problems = async (store: EventStore): Promise<ReadonlyMap<string, StreamReport["problem"]>> => {
    const found = new Map<string, StreamReport["problem"]>();
    for await (const { stream, problem } of verifyStore(store, { codecs })) found.set(stream, problem);
    return found;
  };
  const forked = `conversation-${fork.id}`;
  expect(await problems(events)).toEqual(
    new Map([
      ["conversation-cnv_workshop", null],
      [forked, null],
    ]),
  );
  const other = damaged(events, (envelope) =>
    envelope.stream === "conversation-cnv_workshop" && envelope.revision === 4
      ? { ...envelope, digest: "0".repeat(64) }
      : envelope,
  );
  const problem = (await problems(other)).get(forked);
  expect(problem).toMatchObject({ kind: "fold", revision: 0 });
  expect(problem?.message).toContain("the event cnv_workshop@4 that it was forked from has changed");
});

test("a fork whose parent is not in the store says which conversation is missing", async () => {
  const events = createMemoryStore();
  const { conversation } = createWorkshop({ events });
  await conversation.append("one");
  const fork = await conversation.fork();
  const alone = new TurnlogStore(
    damaged(events, (envelope) => (envelope.stream.endsWith("workshop") ? null : envelope)),
  );
  for (const work of [alone.conversation(fork.id).turn(), alone.conversation(fork.id).append("two")]) {
    const error = await rejectionOf(work);
    expect(error).toMatchObject({ code: "conversation-damaged", stream: `conversation-${fork.id}`, revision: 0 });
    expect(String(error)).toContain("cnv_workshop@1, which this store does not have: copy that conversation too");
  }
});

test("a damaged conversation is not forked behind the damage, and before it is", async () => {
  const events = createMemoryStore();
  const workshop = createWorkshop({ events });
  for (const text of ["one", "two", "three"]) await workshop.conversation.append(text);
  const { conversation } = createWorkshop({
    events: damaged(events, (envelope) =>
      envelope.revision === 2 ? { ...envelope, type: "BlockVanished" } : envelope,
    ),
  });
  const before = await eventsOf(workshop.conversation);
  expect(await rejectionOf(conversation.fork())).toMatchObject({ code: "conversation-damaged", revision: 2 });
  expect(await eventsOf(workshop.conversation)).toEqual(before);
  expect((await (await conversation.fork(1)).turn()).length).toBe(1);
});

test.each([
  ["of an unknown type", (envelope: StoredEnvelope) => ({ ...envelope, type: "BlockVanished" })],
  ["that is no JSON", (envelope: StoredEnvelope) => ({ ...envelope, data: "{" })],
  [
    "that does not follow",
    (envelope: StoredEnvelope) => ({ ...envelope, type: "RunCompleted", data: `{"after":"${"0".repeat(64)}"}` }),
  ],
])("what decides stops at an event %s, until an operator has skipped it", async (_, change) => {
  const events = createMemoryStore();
  const whole = createWorkshop({ events });
  for (const text of ["one", "two", "three"]) await whole.conversation.append(text);
  const broken = damaged(events, (envelope) => (envelope.revision === 2 ? change(envelope) : envelope));
  const { conversation, ...workshop } = createWorkshop({ events: broken });
  const { engine } = workshop.scripted(["an answer", "another"]);
  for (const work of [conversation.append("four"), conversation.run(engine), conversation.fork()]) {
    expect(await rejectionOf(work)).toMatchObject({ code: "conversation-damaged", revision: 2 });
  }
  expect(await rejectionOf(conversation.skipEvent(1, "a guess"))).toMatchObject({ code: "event-not-damaged" });
  await conversation.skipEvent(2, "cut by a disk error");
  await conversation.skipEvent(2, "twice is once");
  expect(typesOf(await eventsOf(whole.conversation)).slice(4)).toEqual(["EventSkipped"]);
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["one", "three"]);
  expect((await conversation.run(engine)).text).toBe("an answer");
  const fork = await conversation.fork();
  expect((await fork.turn()).blocks.map(({ text }) => text)).toEqual(["one", "three", "an answer"]);
  const read: string[] = [];
  for await (const { stream, revision } of fork.history()) read.push(`${stream}@${revision}`);
  expect(read.slice(0, 3)).toEqual([0, 1, 3].map((revision) => `conversation-cnv_workshop@${revision}`));
  const other = createWorkshop({ events: broken }).conversation;
  expect((await other.turn()).digest).toBe((await conversation.turn()).digest);
});

test("a sound event counts although somebody wrote that it was skipped", async () => {
  const { conversation, store } = createWorkshop();
  for (const text of ["one", "two"]) await conversation.append(text);
  expect(await rejectionOf(conversation.skipEvent(1, "a whim"))).toMatchObject({ code: "event-not-damaged" });
  const stream = "conversation-cnv_workshop";
  const skip = {
    event: { type: "EventSkipped", version: 1, data: { revision: 1, reason: "a whim" } },
    actor: { kind: "operator" },
  } as const;
  await store.log.append(stream, await store.events.head(stream), [skip]);
  expect((await createWorkshop({ events: store.events }).conversation.turn()).length).toBe(2);
});

test("an error about what cannot be compared says what can", async () => {
  const { conversation, store } = createWorkshop();
  await conversation.append("hello");
  const past = await conversation.at(-1);
  const loaded = await past.load();
  const odd = (value: unknown) => value as never;
  await expect(compareConversations(odd(store), loaded, loaded)).rejects.toThrow(/the log is .*: give store\.log/);
  await expect(compareConversations(store.log, loaded, odd(past))).rejects.toThrow(
    /right is .*: give a revision with its contents, await \(await conversation\.at\(-1\)\)\.load\(\)/,
  );
});
