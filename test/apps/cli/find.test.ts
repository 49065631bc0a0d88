import { expect, test } from "vitest";
import { findConversation, findRevision } from "../../../src/apps/cli/find.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

const storeWith = async (...ids: readonly string[]): Promise<TurnlogStore> => {
  const store = new TurnlogStore(createMemoryStore());
  for (const id of ids) await store.conversation(id).append(`to ${id}`);
  return store;
};

test.each([
  ["cnv_apple", "cnv_apple"],
  ["cnv_ap", "cnv_apple"],
  ["ap", "cnv_apple"],
  ["cnv_pear", "cnv_pear"],
  ["@last", "cnv_pears"],
])("'%s' names %s", async (name, id) => {
  const store = await storeWith("cnv_pear", "cnv_apple", "cnv_pears");
  expect((await findConversation(store, name)).id).toBe(id);
});

test("an ambiguous name is refused with its candidates", async () => {
  const store = await storeWith("cnv_pear", "cnv_peach", "cnv_apple");
  const refusal = { code: "usage", message: "'pe' is the beginning of 2 conversations: cnv_peach, cnv_pear" };
  await expect(findConversation(store, "pe")).rejects.toMatchObject(refusal);
});

test("of many candidates some are named and the rest counted", async () => {
  const store = await storeWith(...Array.from({ length: 9 }, (_, index) => `cnv_pear${index}`));
  await expect(findConversation(store, "pear")).rejects.toThrow(
    /beginning of 9 conversations: .*cnv_pear4 and 4 more$/,
  );
});

test("@last is the conversation that was written last, not the one that was begun last", async () => {
  const store = await storeWith("cnv_pear", "cnv_apple");
  await store.conversation("cnv_pear").append("again");
  expect((await findConversation(store, "@last")).id).toBe("cnv_pear");
});

test.each(["at hand", "not at hand"])(
  "@last reads single events of one conversation, and not its history, with the newest stream %s",
  async (which) => {
    const { events } = await storeWith("cnv_pear", "cnv_apple", "cnv_plum");
    const read: (number | undefined)[] = [];
    const readStream: typeof events.readStream = (stream, options) => {
      read.push(options?.limit);
      return events.readStream(stream, options);
    };
    const watched: EventStore = { ...events, readStream };
    if (which === "not at hand") delete watched.newestStream;
    expect((await findConversation(new TurnlogStore(watched), "@last")).id).toBe("cnv_plum");
    expect(read).toEqual(which === "at hand" ? [1, 1, 1] : []);
  },
);

test("there is no @last in an empty store", async () => {
  await expect(findConversation(await storeWith(), "@last")).rejects.toMatchObject({ code: "not-found" });
});

test("a response id, or the beginning of one, names the revision of its answer", async () => {
  const store = await storeWith("cnv_pear");
  const conversation = store.conversation("cnv_pear");
  const { steps } = await conversation.run(createEngine({ provider: scripted(["one"]) }));
  const responseId = steps[0]?.responseId ?? "";
  const answers: number[] = [];
  for await (const { event, revision } of conversation.events())
    if (event.type === "ResponseReceived") answers.push(revision);
  for (const prefix of [responseId, responseId.slice(0, 8)]) {
    expect([await findRevision(store, conversation, { type: "response", prefix })]).toEqual(answers);
  }
});

test("revisions count from the end when they are negative", async () => {
  const store = await storeWith("cnv_pear");
  const conversation = store.conversation("cnv_pear");
  expect(await findRevision(store, conversation, { type: "number", revision: -1 })).toBe(1);
  expect(await findRevision(store, conversation, { type: "number", revision: -2 })).toBe(0);
  await expect(findRevision(store, conversation, { type: "number", revision: -3 })).rejects.toMatchObject({
    code: "not-found",
    message: "there is no revision -3 of cnv_pear: it has the revisions 0 to 1",
  });
});
