import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { inferenceIdSchema, settingsNameSchema } from "../../../src/domain/ids.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import type { SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";
import { ConversationWriter } from "../../../src/log/writer/conversation-writer.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { snapshotsOf } from "../../support/stores/snapshots-of.ts";
import { createWorkshop } from "../../support/workshop.ts";

const stream = "conversation-cnv_workshop";

/** What became of the cache while a process had the conversation open. */
const losses: readonly (readonly [what: string, (snapshots: SnapshotStore) => SnapshotStore])[] = [
  ["that are gone", (snapshots) => ({ ...snapshots, get: async () => null })],
  [
    "that were changed",
    (snapshots) => ({
      ...snapshots,
      get: async (key, atMost) => {
        const saved = await snapshots.get(key, atMost);
        return saved && { ...saved, data: saved.data.replace(/[a-z]/, "Z") };
      },
    }),
  ],
  [
    "of a store that fails",
    (snapshots) => ({ ...snapshots, get: () => Promise.reject(new Error("the disk cannot be read")) }),
  ],
];

test.each(losses)("lists of names %s prevent neither appends with a key nor runs", async (_what, lose) => {
  const memory = await talk();
  let snapshots = snapshotsOf(memory);
  const current: SnapshotStore = {
    get: (key, atMost) => snapshots.get(key, atMost),
    put: (key, snapshot) => snapshots.put(key, snapshot),
    deleteAll: () => snapshots.deleteAll(),
  };
  const { conversation, engine: engineOf } = createWorkshop({ events: { ...memory, snapshots: current } });
  const provider = scripted(["five"], { prefix: "later_" });
  const engine = engineOf({ provider });
  await conversation.append("opened while all is there");
  snapshots = lose(snapshots);
  expect((await conversation.append("first", { key: "first" })).isNew).toBe(false);
  expect((await conversation.append("new", { key: "new" })).isNew).toBe(true);
  expect((await conversation.run(engine, { key: "first" })).text).toBe("answer 0");
  expect((await conversation.run(engine)).text).toBe("five");
  expect(provider.requests).toHaveLength(1);
});

test("deleting all snapshots under a running process changes nothing, and leaves no snapshot that names what is gone", async () => {
  const memory = createMemoryStore();
  const { conversation, store, engine } = createWorkshop({ events: memory });
  const running = engine({ provider: scripted(({ requestNumber }) => `answer ${requestNumber}`) });
  for (let n = 0; n < 340; n += 1) {
    await conversation.append(`said ${n}`, { key: `key ${n}` });
    if (n % 5 === 0) await conversation.run(running);
    if (n === 150) await snapshotsOf(memory).deleteAll();
  }
  expect((await conversation.append("said 3", { key: "key 3" })).isNew).toBe(false);
  for (const n of [0, 339]) {
    const opened = new TurnlogStore(memory).conversation(conversation.id);
    expect((await opened.append(`said ${n}`, { key: `key ${n}` })).isNew).toBe(false);
  }
  expect((await verification(memory, { codecs })).problems).toEqual([]);
  const head = (await store.events.head(stream))?.revision ?? 0;
  const newest = await snapshotsOf(memory).get({ stream, projection: "conversation/9", version: 1 }, head);
  expect(newest?.revision).toBeGreaterThan(head - 560);
});

test("a snapshot that could not be written is written when the next one is due", async () => {
  const memory = createMemoryStore();
  let isFull = true;
  const kept: number[] = [];
  const snapshots: SnapshotStore = {
    ...snapshotsOf(memory),
    put(key, snapshot) {
      if (isFull) return Promise.reject(new Error("disk full"));
      if (!key.projection.includes("9/")) kept.push(snapshot.revision);
      return snapshotsOf(memory).put(key, snapshot);
    },
  };
  const { conversation } = createWorkshop({ events: { ...memory, snapshots } });
  for (let n = 0; n < 1_700; n += 1) {
    if (n === 1_200) isFull = false;
    await conversation.append(`said ${n}`, n === 7 ? { key: "early" } : {});
  }
  // Taken after 512, 1,024 and 1,536 events; of the two that found the disk full the newer one is kept.
  expect(kept).toEqual([1_023, 1_535]);
  const opened = new TurnlogStore({ ...memory, snapshots }).conversation(conversation.id);
  expect((await opened.append("said 7", { key: "early" })).isNew).toBe(false);
  expect((await verification(memory, { codecs })).problems).toEqual([]);
});

test("what was recorded before a snapshot is not recorded again after it", async () => {
  const events = createMemoryStore();
  const scope = "https://api.openai.com/v1";
  const digest = settingsNameSchema.parse("0".repeat(64));
  const inferenceId = inferenceIdSchema.parse(`inf_${"1".repeat(16)}`);
  const facts = [
    { type: "ResponseDeleted", version: 1, data: { scope, responseId: "resp_1", found: true } },
    {
      type: "ServerConversationDeleted",
      version: 1,
      data: { scope, anchor: { kind: "conversation", id: "conv_1" }, found: true },
    },
    {
      type: "ContextImported",
      version: 1,
      data: {
        ...{ inferenceId, responseId: "resp_2", scope },
        ...{ anchor: { kind: "response", id: "resp_2" }, settingsDigest: digest, turn: digest },
        ...{ inputLength: 1, length: 1 },
      },
    },
  ] as const;
  const propose = () => facts.map((event) => ({ event, actor: { kind: "app" } as const }));
  const opened = () => new ConversationWriter(new TurnlogStore(events).log, stream);
  await new TurnlogStore(events).conversation("cnv_workshop").append("hello");
  const first = await opened().commit(propose());
  expect(first).toMatchObject({ status: "committed", events: { length: 3 } });
  expect(await opened().commit(propose())).toEqual({ status: "committed", events: [] });
  await takeSnapshots(events, stream, { events: 5, edits: 5 });
  expect(await opened().commit(propose())).toEqual({ status: "committed", events: [] });
});

/** Three exchanges, of which snapshots were taken. */
async function talk(): Promise<EventStore & { readonly snapshots: SnapshotStore }> {
  const events = createMemoryStore();
  const { conversation, engine } = createWorkshop({ events });
  const running = engine({ provider: scripted(({ requestNumber }) => `answer ${requestNumber}`) });
  for (const text of ["first", "second", "third"]) {
    await conversation.append(text, { key: text });
    await conversation.run(running);
  }
  await takeSnapshots(events, stream, { events: 6, edits: 5 });
  return { ...events, snapshots: snapshotsOf(events) };
}
