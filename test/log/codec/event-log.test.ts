import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { createEventLog, type EventLog, maxAppendAttempts } from "../../../src/log/codec/event-log.ts";
import type { NewEvent } from "../../../src/log/codec/prepare.ts";
import { rawEvents } from "../../../src/log/codec/raw-reader.ts";
import { BlobReference } from "../../../src/log/codec/references.ts";
import type { EventStore, Head } from "../../../src/log/ports/event-store.ts";
import { EventTooLargeError, StoreCorruptedError, StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { all, appendPrepared, prepared } from "../../../src/testing/contracts/prepared.ts";
import { noted, sources } from "../../support/log/noted.ts";
import { createFaultyStore } from "../../support/stores/faulty-store.ts";

const stream = "conversation-cnv_1";

/** The same as an event that can be read again: settings hold what JSON holds. */
const declared = (settings: JsonObject, extra: Partial<NewEvent> = {}): NewEvent => ({
  ...noted({}, extra),
  event: { type: "SettingsDeclared", version: 2, data: { digest: "0".repeat(64), settings } },
});
const settingsOf = ({ event }: RecordedEvent): JsonObject | null =>
  event.type === "SettingsDeclared" ? event.data.settings : null;

const fewEvents = [declared({ n: 0 }), declared({ n: 1 })];
const blobEvents = [declared({ image: "x".repeat(1_000_000) })];
const manyEvents = Array.from({ length: 12 }, (_, n) =>
  declared({ n, list: Array.from({ length: 5 }, () => "x".repeat(40_000)) }),
);

test("gives back what was appended, parsed", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  const result = await log.append(stream, null, [declared({ n: 1, $blob: 2 }, { runId: "run_1" }), declared({ n: 2 })]);
  const read = await all(rawEvents(log, stream));
  expect(read.map(settingsOf)).toEqual([{ n: 1, $blob: 2 }, { n: 2 }]);
  expect(result).toMatchObject({ status: "appended", head: await log.store.head(stream) });
  expect(result.status === "appended" && result.events).toEqual(read);
});

test("tells a conflict and writes nothing", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  await log.append(stream, null, [declared({})]);
  const actual = await log.store.head(stream);
  expect(await log.append(stream, null, [declared({})])).toEqual({ status: "conflict", actual, events: [] });
  expect(await log.append("conversation-2", actual, [declared({})])).toEqual({
    status: "conflict",
    actual: null,
    events: [],
  });
  expect(await all(log.store.readLog())).toHaveLength(1);
});

test("reads a range, in both directions", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  await log.append(
    stream,
    null,
    Array.from({ length: 9 }, (_, n) => declared({ n })),
  );
  const revisions = async (options: Parameters<typeof rawEvents>[2]) =>
    (await all(rawEvents(log, stream, options))).map((event) => event.revision);
  expect(await revisions({ from: 2, to: 4 })).toEqual([2, 3, 4]);
  expect(await revisions({ to: 0 })).toEqual([0]);
  expect(await revisions({ from: 5, to: 4 })).toEqual([]);
  expect(await revisions({ to: 99 })).toHaveLength(9);
  expect(await revisions({ direction: "backwards", from: 4, to: 2 })).toEqual([4, 3, 2]);
  expect(await revisions({ direction: "backwards", limit: 1 })).toEqual([8]);
});

test("keeps time from running back, also after another writer's event", async () => {
  const store = createMemoryStore();
  const later = createEventLog(store, { ...sources(), clock: () => Date.UTC(2030, 0, 1) });
  await later.append(stream, null, [declared({})]);
  const log = createEventLog(store, sources());
  await log.append("conversation-2", null, [declared({})]);
  await later.append("conversation-2", await store.head("conversation-2"), [declared({})]);
  await log.append("conversation-2", await store.head("conversation-2"), [declared({})]);
  expect((await all(rawEvents(log, "conversation-2"))).map((event) => event.at.slice(0, 4))).toEqual([
    "2026",
    "2030",
    "2030",
  ]);
  await log.append(stream, await store.head(stream), [declared({})]);
  await later.append(stream, await store.head(stream), [declared({})]);
  await log.append(stream, await store.head(stream), [declared({})]);
  expect((await all(rawEvents(log, stream))).map((event) => event.at)).toEqual(
    Array.from({ length: 4 }, () => "2030-01-01T00:00:00.000Z"),
  );
});

