import { expect, test } from "vitest";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { type AccessRequest, authorizedStore } from "../../src/log/authorized-store.ts";
import { conversationList } from "../../src/projections/conversation-list.ts";
import { createProjector } from "../../src/read-models/projector.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { createMemoryViews } from "../../src/stores/memory/views.ts";
import { describeEventStore } from "../support/stores/contract.ts";

describeEventStore("a store whose hook always says yes", async () => authorizedStore(createMemoryStore(), () => true));

test("the hook is asked for every stream before anything is read or written", async () => {
  const asked: AccessRequest[] = [];
  const events = authorizedStore(createMemoryStore(), (request) => {
    asked.push(request);
    return true;
  });
  const conversation = new TurnlogStore(events).conversation("cnv_asked");
  await conversation.append("Hello");
  expect(new Set(asked.map(({ action, stream }) => `${action} ${stream}`))).toEqual(
    new Set(["read conversation-cnv_asked", "append conversation-cnv_asked"]),
  );
});

test("what the hook refuses does not happen, and the error says what was refused", async () => {
  const memory = createMemoryStore();
  const readOnly = authorizedStore(memory, ({ action }) => action === "read");
  const append = new TurnlogStore(readOnly).conversation("cnv_refused").append("Hello");
  await expect(append).rejects.toMatchObject({
    code: "access-denied",
    message: "not allowed to append conversation-cnv_refused",
  });
  expect(await memory.head("conversation-cnv_refused")).toBeNull();
});

test("reading, following and listing are each refused by name", async () => {
  const store = authorizedStore(createMemoryStore(), () => Promise.resolve(false));
  const first = (events: AsyncIterable<unknown>): Promise<unknown> => events[Symbol.asyncIterator]().next();
  await expect(first(store.readLog())).rejects.toThrow("not allowed to read *");
  await expect(first(store.subscribe({ streamPrefix: "conversation-" }))).rejects.toThrow(
    "not allowed to subscribe conversation-*",
  );
  await expect(first(store.heads())).rejects.toThrow("not allowed to read *");
  await expect(store.head("x")).rejects.toThrow("not allowed to read x");
});

test("rows of projections are for whoever may read all conversations", async () => {
  const memory = createMemoryStore();
  const one = authorizedStore(memory, ({ stream }) => stream === "conversation-cnv_mine");
  await new TurnlogStore(memory).conversation("cnv_mine").append("Hello");
  await expect(createProjector(one, conversationList).catchUp()).rejects.toThrow("not allowed to read conversation-*");
  const all = authorizedStore(memory, ({ stream }) => stream.startsWith("conversation-"));
  const projector = createProjector(all, conversationList);
  await projector.catchUp();
  expect((await projector.read("conversation-cnv_mine"))?.view.summary.begins).toBe("Hello");
  await expect(createProjector(one, conversationList).read("conversation-cnv_mine")).rejects.toThrow("not allowed");
  const mine = { stream: "conversation-cnv_mine", views: createMemoryViews() };
  const own = createProjector(one, conversationList, mine);
  await own.catchUp();
  expect((await own.read("conversation-cnv_mine"))?.view.summary.events).toBe(2);
});
