import { describe, expect, test } from "vitest";
import { findConversation } from "../../src/apps/cli/find.ts";
import { parsePlace } from "../../src/apps/cli/revision.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { conversationIdSchema, conversationOfBlob } from "../../src/domain/ids.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { createProjector } from "../../src/log/read-models/projector.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";
import { copyConversations } from "../../src/operations/transfer/copy.ts";
import { conversationList } from "../../src/projections/views/conversation-list.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { all } from "../../src/testing/contracts/prepared.ts";
import { opened, startServer } from "../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";

/** Each is the beginning of another, a name that JavaScript has, or one that differs by case or hyphens alone. */
const ids = [
  "a",
  "A",
  "a-",
  "a-b",
  "a-b-c",
  "-a",
  "1",
  "_",
  "conversation",
  "conversation-a",
  "blob-a",
  "__proto__",
  "constructor",
  "0b9c2f1e-63d4-4a75-9d0e-2c3b7a1f8e55",
  "x".repeat(128),
  `a-${"0".repeat(64)}`,
];

const kinds: Readonly<Record<string, () => Promise<EventStore>>> = {
  memory: async () => createMemoryStore(),
  sqlite: () => openSqliteStore(temporaryFolder().file("ids.db")),
  eventstoredb: async () => opened((await startServer()).connectionString),
};

/** Long enough to be kept beside the event; the same for all, so that only the id tells their blobs apart. */
const longText = "a long text ".repeat(6_000);

describe.each(Object.keys(kinds))("in a %s store", (kind) => {
  test("conversations stay distinct, whatever letters, hyphens and digits their ids contain", async () => {
    await using store = new TurnlogStore((await kinds[kind]?.()) ?? createMemoryStore());
    for (const id of ids) await store.conversation(id).append([`to ${id}`, longText]);
    expect((await all(store.conversations())).toSorted()).toEqual(ids.toSorted());
    for (const id of ids) {
      const { blocks } = await store.conversation(id).turn();
      expect(blocks.map(({ text }) => text)).toEqual([`to ${id}`, longText]);
    }
    expect((await all(verifyStore(store.events, { codecs }))).filter(({ problem }) => problem !== null)).toEqual([]);
    const list = createProjector(store.events, conversationList);
    await list.catchUp();
    expect((await all(list.readAll())).map(({ key }) => key).toSorted()).toEqual(
      ids.map((id) => `conversation-${id}`).toSorted(),
    );
  });

  test("of several conversations the named ones are copied and verified with their own blobs and no other", async () => {
    await using store = new TurnlogStore((await kinds[kind]?.()) ?? createMemoryStore());
    for (const id of ids) await store.conversation(id).append(longText);
    // A server has to be asked for each, which takes a tenth of a second.
    for (const id of kind === "eventstoredb" ? ids.filter((_, n) => n % 3 === 0) : ids) {
      await using target = new TurnlogStore(createMemoryStore());
      const conversations = [conversationIdSchema.parse(id)];
      const copied = await copyConversations(store, target, { conversations });
      const names = [expect.stringMatching(new RegExp(`^blob-${id}-[0-9a-f]{64}$`)), `conversation-${id}`];
      expect(copied.map(({ stream }) => stream)).toEqual(names);
      const reports = await all(verifyStore(store.events, { codecs, conversations }));
      expect(reports.map(({ stream }) => stream).toSorted()).toEqual(names);
    }
  });
});

test("all conversations are copied at once, each with its own blobs", async () => {
  await using from = new TurnlogStore(createMemoryStore());
  for (const id of ids) await from.conversation(id).append(longText);
  await using to = new TurnlogStore(createMemoryStore());
  const copied = await copyConversations(from, to);
  expect(copied).toHaveLength(2 * ids.length);
  expect(await all(to.conversations())).toEqual(await all(from.conversations()));
});

test("a blob's stream names one conversation, whatever hyphens its id has", () => {
  const digest = "0".repeat(64);
  for (const id of ids) expect(conversationOfBlob(`blob-${id}-${digest}`)).toBe(id);
  for (const none of [`blob--${digest}`, `blob-a${digest}`, `blob-a-${digest}0`, `conversation-a-${digest}`, "blob-a"])
    expect(conversationOfBlob(none)).toBeNull();
});

test("one key names another block in every conversation, also where an id is a number", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  // `1 a key` was once the name of the second block of `a`, and of the first of `1` under another key.
  const second = await store.conversation("a").append(["one", "two"], { key: "key" });
  const first = await store.conversation("1").append("three", { key: "a key" });
  expect(new Set([...second.blocks, ...first.blocks].map(({ id }) => id)).size).toBe(3);
});

test.each(ids)("the command line takes '%s' with revisions and finds it", async (id) => {
  const revision = { type: "number", revision: -1 } as const;
  expect(parsePlace(`${id}@-1`)).toEqual({ conversation: id, at: { type: "one", revision } });
  expect(parsePlace(`${id}@2..`)).toMatchObject({ conversation: id, at: { type: "range", to: revision } });
  await using store = new TurnlogStore(createMemoryStore());
  for (const each of ids) await store.conversation(each).append("hello");
  expect((await findConversation(store, id)).id).toBe(id);
});

test.each(["", "a b", "a@1", "a.b", "a/b", "é", "a\n", "x".repeat(129)])("'%s' is no conversation id", (id) => {
  const store = new TurnlogStore(createMemoryStore());
  expect(() => store.conversation(id)).toThrow(TypeError);
});
