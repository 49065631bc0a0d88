import { expect, test } from "vitest";
import type { Conversation } from "../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { isHidden } from "../../src/domain/decider/labels.ts";
import { assistant, system, user } from "../../src/domain/make-block.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { createWorkshop, dataOf, eventsOf, freshStore, rejectionOf, storeKinds, typesOf } from "../support/workshop.ts";

const textsOf = (blocks: readonly { readonly text: string }[]): readonly string[] => blocks.map(({ text }) => text);

test("a text is a user's message, and blocks are appended together", async () => {
  const { conversation, watched } = createWorkshop();
  await conversation.append("hello");
  await conversation.append([system("be brief"), assistant("hi")], { actor: { kind: "app", name: "importer" } });
  const { blocks } = await conversation.turn();
  expect(blocks.map(({ kind, text }) => `${kind} ${text}`)).toEqual(["user hello", "system be brief", "assistant hi"]);
  expect(watched.written).toEqual([
    ["ConversationStarted", "BlockAppended"],
    ["BlockAppended", "BlockAppended"],
  ]);
  expect((await eventsOf(conversation)).map(({ actor }) => actor.kind)).toEqual(["user", "user", "app", "app"]);
});

test("a conversation that was only opened is not in the store", async () => {
  const { store } = createWorkshop();
  store.conversation("cnv_never_used");
  const ids: string[] = [];
  for await (const id of store.conversations()) ids.push(id);
  expect(ids).toEqual([]);
});

test.each(storeKinds)("a repeated key appends once, in any process (%s)", async (kind) => {
  const events = await freshStore(kind);
  const { conversation } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  await conversation.append(
    ["one", "two"].map((text) => user(text)),
    { key: "message-17" },
  );
  await other.append(
    ["one", "two"].map((text) => user(text)),
    { key: "message-17" },
  );
  await conversation.append("one", { key: "message-18" });
  expect(textsOf((await conversation.turn()).blocks)).toEqual(["one", "two", "one"]);
});

test("a key that was used before gives the block of then, whatever became of it since, and appends what it lacks", async () => {
  const { conversation, store, scripted } = createWorkshop();
  const said = [user("one"), user("two ".repeat(20_000))];
  const { blocks: before } = await conversation.append(said, { key: "message-1" });
  const shorten = defineMiddleware(
    { name: "shorten", version: "1.0.0" },
    (next) => (turn) => next(turn.filter(({ text }) => text !== "one")),
  );
  await conversation.run(scripted(["answer"], { middleware: [shorten] }).engine);
  const { blocks: again, isNew } = await store
    .conversation(conversation.id)
    .append([...said, user("new")], { key: "message-1" });
  expect(isNew).toBe(true);
  expect(textsOf(again)).toEqual([...textsOf(before), "new"]);
  expect(again.map(({ id }) => id).slice(0, 2)).toEqual(before.map(({ id }) => id));
  expect(textsOf((await conversation.turn()).blocks)).toEqual([textsOf(before)[1], "answer", "new"]);
});

test("the second block of one key is not the first of another", async () => {
  const { conversation } = createWorkshop();
  await conversation.append([user("one"), user("two")], { key: "a" });
  await conversation.append("three", { key: "a 1" });
  expect(textsOf((await conversation.turn()).blocks)).toEqual(["one", "two", "three"]);
});

test("one key names another block in another conversation", async () => {
  const { store, conversation } = createWorkshop();
  const [here] = (await conversation.append("hello", { key: "1" })).blocks;
  const [there] = (await store.conversation("cnv_another").append("hello", { key: "1" })).blocks;
  expect(here?.id).not.toBe(there?.id);
});

test("what many callers append at once is all there, each caller's in its order", async () => {
  const events = createMemoryStore();
  const { conversation } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  const callers = [conversation, other, conversation].map(async (each, caller) => {
    for (let n = 0; n < 20; n += 1) await each.append(`${caller} ${n}`);
  });
  await Promise.all(callers);
  const texts = textsOf((await conversation.turn()).blocks);
  expect(texts).toHaveLength(60);
  for (const caller of [0, 1, 2]) {
    const own = texts.filter((text) => text.startsWith(`${caller} `));
    expect(own).toEqual(Array.from({ length: 20 }, (_, n) => `${caller} ${n}`));
  }
});

test("an append that others always precede gives up, and says so", async () => {
  const events = createMemoryStore();
  const others = new TurnlogStore(events).conversation("cnv_workshop");
  let overtaken = 0;
  const { conversation } = createWorkshop({
    events,
    around: async (_, append) => {
      overtaken += 1;
      await others.append(`first ${overtaken}`);
      return append();
    },
  });
  expect(await rejectionOf(conversation.append("never"))).toMatchObject({ code: "stream-contended" });
  expect(textsOf((await conversation.turn()).blocks)).not.toContain("never");
  expect(overtaken).toBe(50);
});

