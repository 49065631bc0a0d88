import { once } from "node:events";
import { eventTypeFilter, type Position, START, streamNameFilter } from "@eventstore/db-client";
import { expect, test } from "vitest";
import { type BareClient, connect, typesOf } from "../../../support/eventstoredb/bare-client.ts";
import { anEvent, startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

const stream = "conversation-1";
const prefixes = ["conversation-"];

/** Takes so many events, then leaves. */
async function take<T>(events: AsyncIterable<T> & { unsubscribe(): Promise<void> }, count: number): Promise<T[]> {
  const taken: T[] = [];
  try {
    for await (const event of events) if (taken.push(event) === count) break;
  } finally {
    await events.unsubscribe();
  }
  return taken;
}

/** What a filtered subscription says until it has caught up: event types, and checkpoints as "commit/prepare". */
async function story(bare: BareClient, fromPosition: Position | typeof START, window = 32): Promise<string[]> {
  const told: string[] = [];
  const checkpointReached = async (_: unknown, { commit, prepare }: Position): Promise<void> => {
    told.push(`${commit}/${prepare}`);
  };
  const filter = streamNameFilter({ prefixes, maxSearchWindow: window, checkpointReached });
  const subscription = bare.client.subscribeToAll({ fromPosition, filter });
  subscription.on("data", ({ event }) => told.push(event?.type ?? ""));
  await once(subscription, "caughtUp");
  await subscription.unsubscribe();
  return told;
}

test("follows a stream from after a revision: confirmed, caught up, then live", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A"), anEvent("B"), anEvent("C")]);
  const subscription = bare.client.subscribeToStream(stream, { fromRevision: 0n });
  const told: string[] = [];
  subscription.on("confirmation", () => told.push("confirmation"));
  subscription.on("caughtUp", () => {
    told.push("caughtUp");
    server.write(stream, [anEvent("D")]);
  });
  subscription.on("data", ({ event }) => told.push(event?.type ?? ""));
  while (!told.includes("D")) await once(subscription, "data");
  expect(told).toEqual(["confirmation", "B", "C", "caughtUp", "D"]);
  await subscription.unsubscribe();
  await server.idle();
});

test("follows a stream that does not exist yet, and one from its end", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write("other-1", [anEvent("Old")]);
  const missing = bare.client.subscribeToStream(stream);
  const ended = bare.client.subscribeToStream("other-1", { fromRevision: "end" });
  await Promise.all([once(missing, "caughtUp"), once(ended, "caughtUp")]);
  server.write(stream, [anEvent("A")]);
  server.write("other-1", [anEvent("New")]);
  expect(typesOf(await take(missing, 1))).toEqual(["A"]);
  expect(typesOf(await take(ended, 1))).toEqual(["New"]);
  await server.idle();
});

test("does not show a subscriber what was soft-deleted before it came", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("Hidden")]);
  await bare.client.deleteStream(stream);
  const subscription = bare.client.subscribeToStream(stream);
  await once(subscription, "caughtUp");
  server.write(stream, [anEvent("Shown")]);
  expect(typesOf(await take(subscription, 1))).toEqual(["Shown"]);
});

test("ends a subscription to a stream that is tombstoned with an error", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A")]);
  const subscription = bare.client.subscribeToStream(stream);
  await once(subscription, "caughtUp");
  const following = take(subscription, 99);
  await bare.client.tombstoneStream(stream);
  await expect(following).rejects.toMatchObject({ type: "stream-deleted" });
  await server.idle();
});

test("follows the whole log from after a position, through a filter on streams or on types", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A"), anEvent("B")]);
  server.write("other-1", [anEvent("B")]);
  const [first] = server.events(stream);
  const position = { commit: first?.position ?? 0n, prepare: first?.position ?? 0n };
  const after = bare.client.subscribeToAll({ fromPosition: position });
  expect((await take(after, 2)).map(({ event }) => event?.streamId)).toEqual([stream, "other-1"]);
  const byStream = bare.client.subscribeToAll({ filter: streamNameFilter({ prefixes }) });
  expect(typesOf(await take(byStream, 2))).toEqual(["A", "B"]);
  const byType = bare.client.subscribeToAll({ filter: eventTypeFilter({ regex: "^B$" }) });
  expect((await take(byType, 2)).map(({ event }) => event?.streamId)).toEqual([stream, "other-1"]);
  await server.idle();
});

