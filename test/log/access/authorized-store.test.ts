import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { type AccessRequest, authorizedStore } from "../../../src/log/access/authorized-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createMemoryViews } from "../../../src/stores/memory/views.ts";
import { describeEventStore } from "../../support/stores/contract.ts";

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

test("rows of projections need the right to read all conversations", async () => {
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

const odd: readonly unknown[] = [1, "yes", "no", [], {}, { allowed: false }, new Boolean(true), () => true];

test.each([...odd, ...odd.map((value) => Promise.resolve(value))])(
  "a hook that gives anything but true denies: %o",
  async (given) => {
    const memory = createMemoryStore();
    // @ts-expect-error: a hook without types.
    const store = authorizedStore(memory, () => given);
    await new TurnlogStore(memory).conversation("cnv_theirs").append("Hello");
    await expect(store.head("conversation-cnv_theirs")).rejects.toMatchObject({ code: "access-denied" });
    await expect(new TurnlogStore(store).conversation("cnv_theirs").turn()).rejects.toThrow("not allowed to read");
  },
);

test("a promise of true allows", async () => {
  const store = authorizedStore(createMemoryStore(), async () => true);
  await new TurnlogStore(store).conversation("cnv_mine").append("Hello");
  expect((await new TurnlogStore(store).conversation("cnv_mine").turn()).length).toBe(1);
});

test("a snapshot is read by callers that may read its stream, and written by those that may append to it", async () => {
  const memory = createMemoryStore();
  const key = (stream: string) => ({ stream, projection: "p", version: 1 });
  await memory.snapshots.put(key("conversation-cnv_theirs"), { revision: 1, data: "their secret" });
  const { snapshots } = authorizedStore(
    memory,
    ({ action, stream }) =>
      stream === "conversation-cnv_mine" || (action === "read" && stream === "conversation-cnv_read"),
  );
  await snapshots?.put(key("conversation-cnv_mine"), { revision: 1, data: "mine" });
  expect(await snapshots?.get(key("conversation-cnv_mine"), 1)).toEqual({ revision: 1, data: "mine" });
  expect(await snapshots?.get(key("conversation-cnv_read"), 1)).toBeNull();
  await expect(snapshots?.get(key("conversation-cnv_theirs"), 1)).rejects.toThrow(
    "not allowed to read conversation-cnv_theirs",
  );
  for (const stream of ["conversation-cnv_read", "conversation-cnv_theirs"])
    await expect(snapshots?.put(key(stream), { revision: 1, data: "forged" })).rejects.toThrow("not allowed to append");
  await expect(snapshots?.deleteAll()).rejects.toThrow("not allowed to append *");
  expect(await memory.snapshots.get(key("conversation-cnv_theirs"), 1)).not.toBeNull();
});

test("the right to follow a conversation gives none of a neighbour's events whose id begins alike", async () => {
  const memory = createMemoryStore();
  const asked: string[] = [];
  const mine = authorizedStore(memory, ({ action, stream }) => {
    asked.push(`${action} ${stream}`);
    return stream === "conversation-cnv_a";
  });
  await new TurnlogStore(memory).conversation("cnv_ab").append("their secret");
  const { signal } = new AbortController();
  const followed = new TurnlogStore(mine).conversation("cnv_a").follow(0, signal);
  const first = followed[Symbol.asyncIterator]().next();
  await new TurnlogStore(memory).conversation("cnv_a").append("Hello");
  expect(JSON.stringify((await first).value)).toContain("conversation-cnv_a");
  // What was appended while the conversation was opened is read; what comes later is subscribed to.
  const appended = new TurnlogStore(memory).conversation("cnv_a").append("Hello again");
  for await (const read of followed) if (JSON.stringify(read).includes("Hello again")) break;
  await appended;
  expect(asked).toContain("subscribe conversation-cnv_a");

  const neighbours = mine.subscribe({ streamPrefix: "conversation-cnv_a" })[Symbol.asyncIterator]();
  await expect(neighbours.next()).rejects.toThrow("not allowed to subscribe conversation-cnv_a*");
  const own = mine.subscribe({ stream: "conversation-cnv_a", streamPrefix: "conversation-" })[Symbol.asyncIterator]();
  expect((await own.next()).value).toMatchObject({ stream: "conversation-cnv_a", revision: 0 });
});

test("passes the end of the log on, so that following a new conversation begins there", async () => {
  const memory: EventStore = { ...createMemoryStore() };
  Reflect.deleteProperty(memory, "end");
  const end = async (): Promise<string> => "42";
  const store = authorizedStore({ ...memory, end }, ({ stream }) => stream === "conversation-cnv_new");
  expect(await store.end?.()).toBe("42");
  expect(await authorizedStore(memory, () => true).end?.()).toBeUndefined();
});