test("leaves blobs as references, or puts their texts back", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  const data = { image: "x".repeat(100_000), again: "x".repeat(100_000), other: ["é".repeat(50_000)], small: "s" };
  await log.append(stream, null, [declared(data)]);
  const [kept] = (await all(rawEvents(log, stream, { blobs: "keep" }))).map(settingsOf);
  expect(kept?.["image"]).toBeInstanceOf(BlobReference);
  const [resolved] = (await all(rawEvents(log, stream))).map(settingsOf);
  expect(resolved).toEqual(data);
  expect(await all(log.store.heads("blob-"))).toHaveLength(2);
});

test("stores blobs before the event that names them", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  await log.append(stream, null, [declared({ image: "x".repeat(100_000) })]);
  const order = (await all(log.store.readLog())).map((event) => event.type);
  expect(order).toEqual([...Array.from({ length: 5 }, () => "BlobChunkStored"), "SettingsDeclared"]);
});

test("writes what is too big for one append in several", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  const events = Array.from({ length: 12 }, (_, n) =>
    declared({ n, list: Array.from({ length: 5 }, () => "x".repeat(40_000)) }),
  );
  const result = await log.append(stream, null, events);
  expect(result).toMatchObject({ status: "appended", head: await log.store.head(stream) });
  expect((await all(rawEvents(log, stream))).map(({ revision }) => revision)).toEqual(events.map((_, n) => n));
});

test("refuses an event that cannot be brought under its bound", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  await expect(log.append(stream, null, [noted({ ["k".repeat(300_000)]: 1 })])).rejects.toThrow(EventTooLargeError);
});

test("refuses a first event that is nested too deeply", async () => {
  let nested: JsonObject = {};
  for (let level = 0; level < 100_000; level += 1) nested = { nested };
  const log = createEventLog(createMemoryStore(), sources());
  await expect(log.append(stream, null, [declared(nested)])).rejects.toThrow(EventTooLargeError);
});

test("writes nothing of a split append when one of its events cannot be brought under its bound", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  const tooLarge = noted({ ["k".repeat(300_000)]: 1 });
  await expect(log.append(stream, null, [...manyEvents, tooLarge, declared({})])).rejects.toThrow(EventTooLargeError);
  expect(await all(log.store.readLog())).toEqual([]);
});

test("names the event that cannot be read", async () => {
  const log = createEventLog(createMemoryStore(), sources());
  await log.append(stream, null, [declared({})]);
  await appendPrepared(log.store, { stream, expected: await log.store.head(stream), data: ["not JSON"] });
  await expect(all(rawEvents(log, stream))).rejects.toThrow(StoreCorruptedError);
  await expect(all(rawEvents(log, stream))).rejects.toThrow(`event 1 of ${stream}`);
});

test.each<[string, "before" | "after", readonly NewEvent[]]>([
  ["few events, before", "before", fewEvents],
  ["few events, after", "after", fewEvents],
  ["a blob, before", "before", blobEvents],
  ["a blob, after", "after", blobEvents],
  ["a split append, before", "before", manyEvents],
  ["a split append, after", "after", manyEvents],
])("writes once whichever call fails: %s it took effect", async (_, moment, events) => {
  for (let failing = 1; ; failing += 1) {
    const memory = createMemoryStore();
    const start = await startOf(memory);
    const faulty = createFaultyStore(memory, { fails: (call) => (call === failing ? moment : null) });
    const log = createEventLog(faulty, sources());
    await appendAsCallersDo(log, start, events);
    const read = await all(rawEvents(createEventLog(memory, sources()), stream, { from: 1 }));
    expect(read.map(({ event }) => event)).toEqual(events.map(({ event }) => event));
    if (faulty.faults() === 0) return;
  }
});