test("the newest title and label win, and labels add up", async () => {
  const { conversation } = createWorkshop();
  await conversation.relabel({ title: "A talk", labels: { team: "red" } });
  await conversation.relabel({ labels: { state: "open" } });
  await conversation.relabel({ title: "The talk" });
  const { title, labels } = (await (await conversation.at(-1)).load()).view;
  expect({ title, labels }).toEqual({ title: "The talk", labels: { team: "red", state: "open" } });
});

test("a label is taken away by null, once, and a label may be called as anything", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.relabel({ labels: { team: "red", toString: "mine", constructor: "" } });
  await conversation.relabel({ labels: { team: null, constructor: null } });
  await conversation.relabel({ labels: { team: null } });
  expect(await eventsOf(conversation)).toHaveLength(3);
  const labelsOf = async (its: Conversation) => Object.entries((await (await its.at(-1)).load()).view.labels);
  expect(await labelsOf(conversation)).toEqual([["toString", "mine"]]);
  const opened = workshop.store.conversation(conversation.id);
  await opened.relabel({ labels: { team: "red" } });
  expect(await labelsOf(opened)).toEqual([
    ["toString", "mine"],
    ["team", "red"],
  ]);
});

test("a fork of a hidden conversation is listed, and can be hidden itself", async () => {
  const { conversation } = createWorkshop();
  await conversation.append("one");
  await conversation.hide();
  await conversation.hide();
  expect(await eventsOf(conversation)).toHaveLength(3);
  const fork = await conversation.fork();
  const isListed = async (its: Conversation) => !isHidden((await (await its.at(-1)).load()).view.labels);
  expect([await isListed(conversation), await isListed(fork)]).toEqual([false, true]);
  await fork.hide({ actor: { kind: "operator", name: "Ada" } });
  expect(await isListed(fork)).toBe(false);
  await fork.unhide();
  expect(await isListed(fork)).toBe(true);
});

test("every revision can be looked at, from the end too, and no other", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("one");
  await conversation.run(workshop.scripted(["an answer"]).engine);
  const events = await eventsOf(conversation);
  const lengths: number[] = [];
  for (const { revision } of events) lengths.push((await conversation.at(revision)).turn.length);
  expect(lengths).toEqual([0, 1, 1, 1, 1, 1, 2]);
  expect((await conversation.at(-1)).revision).toBe(events.length - 1);
  expect((await conversation.at(-events.length)).revision).toBe(0);
  for (const revision of [events.length, -events.length - 1]) {
    expect(await rejectionOf(conversation.at(revision))).toMatchObject({ code: "revision-not-found" });
  }
});

test("a conversation without events has no revision, and an empty Turn", async () => {
  const { conversation } = createWorkshop();
  expect((await conversation.turn()).length).toBe(0);
  expect(await rejectionOf(conversation.at(0))).toMatchObject({ code: "revision-not-found" });
});

test("an open run shows what it has, what waits, and what would remain if it ended there", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const seen: unknown[] = [];
  const { engine } = workshop.scripted(["an answer"]);
  const provider = engine.options.provider;
  const watching = workshop.engine({
    provider: {
      ...provider,
      async infer(request) {
        await conversation.append("meanwhile");
        const { run, turn } = await conversation.at(-1);
        seen.push(run?.outgoing("0").length, run?.pending.length, run?.ifEndedHere.length, turn.length);
        return provider.infer(request);
      },
    },
  });
  await conversation.append("hello");
  await conversation.run(watching);
  expect(seen).toEqual([1, 1, 2, 1]);
});

test("events are read from any revision on", async () => {
  const { conversation } = createWorkshop();
  for (const text of ["one", "two", "three"]) await conversation.append(text);
  const late: number[] = [];
  for await (const { revision } of conversation.events(2)) late.push(revision);
  expect(late).toEqual([2, 3]);
});

test("a writer sees what another wrote since it looked", async () => {
  const events = createMemoryStore();
  const { conversation } = createWorkshop({ events });
  const other = new TurnlogStore(events).conversation(conversation.id);
  await conversation.append("one");
  await other.append("two");
  expect(textsOf((await conversation.turn()).blocks)).toEqual(["one", "two"]);
});

test("time never runs backwards in a conversation, whatever the clock does", async () => {
  const { conversation, clock } = createWorkshop();
  await conversation.append("one");
  clock.now -= 60_000;
  await conversation.append("two");
  const times = (await eventsOf(conversation)).map(({ at }) => at);
  expect(times).toEqual(times.toSorted());
});

test("settings are declared once for all runs that share them", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["one", "two"]);
  for (const text of ["a", "b"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  expect(typesOf(await eventsOf(conversation)).filter((type) => type === "SettingsDeclared")).toHaveLength(1);
  expect(dataOf(await eventsOf(conversation), "SettingsDeclared")).toMatchObject([{ settings: { model: "scripted" } }]);
});

test.each([Number.NaN, 0.5, Number.POSITIVE_INFINITY])("%d is no revision and no exchange", async (n) => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  await expect(conversation.at(n)).rejects.toMatchObject({ code: "revision-not-found" });
  await expect(conversation.revertToExchange(n)).rejects.toMatchObject({ code: "exchange-not-found" });
  expect(await conversation.turn()).toHaveLength(1);
});
