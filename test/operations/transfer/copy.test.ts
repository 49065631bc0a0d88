import { describe, expect, test } from "vitest";
import { findConversation } from "../../../src/apps/cli/find.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreCorruptedError, StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { copyConversations, copyEvents } from "../../../src/operations/transfer/copy.ts";
import { openStoreSource } from "../../../src/operations/transfer/copy-source.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared, headAfter, jsonText, prepared } from "../../../src/testing/contracts/prepared.ts";
import { contentOf, family, familyStore, misreading, soundStore } from "../../support/carry/sources.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";
import { createFaultyStore } from "../../support/stores/faulty-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const copyAll = async (from: EventStore, to: EventStore) => copyEvents(await openStoreSource(from), to);
const copiedOf = (streams: Awaited<ReturnType<typeof copyAll>>): number =>
  streams.reduce((sum, { copied }) => sum + copied, 0);

const kinds: Readonly<Record<string, () => Promise<EventStore>>> = {
  memory: async () => createMemoryStore(),
  sqlite: () => openSqliteStore(temporaryFolder().file("target.db")),
  eventstoredb: async () => opened((await startServer()).connectionString),
};

describe.each(Object.keys(kinds))("to %s", (to) => {
  test.each(Object.keys(kinds))(
    "from %s goes every event as it is, with its blobs, and all of it is sound",
    async (from) => {
      // A server takes no lines.
      await using original = await soundStore([from, to].includes("eventstoredb") ? "json" : "lines");
      await using source = (await kinds[from]?.()) ?? createMemoryStore();
      await copyAll(original, source);
      await using target = (await kinds[to]?.()) ?? createMemoryStore();
      const copied = await copyAll(source, target);
      const content = await contentOf(target);
      expect(content).toEqual(await contentOf(original));
      expect(copied.map(({ stream }) => stream).toSorted()).toEqual([...content.keys()].toSorted());
      expect(copied.filter(({ conversation }) => conversation === null).length).toBeGreaterThan(0);
      const reports = await all(verifyStore(target, { codecs }));
      expect(reports.filter(({ problem }) => problem !== null)).toEqual([]);
      expect(copiedOf(await copyAll(source, target))).toBe(0);
    },
  );
});

test("a conversation in lines is not copied where its lines could not be erased, and nothing is written there", async () => {
  await using source = await soundStore();
  await using target = await opened((await startServer()).connectionString);
  await expect(copyAll(source, target)).rejects.toThrow(expect.objectContaining({ code: "store-takes-no-lines" }));
  expect(await all(target.heads())).toEqual([]);
});

test("a copy lists its conversations in the order of the original, and its newest is the newest", async () => {
  await using from = await openSqliteStore(temporaryFolder().file("source.db"));
  await using to = await openSqliteStore(temporaryFolder().file("target.db"));
  let now = Date.parse("2026-01-01T00:00:00.000Z");
  const original = new TurnlogStore(from, { clock: () => (now += 60_000) });
  for (const id of ["cnv_m", "cnv_z", "cnv_a", "cnv_q", "cnv_m", "cnv_b"])
    await original.conversation(id).append("Hello");
  const target = new TurnlogStore(to);
  await copyConversations(original, target);
  const idsOf = async (store: TurnlogStore) => (await store.list()).conversations.map(({ id }) => id);
  expect(await idsOf(original)).toEqual(["cnv_b", "cnv_m", "cnv_q", "cnv_a", "cnv_z"]);
  expect(await idsOf(target)).toEqual(await idsOf(original));
  expect(await to.newestStream?.("conversation-")).toBe("conversation-cnv_b");
  const { next } = await target.list({ limit: 2 });
  expect((await target.list({ after: next ?? "" })).conversations.map(({ id }) => id)).toEqual([
    "cnv_q",
    "cnv_a",
    "cnv_z",
  ]);
});

test("the newest of a copy is the newest also where older conversations were forked from it", async () => {
  await using from = await openSqliteStore(temporaryFolder().file("source.db"));
  let now = Date.parse("2026-01-01T00:00:00.000Z");
  const original = new TurnlogStore(from, { clock: () => (now += 60_000) });
  const parent = original.conversation("cnv_parent");
  await parent.append("Hello");
  const fork = await parent.fork(-1, { id: "cnv_fork" });
  await fork.fork(-1, { id: "cnv_again" });
  await original.conversation("cnv_other").append("Hello");
  await parent.append("Once more");
  for (const target of [createMemoryStore(), await openSqliteStore(temporaryFolder().file("target.db"))]) {
    await using to = new TurnlogStore(target);
    await copyConversations(original, to);
    expect((await findConversation(to, "@last")).id).toBe("cnv_parent");
    expect((await to.list()).conversations[0]?.id).toBe("cnv_parent");
  }
  expect((await findConversation(original, "@last")).id).toBe("cnv_parent");
});

