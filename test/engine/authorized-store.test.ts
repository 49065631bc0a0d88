import { expect, test } from "vitest";
import { type AccessRequest, authorizedStore } from "../../src/engine/authorized-store.ts";
import { TurnlogStore } from "../../src/engine/turnlog-store.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { describeEventStore } from "../stores/contract.ts";

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