test("says conflict when another was first, although the own answer was lost", async () => {
  const memory = createMemoryStore();
  const other = prepared({ stream });
  let isFirst = true;
  const store: EventStore = {
    ...memory,
    async append(sent) {
      if (!isFirst) return memory.append(sent);
      isFirst = false;
      await memory.append(other);
      throw new StoreUnavailableError("the store was not reached");
    },
  };
  const result = await createEventLog(store, sources()).append(stream, null, fewEvents);
  expect(result).toEqual({ status: "conflict", actual: await memory.head(stream), events: [] });
});

test("finds its own events after a lost answer in a store that only says conflict", async () => {
  const memory = createMemoryStore();
  let sends = 0;
  const store: EventStore = {
    ...memory,
    async append(sent) {
      sends += 1;
      if (sends > 1) return { status: "conflict", actual: await memory.head(stream) };
      await memory.append(sent);
      throw new StoreUnavailableError("the store's answer was lost");
    },
  };
  const result = await createEventLog(store, sources()).append(stream, null, fewEvents);
  expect(result).toMatchObject({ status: "appended", head: await memory.head(stream) });
});

test("gives up after a bounded number of attempts, with the same bytes each time", async () => {
  const sent: unknown[] = [];
  const store: EventStore = {
    ...createMemoryStore(),
    async append(one) {
      sent.push(one);
      throw new StoreUnavailableError("the store is down");
    },
  };
  const log = createEventLog(store, sources());
  await expect(log.append(stream, null, fewEvents)).rejects.toThrow(StoreUnavailableError);
  expect(sent).toHaveLength(maxAppendAttempts);
  expect(new Set(sent).size).toBe(1);
});

test("repeats an append within the store's deadline, of which the store's own repeats are a part", async () => {
  let now = 1_000;
  const sendsOf = async (tookMs: number): Promise<number> => {
    let sends = 0;
    const store: EventStore = {
      ...createMemoryStore(),
      deadlineMs: 5_000,
      async append() {
        sends += 1;
        now += tookMs;
        throw new StoreUnavailableError("the store is down");
      },
    };
    const log = createEventLog(store, sources(), () => now);
    await expect(log.append(stream, null, fewEvents)).rejects.toThrow(StoreUnavailableError);
    return sends;
  };
  expect([await sendsOf(5_000), await sendsOf(2_000), await sendsOf(0)]).toEqual([1, 2, maxAppendAttempts]);
  // A store gives up before its deadline if its next pause would end after it, and a timer may fire early.
  expect([await sendsOf(4_999.6), await sendsOf(4_100)]).toEqual([1, 1]);
});

test("does not repeat an append that failed for another reason", async () => {
  let sends = 0;
  const store: EventStore = {
    ...createMemoryStore(),
    async append() {
      sends += 1;
      throw new StoreCorruptedError("damage");
    },
  };
  await expect(createEventLog(store, sources()).append(stream, null, fewEvents)).rejects.toThrow(StoreCorruptedError);
  expect(sends).toBe(1);
});

test("remembers the times of a bounded number of streams and reads those of others", async () => {
  let calls = 0;
  const store = createFaultyStore(createMemoryStore(), {
    fails: (call) => {
      calls = call;
      return null;
    },
  });
  const log = createEventLog(store, sources());
  const name = (index: number): string => `conversation-${index}`;
  for (let index = 0; index < 1_100; index += 1) await log.append(name(index), null, [declared({})]);
  const callsToAppend = async (index: number): Promise<number> => {
    const head = await store.head(name(index));
    const before = calls;
    await log.append(name(index), head, [declared({})]);
    return calls - before;
  };
  expect(await callsToAppend(1_099)).toBe(1);
  expect(await callsToAppend(0)).toBe(2);
});

/** The stream's first event, so that an append has to ask for the time before. */
async function startOf(store: EventStore): Promise<Head | null> {
  await createEventLog(store, sources()).append(stream, null, [declared({ start: true })]);
  return store.head(stream);
}

/** Tries again when the store could not even be read: nothing was sent then. */
async function appendAsCallersDo(log: EventLog, head: Head | null, events: readonly NewEvent[]): Promise<void> {
  try {
    expect(await log.append(stream, head, events)).toMatchObject({ status: "appended" });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    expect(await log.append(stream, head, events)).toMatchObject({ status: "appended" });
  }
}