test("copies the named conversations, what they began from, and nothing else", async () => {
  await using from = await familyStore();
  await using to = createMemoryStore();
  const third = conversationIdSchema.parse("cnv_third");
  const copied = await copyConversations(new TurnlogStore(from), new TurnlogStore(to), { conversations: [third] });
  expect(copied.map(({ conversation }) => conversation)).toEqual(["cnv_first", "cnv_second", "cnv_third"]);
  expect([...(await contentOf(to)).keys()]).toEqual(
    family
      .slice(0, 3)
      .toSorted()
      .map((id) => `conversation-${id}`),
  );
  await copyConversations(new TurnlogStore(from), new TurnlogStore(to));
  const left = new Map(await contentOf(from));
  // What left a store is on record there, and is not carried.
  expect(left.delete("exports")).toBe(true);
  expect(await contentOf(to)).toEqual(left);
});

test("a fork goes on at the target as it would have at the source", async () => {
  await using from = new TurnlogStore(createMemoryStore());
  const parent = from.conversation("cnv_parent");
  await parent.append(`minutes: ${"of a long meeting, ".repeat(5_000)}`);
  await parent.run(createEngine({ provider: scripted(["noted"]) }));
  const fork = await parent.fork(-1, { id: "cnv_fork" });
  await fork.append("and now?");
  await using to = new TurnlogStore(createMemoryStore());
  const copied = await copyConversations(from, to, { conversations: [fork.id] });
  expect(copied.map(({ conversation }) => conversation)).toEqual([null, parent.id, fork.id]);
  const [there, here] = [to.conversation(fork.id), await fork.turn()];
  expect((await there.turn()).digest).toBe(here.digest);
  const { text: answer, turn: readTurn } = await there.run(createEngine({ provider: scripted(() => "on it goes") }));
  const turn = await readTurn();
  expect({ answer, blocks: turn.blocks.length }).toEqual({ answer: "on it goes", blocks: here.blocks.length + 1 });
  expect((await all(verifyStore(to.events, { codecs }))).filter(({ problem }) => problem !== null)).toEqual([]);
});

test("fails before it writes when a conversation began from one that is not there", async () => {
  await using from = createMemoryStore();
  const origin = { type: "fork", conversationId: "cnv_gone" };
  await appendPrepared(from, { stream: "conversation-cnv_fork", data: [JSON.stringify({ origin })] });
  await using to = createMemoryStore();
  await expect(copyAll(from, to)).rejects.toThrow(
    "conversation cnv_gone, from which cnv_fork began, is not in the store",
  );
  expect(await contentOf(to)).toEqual(new Map());
});

test("goes on where a copy was broken off by the target, whichever call failed", async () => {
  await using source = await soundStore();
  const whole = await contentOf(source);
  for (const moment of ["before", "after"] as const) {
    for (let nth = 1, faults = 1; faults > 0; nth += 1) {
      await using target = createMemoryStore();
      const faulty = createFaultyStore(target, { fails: (call) => (call === nth ? moment : null) });
      const failure: unknown = await copyAll(source, faulty).catch((error: unknown) => error);
      faults = faulty.faults();
      if (faults > 0) expect(failure).toBeInstanceOf(StoreUnavailableError);
      await copyAll(source, target);
      expect(await contentOf(target)).toEqual(whole);
    }
  }
});

test("ends at the signal with its reason, and goes on from there", async () => {
  await using source = await soundStore();
  const whole = await contentOf(source);
  const total = 3 * [...whole.values()].flat().length;
  for (let stop = 1; stop < total; stop += 7) {
    await using target = createMemoryStore();
    const ending = new AbortController();
    const seen: number[] = [];
    const onProgress = (done: number, all: number): void => {
      expect(all).toBe(total);
      seen.push(done);
      if (done === stop) ending.abort(new Error("enough"));
    };
    const first = copyEvents(await openStoreSource(source), target, { signal: ending.signal, onProgress });
    await expect(first).rejects.toThrow("enough");
    expect(seen).toEqual(Array.from({ length: stop }, (_, index) => index + 1));
    await copyAll(source, target);
    expect(await contentOf(target)).toEqual(whole);
  }
});

test("adds what the source has grown by, and leaves a target alone that is ahead", async () => {
  await using from = createMemoryStore();
  await using to = createMemoryStore();
  const { sent } = await appendPrepared(from, { count: 3 });
  await copyAll(from, to);
  const more = await appendPrepared(from, { stream: sent.stream, expected: headAfter(sent), count: 2 });
  expect(copiedOf(await copyAll(from, to))).toBe(2);
  await appendPrepared(to, { stream: sent.stream, expected: headAfter(more.sent), count: 4 });
  const ahead = await contentOf(to);
  expect(copiedOf(await copyAll(from, to))).toBe(0);
  expect(await contentOf(to)).toEqual(ahead);
});

