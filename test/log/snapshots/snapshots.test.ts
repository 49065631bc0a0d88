import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import type { RunResult } from "../../../src/engine/options/result.ts";
import { ConversationFold } from "../../../src/log/aggregate/conversation-fold.ts";
import { readHistory } from "../../../src/log/history/lineage.ts";
import type { EventStore, PreparedAppend } from "../../../src/log/ports/event-store.ts";
import type { Snapshot, SnapshotKey, SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";
import { SavedNames } from "../../../src/log/snapshots/names.ts";
import { foldTo } from "../../../src/log/snapshots/open.ts";
import { type SnapshotWork, SnapshotWriter } from "../../../src/log/snapshots/snapshot-writer.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { viewDigest } from "../../support/view-digest.ts";
import { createWorkshop, type Workshop } from "../../support/workshop.ts";

const tally = { conversations: 0, revisions: 0, fromSnapshots: 0 };
const stream = "conversation-cnv_workshop";

test("a fold from the nearest snapshot is what all events together give, at every revision", {
  timeout: 3_600_000,
}, async () => {
  for (const seed of seeds(2, 3_000, 12)) {
    const random = createRandom(seed);
    const workshop = await randomConversation(seed);
    const { conversation, store } = workshop;
    const digests = await takeSnapshots(workshop, { events: 2 + (seed % 9), edits: 4 });
    const provider = scripted([], { prefix: `${seed}_0_` });
    tally.conversations += 1;
    for (const [revision, digest] of digests.entries()) {
      const label = `seed ${seed}, revision ${revision}`;
      const folded = await foldTo(store.log, stream, revision);
      expect(viewDigest(folded.view), label).toBe(digest);
      tally.revisions += 1;
      if (!folded.isWhole) tally.fromSnapshots += 1;
      if (folded.isWhole || random.chance(0.8)) continue;
      const past = await conversation.at(revision);
      const loaded = await past.load();
      expect(told(await past.content()), label).toBe(told(loaded.turn));
      expect(await past.planFor(provider), label).toEqual(loaded.planFor(provider));
      expect(past.event, label).toEqual(loaded.event);
    }
  }
  if (isTelling) expect(tally.fromSnapshots).toBeGreaterThan(tally.revisions / 2);
});

test("reads the events after the nearest snapshot only", async () => {
  const { store, conversation, read } = await longConversation();
  const head = (await store.events.head(stream))?.revision ?? 0;
  await conversation.at(head);
  expect(read.events).toBeLessThan(520);
  expect(head).toBeGreaterThan(1_100);
});

test("a run in a process that has just begun reads what is sent, and leaves the rest of the Turn until it is asked for", async () => {
  const { events, clock, answering, read } = await longConversation();
  const opened = () => new TurnlogStore(events, { clock: () => clock.now }).conversation("cnv_workshop");
  await opened().append("and then?");
  const tail = await readBy(read, () => opened().at(-1));
  const cold = opened();
  const results: RunResult[] = [];
  const answer = async (): Promise<unknown> => results.push(await cold.run(answering));
  expect(await readBy(read, answer)).toBeLessThan(tail + 10);
  expect(results[0]?.steps[0]?.decision).toMatchObject({ strategy: "chained", back: 0 });
  const askAgain = async (): Promise<unknown> => results.push(await opened().run(answering));
  expect(await readBy(read, askAgain)).toBeLessThan(tail + 20);
  expect(results.map(({ isNew, text }) => [isNew, text])).toEqual([true, false].map((isNew) => [isNew, "answer 240"]));
  await cold.append("something else");
  for (const { turn } of results) {
    const texts = (await turn()).blocks.map(({ text }) => text);
    expect([texts.length, texts[0], texts.at(-1)]).toEqual([482, "said 0", "answer 240"]);
  }
});

test("of the lists of names reads only the one that has an id of the caller's, and none for an id that was drawn", async () => {
  const { events, clock, looked } = await longConversation();
  const conversation = new TurnlogStore(events, { clock: () => clock.now }).conversation("cnv_workshop");
  const lookedBy = async (work: () => Promise<unknown>): Promise<number> => {
    looked.lists = 0;
    await work();
    return looked.lists;
  };
  await conversation.at(-1);
  await conversation.append("opens it");
  expect(await lookedBy(() => conversation.append("hello"))).toBe(0);
  // None of them has it; the one that has the other is read to decide, and for what was said then.
  expect(await lookedBy(() => conversation.append("hello", { key: "one" }))).toBe(0);
  expect(await lookedBy(() => conversation.append("said 3", { key: "early" }))).toBe(2);
  // Ids by a function of the caller's may come again.
  const counted = new TurnlogStore(events, { newId: (prefix) => `${prefix}_${"1".repeat(16)}` });
  const other = counted.conversation("cnv_workshop");
  await other.append("opens it");
  expect((await other.append("hello")).isNew).toBe(false);
});

test("knows ids and digests of blocks, and reads their contents when it is asked", async () => {
  const { conversation, read } = await longConversation();
  const past = await conversation.at(-1);
  expect(past.turn.digest).toBe((await conversation.turn()).digest);
  expect(past.turn.blocks.map(({ id, digest }) => [id, digest])).toEqual(
    (await conversation.turn()).blocks.map(({ id, recordedAs }) => [id, recordedAs]),
  );
  read.events = 0;
  expect((await past.content()).at(0)?.text).toBe("said 0");
  expect(told(await past.content())).toBe(told(await conversation.turn()));
});

test("tells who made a block that was made before the snapshot", async () => {
  const { conversation } = await longConversation();
  const past = await conversation.at(-1);
  const [first] = past.turn.blocks;
  expect(await past.blame(first?.id ?? "")).toMatchObject({ made: { actor: { kind: "user" }, revision: 1 } });
});

test("deleting all snapshots changes nothing but time, and they come back by reading", async () => {
  const { store, conversation, read } = await longConversation();
  const before = viewDigest((await foldTo(store.log, stream, 1_000)).view);
  await store.events.snapshots?.deleteAll();
  read.events = 0;
  const without = await foldTo(store.log, stream, 1_000);
  // The first one is looked at before: a fork would begin with its parent's.
  expect([without.isWhole, read.events]).toEqual([true, 1_002]);
  expect(viewDigest(without.view)).toBe(before);
  const again = await foldTo(store.log, stream, 1_000);
  expect([again.isWhole, viewDigest(again.view)]).toEqual([false, before]);
  expect((await conversation.at(1_000)).turn.length).toBeGreaterThan(0);
});

test("takes one after 512 events and keeps it out of open runs", async () => {
  const { saved, store } = await longConversation();
  const revisions = saved
    .filter(({ key }) => key.projection === "conversation/9")
    .map(({ snapshot }) => snapshot.revision);
  // An exchange has five events and the first one seven: the second snapshot waits for a run to end.
  expect(revisions).toEqual([511, 1_026]);
  for (const revision of revisions) expect((await foldTo(store.log, stream, revision)).view.client.run).toBeNull();
});

test("holds no content, and writes a stretch of the Turn once", async () => {
  const { saved } = await longConversation();
  expect(JSON.stringify(saved)).not.toMatch(/said \d|answer \d/);
  const names = saved.filter(({ key }) => key.projection !== "conversation/9").map(({ key }) => key.projection);
  expect(new Set(names).size).toBe(names.length);
  const [first, second] = saved.filter(({ key }) => key.projection === "conversation/9").map(turnOf);
  expect(second?.slice(0, first?.length)).toEqual(first);
});

test.each([
  ["is not JSON", "{"],
  ["is of another shape", "{}"],
  [
    "names lists that are not there",
    JSON.stringify({ turn: [["x", 1, "y"]], newest: [], facts: null, title: null, labels: {} }),
  ],
  ["says another Turn", JSON.stringify({ turn: [], newest: [], facts: null, title: null, labels: {} })],
])("a snapshot that %s costs time only", async (_, data) => {
  const { store } = await longConversation();
  const before = viewDigest((await foldTo(store.log, stream, 1_100)).view);
  await store.events.snapshots?.put({ stream, projection: "conversation/9", version: 1 }, { revision: 1_026, data });
  expect(viewDigest((await foldTo(store.log, stream, 1_100)).view)).toBe(before);
});

test("a snapshot that was moved to another event is never used", async () => {
  const { conversation, store } = createWorkshop();
  for (let n = 0; n < 600; n += 1) await conversation.append(`said ${n}`);
  const snapshots = snapshotsOf(store.events);
  const key = { stream, projection: "conversation/9", version: 1 };
  const snapshot = await snapshots.get(key, 600);
  expect(snapshot?.revision).toBe(511);
  await snapshots.put(key, { revision: 400, data: snapshot?.data ?? "" });
  expect((await conversation.at(450)).turn.length).toBe(450);
});

test("a snapshot of events that were written anew is never used", async () => {
  const { store } = await longConversation();
  const readStream: EventStore["readStream"] = async function* (name, options) {
    for await (const event of store.events.readStream(name, options))
      yield event.revision < 300 ? event : { ...event, digest: sha256Hex(event.digest) };
  };
  const rewritten = { ...store.log, store: { ...store.events, readStream } };
  expect((await foldTo(store.log, stream, 600)).isWhole).toBe(false);
  expect((await foldTo(rewritten, stream, 600)).isWhole).toBe(true);
});

test("beside a snapshot that is not used, the one before it is", async () => {
  const { store, read } = await longConversation();
  await store.events.snapshots?.put(
    { stream, projection: "conversation/9", version: 1 },
    { revision: 1_026, data: "{" },
  );
  read.events = 0;
  const folded = await foldTo(store.log, stream, 1_100);
  expect([folded.isWhole, read.events < 600]).toEqual([false, true]);
});

test("a store that keeps none for want of room loses nothing", async () => {
  const events = createMemoryStore();
  const refusing: SnapshotStore = { ...snapshotsOf(events), put: () => Promise.reject(new Error("disk full")) };
  const { conversation } = createWorkshop({ events: { ...events, snapshots: refusing } });
  for (let n = 0; n < 600; n += 1) await conversation.append(`said ${n}`);
  expect((await conversation.at(-1)).turn.length).toBe(600);
});

/** What a conversation of 240 exchanges wrote to its store, made once: a copy costs its events, and not its runs. */
let written: Promise<Written> | undefined;

type Written = {
  readonly appends: readonly PreparedAppend[];
  readonly saved: readonly { readonly key: SnapshotKey; readonly snapshot: Snapshot }[];
  /** What answered, and holds what it did: the first that goes on with it is given answer 240. */
  readonly answering: Engine;
};

async function writeLongConversation(): Promise<Written> {
  const memory = createMemoryStore();
  const appends: PreparedAppend[] = [];
  const saved: { readonly key: SnapshotKey; readonly snapshot: Snapshot }[] = [];
  const append: EventStore["append"] = (prepared) => {
    appends.push(prepared);
    return memory.append(prepared);
  };
  const put: SnapshotStore["put"] = (key, snapshot) => {
    saved.push({ key, snapshot });
    return memory.snapshots.put(key, snapshot);
  };
  const { conversation, engine } = createWorkshop({
    events: { ...memory, append, snapshots: { ...memory.snapshots, put } },
  });
  const answering = engine({ provider: scripted(({ requestNumber }) => `answer ${requestNumber}`) });
  for (let n = 0; n < 240; n += 1) {
    await conversation.append(`said ${n}`, n === 3 ? { key: "early" } : {});
    await conversation.run(answering);
  }
  return { appends, saved, answering };
}

/** A conversation of 240 exchanges, what was saved of it, and how many of its events were read since. */
async function longConversation() {
  written ??= writeLongConversation();
  const { appends, saved, answering } = await written;
  const memory = createMemoryStore();
  for (const prepared of appends) expect(await memory.append(prepared)).toMatchObject({ status: "appended" });
  for (const { key, snapshot } of saved) await memory.snapshots.put(key, snapshot);
  const read = { events: 0 };
  const looked = { lists: 0 };
  const get: SnapshotStore["get"] = (key, atMost) => {
    looked.lists += 1;
    return memory.snapshots.get(key, atMost);
  };
  const readStream: EventStore["readStream"] = async function* (name, options) {
    for await (const envelope of memory.readStream(name, options)) {
      read.events += 1;
      yield envelope;
    }
  };
  const workshop = createWorkshop({ events: { ...memory, snapshots: { ...memory.snapshots, get }, readStream } });
  return { ...workshop, events: workshop.watched, answering, saved, read, looked };
}

/** How many events some work reads. */
async function readBy(read: { events: number }, work: () => Promise<unknown>): Promise<number> {
  read.events = 0;
  await work();
  return read.events;
}

/**
 * Takes snapshots after less work than the product does, so that short conversations have many. Gives the digest of the
 * fold of all events at every revision.
 */
async function takeSnapshots({ store }: Workshop, due: SnapshotWork): Promise<readonly string[]> {
  const fold = new ConversationFold(stream);
  const snapshotWriter = new SnapshotWriter(
    snapshotsOf(store.events),
    { fold, names: new SavedNames(fold.names) },
    {},
    due,
  );
  const digests: string[] = [];
  for await (const event of readHistory(store.log, stream)) {
    fold.apply(event);
    snapshotWriter.note(event);
    digests.push(viewDigest(fold.view));
  }
  await snapshotWriter.save();
  return digests;
}

function snapshotsOf({ snapshots }: EventStore): SnapshotStore {
  if (snapshots === undefined) throw new Error("the store keeps no snapshots");
  return snapshots;
}

const told = (turn: Turn): string => sha256Hex(canonicalJson(turn.blocks.map((block) => block.toJSON())));

const turnOf = ({ snapshot }: { readonly snapshot: Snapshot }): readonly unknown[] =>
  z.looseObject({ turn: z.array(z.unknown()) }).parse(JSON.parse(snapshot.data)).turn;

afterAll(() => {
  const { conversations, revisions, fromSnapshots } = tally;
  process.stdout.write(
    `snapshots: ${conversations} conversations, ${revisions} revisions, ${fromSnapshots} of them from a snapshot\n`,
  );
});
