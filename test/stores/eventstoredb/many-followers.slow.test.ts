import { expect, test } from "vitest";
import { changes$ } from "../../../src/conversation/changes.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { all, appendPrepared, jsonText } from "../../../src/testing/contracts/prepared.ts";
import { isLong } from "../../support/cases.ts";
import { anEvent } from "../../support/eventstoredb/server.ts";
import { opened, startServer, withSetting, writeAside } from "../../support/stores/eventstoredb-opened.ts";

/** More subscriptions and reads than a connection has calls, and more foreign data than a server reads in a moment. */

const isFollowed = ({ operation }: { readonly operation: string }): boolean => operation === "subscribe";

/** Several times what a connection has calls. */
const followed = isLong ? 1_000 : 120;

test(`${followed} conversations of a process that are all followed go on, on one subscription`, {
  timeout: 300_000,
}, async () => {
  const server = await startServer();
  await using store = await openStore(server.connectionString, { viewsPath: ":memory:", deadlineMs: 60_000 });
  const conversations = Array.from({ length: followed }, (_, n) => store.conversation(`cnv_many${n}`));
  const seen = new Map<string, number>();
  const following = conversations.map((conversation) => {
    const count = ({ stream }: { readonly stream: string }): unknown => seen.set(stream, (seen.get(stream) ?? 0) + 1);
    return changes$(conversation).subscribe(count);
  });
  for (const round of ["one", "two"]) await Promise.all(conversations.map((one) => one.append(round)));
  // Each has been started, and two messages were appended to it.
  await expect
    .poll(() => [...seen.values()].filter((events) => events === 3).length, { timeout: 120_000 })
    .toBe(conversations.length);
  expect((await conversations.at(-1)?.turn())?.blocks.map((block) => block.text)).toEqual(["one", "two"]);
  await server.untilCalls((calls) => calls.filter(isFollowed).length === 1, 10_000);
  for (const each of following) each.unsubscribe();
  await server.idle();
});

test("more readers that stall than a connection has calls do not hold up the others", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const stream = "conversation-long";
  for (const n of [0, 1, 2, 3])
    writeAside(server, { stream: `${stream}${n}`, data: Array.from({ length: 60 }, () => jsonText(10_000)) });
  const stalled = Array.from({ length: 120 }, () => store.readLog()[Symbol.asyncIterator]());
  for (const iterator of stalled) await iterator.next();
  expect((await appendPrepared(store, { stream: "conversation-other" })).result.status).toBe("appended");
  expect(await all(store.readStream("conversation-other"))).toHaveLength(1);
  // A reader that comes back finds the rest.
  let rest = 0;
  while ((await stalled[0]?.next())?.done === false) rest += 1;
  expect(rest).toBe(4 * 60 + 1 - 1);
  for (const iterator of stalled) await iterator.return?.();
  await server.idle();
});

test("reads the log to its end over so much foreign data that a filter says nothing for longer than anybody waits", async () => {
  const server = await startServer({ unkindness: { searchMs: 400 } });
  const store = await opened(withSetting(server.connectionString, "deadlineMs=1000&turnlogReadTimeout=800"));
  const { sent } = await appendPrepared(store, { count: 2 });
  server.write(
    "order-1",
    Array.from({ length: 6_000 }, () => anEvent("Ordered")),
  );
  const late = writeAside(server, {});
  const ids = [...sent.envelopes, ...late.envelopes].map(({ id }) => id);
  expect((await all(store.readLog())).map(({ id }) => id)).toEqual(ids);
  expect((await all(store.subscribe({ limit: 3 }))).map(({ id }) => id)).toEqual(ids);
});