test.each([
  ["of the same length", 0],
  ["that is shorter", -1],
  ["that is longer", 2],
])("refuses a target that has gone another way, %s, before anything is written", async (_, extra) => {
  await using from = createMemoryStore();
  await using to = createMemoryStore();
  await appendPrepared(from, { stream: "conversation-cnv_aaaa", count: 3 });
  const { sent } = await appendPrepared(from, { stream: "conversation-cnv_bbbb", count: 4 });
  const start = { ...sent, envelopes: sent.envelopes.slice(0, 2) };
  await to.append(start);
  await appendPrepared(to, { stream: sent.stream, expected: headAfter(start), count: 2 + extra });
  const before = await contentOf(to);
  await expect(copyAll(from, to)).rejects.toThrow(expect.objectContaining({ code: "copy-diverged" }));
  await expect(copyAll(from, to)).rejects.toThrow("conversation-cnv_bbbb has other events at the target");
  expect(await contentOf(to)).toEqual(before);
});

test("writes nothing of a source whose last stream lacks its events, or has another head than its newest event", async () => {
  await using sound = await soundStore();
  await using to = createMemoryStore();
  const without = misreading(sound, (envelope) => (envelope.stream === "conversation-cnv_note" ? null : envelope));
  await expect(copyAll(without, to)).rejects.toThrow("event 0 of conversation-cnv_note is missing");
  const other: EventStore = {
    ...sound,
    async head(stream) {
      const head = await sound.head(stream);
      return head === null ? null : { ...head, digest: "0".repeat(64) };
    },
  };
  await expect(copyAll(other, to)).rejects.toThrow(/event \d+ of [\w-]+: it is another event than the head/);
  expect(await contentOf(to)).toEqual(new Map());
});

test.each([
  ["changed", (n: number) => (n === 5 ? "changed" : "same")],
  ["missing", (n: number) => (n === 5 ? "gone" : "same")],
  ["missing at the end", (n: number) => (n > 5 ? "gone" : "same")],
])("writes nothing of a source in which an event is %s", async (_, fate) => {
  await using sound = await soundStore();
  const source = misreading(sound, (envelope) => {
    const done = envelope.stream === "conversation-cnv_meeting" ? fate(envelope.revision) : "same";
    return done === "gone" ? null : done === "changed" ? { ...envelope, data: `${envelope.data} ` } : envelope;
  });
  await using to = createMemoryStore();
  await expect(copyAll(source, to)).rejects.toThrow(StoreCorruptedError);
  await expect(copyAll(source, to)).rejects.toThrow(/conversation-cnv_meeting/);
  expect(await contentOf(to)).toEqual(new Map());
});

test("writes nothing of a source in which a blob is missing that an event names", async () => {
  await using sound = await soundStore();
  await using to = createMemoryStore();
  const heads: EventStore["heads"] = (prefix) => (prefix === "blob-" ? sound.heads("no-blob-") : sound.heads(prefix));
  const source: EventStore = { ...sound, heads };
  await expect(copyAll(source, to)).rejects.toThrow(/it names blob-cnv_meeting-\w+, which is not there/);
  expect(await contentOf(to)).toEqual(new Map());
});

test("notices a target that does not keep what it is given", async () => {
  await using source = await soundStore();
  await using target = createMemoryStore();
  const forgetful = misreading(target, (envelope) =>
    envelope.stream === "conversation-cnv_note" ? { ...envelope, at: "2020-01-01T00:00:00.000Z" } : envelope,
  );
  await expect(copyAll(source, forgetful)).rejects.toThrow(/event 0 of conversation-cnv_note: its digest/);
});

test("copies events of the greatest size, and more than one append can hold", async () => {
  await using from = createMemoryStore();
  await using to = await openSqliteStore(temporaryFolder().file("target.db"));
  const stream = "conversation-cnv_long";
  let expected = null;
  for (let n = 0; n < 4; n += 1) {
    const sent = prepared({ stream, expected, data: [jsonText(250_000), jsonText(250_000), jsonText(250_000)] });
    await from.append(sent);
    expected = headAfter(sent);
  }
  const { sent } = await appendPrepared(from, { stream, expected, count: 600 });
  const rest = await appendPrepared(from, { stream, expected: headAfter(sent), count: 600 });
  expect(rest.result.status).toBe("appended");
  await copyAll(from, to);
  expect(await contentOf(to)).toEqual(await contentOf(from));
});

test("of two copies at once to one target each ends well or says that the other writes, and all is there", async () => {
  await using source = await soundStore();
  await using target = createMemoryStore();
  const outcomes = await Promise.allSettled([copyAll(source, target), copyAll(source, target)]);
  for (const outcome of outcomes)
    if (outcome.status === "rejected") expect(String(outcome.reason)).toContain("somebody else writes to");
  await copyAll(source, target);
  expect(await contentOf(target)).toEqual(await contentOf(source));
});