test("tells a checkpoint every so many events looked at, which may lag a page and lie between events", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A")]);
  server.write(
    "other-1",
    Array.from({ length: 8 }, () => anEvent("Passed over")),
  );
  const [matching] = server.events(stream);
  const others = server.events("other-1");
  // Three boot events and A fill the first page of four; the other pages match nothing.
  const at = matching?.position;
  expect(await story(bare, START, 4)).toEqual(["A", `${at}/${at}`, `${matching?.end}/0`, `${others[3]?.end}/0`]);
});

test("continues from any checkpoint without repeating or leaving out an event", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  for (let index = 0; index < 9; index += 1) {
    server.write(stream, [anEvent(`E${index}`)]);
    server.write("other-1", [anEvent("Passed over"), anEvent("Passed over")]);
  }
  const told = await story(bare, START, 4);
  const checkpoints = told.filter((line) => line.includes("/"));
  expect(checkpoints.length).toBeGreaterThan(3);
  for (const checkpoint of checkpoints) {
    const [commit = "", prepare = ""] = checkpoint.split("/");
    const before = told.slice(0, told.indexOf(checkpoint));
    const later = await story(bare, { commit: BigInt(commit), prepare: BigInt(prepare) }, 4);
    const types = [...before, ...later].filter((line) => line.startsWith("E"));
    expect(types).toEqual(Array.from({ length: 9 }, (_, index) => `E${index}`));
  }
});

test("tells no checkpoint where a short log holds nothing that matches", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  expect(await story(bare, START)).toEqual([]);
});

test("says again that a slow subscriber has caught up, after it fell behind, and tells a checkpoint before", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  const told: string[] = [];
  const checkpointReached = async (_: unknown, { commit }: Position): Promise<void> => {
    told.push(`checkpoint ${commit}`);
  };
  const subscription = bare.client.subscribeToAll({ filter: streamNameFilter({ prefixes, checkpointReached }) });
  await once(subscription, "caughtUp");
  subscription.on("data", ({ event }) => told.push(event?.type ?? ""));
  server.write(stream, [anEvent("First")]);
  await once(subscription, "data");
  server.write(
    stream,
    Array.from({ length: 200 }, (_, index) => anEvent(`E${index}`)),
  );
  await once(subscription, "caughtUp");
  expect(told.slice(0, 2)).toEqual(["First", `checkpoint ${server.events(stream)[0]?.position}`]);
  const types = told.filter((line) => line.startsWith("E"));
  expect(types).toEqual(Array.from({ length: 200 }, (_, index) => `E${index}`));
  await subscription.unsubscribe();
});

test.each(["with", "without"])(
  "%s a filter: confirms a position beyond the end, has caught up, and passes over what comes before that position",
  async (how) => {
    await using server = await startEventStoreDbServer();
    await using bare = connect(server.connectionString);
    server.write(stream, [anEvent("A")]);
    const beyond = (server.events().at(-1)?.end ?? 0n) + 150n;
    const subscription = bare.client.subscribeToAll({
      fromPosition: { commit: beyond, prepare: beyond },
      ...(how === "with" ? { filter: streamNameFilter({ prefixes }) } : {}),
    });
    const told: string[] = [];
    subscription.on("confirmation", () => told.push("confirmation"));
    subscription.on("data", ({ event }) => told.push(event?.type ?? ""));
    await once(subscription, "caughtUp");
    for (const name of ["First", "Second", "Third"]) server.write(stream, [anEvent(name)]);
    while (!told.includes("Third")) await once(subscription, "data");
    const given = server.events(stream).filter(({ position }) => position > beyond);
    expect(given.length).toBeLessThan(3);
    expect(told).toEqual(["confirmation", ...given.map(({ type }) => type)]);
    await subscription.unsubscribe();
  },
);

test("refuses a position between two records after it was confirmed", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  server.write(stream, [anEvent("A")]);
  const between = (server.events().at(-1)?.position ?? 0n) + 1n;
  const subscription = bare.client.subscribeToAll({ fromPosition: { commit: between, prepare: between } });
  const confirmed = once(subscription, "confirmation");
  const failed = once(subscription, "error");
  await confirmed;
  expect(String((await failed)[0])).toContain("Trying to read from an invalid position.");
});
