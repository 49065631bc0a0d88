import { createServer, connect as dial, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { createPageSize } from "../../../src/stores/postgres/read.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import { cases, firstSeed, isLong, isRound } from "../../support/cases.ts";
import { startAside } from "../../support/process.ts";
import { rowsFromScratch, rowsOf } from "../../support/read-models/rows.ts";
import { beyond, said, started, write } from "../../support/read-models/written-log.ts";
import {
  createEmptyStores,
  opened,
  openedAgain,
  schemaOf,
  sql,
  withSetting,
} from "../../support/stores/postgres-opened.ts";
import { freePort, hasPostgres, type PostgresServer, startPostgres } from "../../support/stores/postgres-server.ts";
import { appendSlowly } from "../../support/stores/postgres-transaction.ts";
import { playRandomly } from "../../support/stores/postgres-world.ts";

/** Appends of one world, and crashes of its server. */
const [appends, stops] = isLong ? [10_000, 20] : isRound ? [1_000, 2] : [200, 1];

const patience = { timeout: 20_000 };

function withServer(): void {
  let server: PostgresServer;
  let emptyStore: ReturnType<typeof createEmptyStores>;
  beforeAll(async () => {
    server = await startPostgres();
    emptyStore = createEmptyStores(server);
  });
  afterAll(() => server.end());

  test.each(Array.from({ length: cases(1, 5) }, (_, n) => firstSeed + n))(
    "whatever breaks, no append is lost or doubled, and followers see the log without a gap (seed %i)",
    { timeout: 3_600_000 },
    async (seed) => {
      const url = await createEmptyStores(server)();
      const played = await playRandomly({ server, url, seed, appends, stops });
      expect(played.appends).toBeGreaterThanOrEqual(appends);
      for (const [kind, times] of Object.entries(played).filter(([kind]) => !["conflicts", "unknown"].includes(kind)))
        expect({ kind, times }).not.toEqual({ kind, times: 0 });
    },
  );

  test("positions continue in order where the keys of locks begin anew, at 2^31 and 2^32", async () => {
    for (const begin of isRound || isLong ? [2n ** 31n - 40n, 2n ** 32n - 40n] : [2n ** 32n - 40n]) {
      const url = await createEmptyStores(server)();
      const played = await playRandomly({ server, url, seed: firstSeed, appends: 60, stops: 0, begin });
      expect(played.appends).toBeGreaterThanOrEqual(60);
      const [{ last } = { last: "0" }] = await sql(url, `SELECT last_value AS last FROM ${schemaOf(url)}.positions`);
      expect(BigInt(String(last))).toBeGreaterThan(begin + 40n);
    }
  });

  test("an append that has not ended holds up followers of its own store only, and reads of the log wait for it", async () => {
    const [url, otherUrl] = [await emptyStore(), await emptyStore()];
    const [store, other] = [await opened(url), await opened(otherUrl)];
    const slow = prepared();
    const { end } = await appendSlowly({ url, store }, slow);
    const { sent } = await appendPrepared(store, {});
    const left = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const { id } of store.subscribe({ signal: left.signal })) seen.push(id);
    })();
    let hasRead = false;
    const reading = all(store.readLog()).finally(() => {
      hasRead = true;
    });
    // Meanwhile the other store's log is read and followed, and this one's streams are.
    const elsewhere = await appendPrepared(other, {});
    expect((await all(other.readLog())).map(({ id }) => id)).toEqual([elsewhere.sent.envelopes[0]?.id]);
    for await (const event of other.subscribe()) {
      expect(event.id).toBe(elsewhere.sent.envelopes[0]?.id);
      break;
    }
    expect((await all(store.readStream(sent.stream))).length).toBe(1);
    expect({ hasRead, seen }).toEqual({ hasRead: false, seen: [] });
    await end("COMMIT");
    const ids = [slow, sent].map(({ envelopes }) => envelopes[0]?.id);
    expect((await reading).map(({ id }) => id)).toEqual(ids);
    await expect.poll(() => seen, patience).toEqual(ids);
    left.abort();
    await following;
  });

  test("a log that waits for an append in vain says who to look for", async () => {
    const url = await emptyStore();
    const store = await opened(url, { deadlineMs: 1_500 });
    await appendSlowly({ url, store }, prepared());
    await expect(all(store.readLog())).rejects.toThrow("find who holds it up (pg_stat_activity)");
  });

  test("a follower that is too slow for the shared poll reads what it missed, each event once", async () => {
    const url = await emptyStore();
    const [store, writer] = [await opened(url), await opened(url)];
    const left = new AbortController();
    const quick: string[] = [];
    const following = (async () => {
      for await (const { id } of store.subscribe({ signal: left.signal })) quick.push(id);
    })();
    const slow = store.subscribe({ streamPrefix: "conversation-", signal: left.signal })[Symbol.asyncIterator]();
    const next = async (): Promise<string | undefined> => {
      const result: IteratorResult<StoredEnvelope, undefined> = await slow.next();
      return result.value?.id;
    };
    const first = next();
    const sent: string[] = [];
    const note = ({ envelopes }: { readonly envelopes: readonly { readonly id: string }[] }): void =>
      void sent.push(...envelopes.map(({ id }) => id));
    note((await appendPrepared(writer, {})).sent);
    const seen: (string | undefined)[] = [await first];
    // More than a follower's share that is kept.
    for (let n = 0; n < 6; n += 1) note((await appendPrepared(writer, { count: 100 })).sent);
    await expect.poll(() => quick.length, patience).toBe(601);
    note((await appendPrepared(writer, {})).sent);
    while (seen.length < 602) seen.push(await next());
    await expect.poll(() => quick.length, patience).toBe(602);
    left.abort();
    await following;
    await slow.return?.();
    expect(quick).toEqual(sent);
    expect(seen).toEqual(sent);
  });

  test("an append whose answer is lost after its commit is found to be there", async () => {
    const url = await emptyStore();
    const proxy = await startProxy(server.port);
    const store = await opened(url.replace(`:${server.port}/`, `:${proxy.port}/`));
    const { sent } = await appendPrepared(store, {});
    proxy.loseNextAnswer();
    const next = prepared({ stream: sent.stream, expected: headAfter(sent), count: 2 });
    expect(await store.append(next)).toMatchObject({ status: "appended", head: headAfter(next) });
    expect(proxy.lost()).toBe(1);
    expect((await all(store.readStream(sent.stream))).length).toBe(3);
    await appendPrepared(store, { stream: sent.stream, expected: headAfter(next) });
  });

  test("processes that race for streams and are killed lose no acknowledged event and leave no gap", async () => {
    const url = await emptyStore();
    const streams = ["a", "b", "c"];
    const write = (times: number) => startAside("stores/appending-process.ts", [url, String(times), ...streams]);
    const acknowledged: string[] = [];
    const run = async (killAfter: number): Promise<void> => {
      const writer = write(killAfter === 0 ? 15 : 100_000);
      let lines = 0;
      for await (const line of writer.lines) {
        if (line !== "open") acknowledged.push(line);
        lines += 1;
        if (lines === killAfter) writer.child.kill("SIGKILL");
      }
      await writer.closed;
    };
    await Promise.all([run(0), ...Array.from({ length: cases(2, 40, 6) }, (_, n) => run(2 + ((n * 7) % 30)))]);
    const store = await opened(url);
    const stored: string[] = [];
    for (const stream of streams) {
      const events: readonly StoredEnvelope[] = await all(store.readStream(stream));
      expect(events.map(({ revision }) => revision)).toEqual([...events.keys()]);
      for (const { revision, id } of events) stored.push(`${stream} ${revision} ${id}`);
    }
    const there = new Set(stored);
    expect(there.size).toBe(stored.length);
    expect(acknowledged.filter((line) => !there.has(line))).toEqual([]);
    expect((await all(store.readLog())).length).toBe(stored.length);
  });

  test("a projector catches up with the log, follows it, and goes on where it was when it is opened again", async () => {
    const first = await opened(await emptyStore());
    await write(first, [started("one1"), said("one1"), ...Object.values(beyond("bad_")), started("two2")]);
    const projector = createProjector(first, conversationList, { maxEvents: 3, saveWithinMs: 0 });
    const left = new AbortController();
    const run = projector.run(left.signal);
    onTestFinished(() => left.abort());
    await expect.poll(async () => (await projector.status()).state, patience).toBe("live");
    const seen: number[] = [];
    projector.view$("conversation-cnv_one1").subscribe(({ view }) => seen.push(view.summary.events));
    await write(first, [said("one1")]);
    await expect.poll(() => seen.at(-1), patience).toBe(3);
    left.abort();
    await run;
    const { events } = await projector.status();
    const second = await openedAgain(first);
    await first.close();
    await write(second, [said("two2")]);
    const again = createProjector(second, conversationList);
    expect(await again.status()).toMatchObject({ events, behind: 1, degraded: 1 });
    await again.catchUp();
    expect(await rowsOf(again)).toEqual(await rowsFromScratch(second, conversationList));
    expect(await second.views.builds("conversation-list")).toHaveLength(1);
  });

  test("what the owner of the database changes by hand, verify names", async () => {
    const url = await emptyStore();
    const store = await opened(url);
    await write(store, [started("one1"), said("one1"), said("one1"), started("two2"), said("two2")]);
    const schema = schemaOf(url);
    const number = (name: string): string =>
      `(SELECT number FROM ${schema}.streams WHERE name = 'conversation-cnv_${name}')`;
    await sql(
      url,
      `UPDATE ${schema}.events SET data = replace(data, '}', ',"x":1}') WHERE stream = ${number("one1")} AND revision = 1;
       DELETE FROM ${schema}.streams WHERE number = ${number("two2")}`,
    );
    const found = (await all(verifyStore(store, { codecs }))).flatMap(({ stream, problem }) =>
      problem === null ? [] : [`${problem.kind} ${stream}@${problem.revision}`],
    );
    expect(found).toContain("chain conversation-cnv_one1@1");
    expect(found.filter((text) => /^head stream number \d+@0$/.test(text)).length).toBe(1);
    expect(await store.orphanEvents?.()).toMatchObject([{ revision: 0, events: 2 }]);
  });

  test("a follower asks as rarely as the address says, and at once after an append of its own process", async () => {
    const store = await opened(withSetting(await emptyStore(), "pollMs=60000"));
    const left = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const { id } of store.subscribe({ signal: left.signal })) seen.push(id);
    })();
    const ids = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push((await appendPrepared(store, {})).sent.envelopes[0]?.id);
      await expect.poll(() => seen, patience).toEqual(ids);
    }
    left.abort();
    await following;
  });
}

/** Hands bytes between clients and a server, and can lose the answer to a statement that the server has executed. */
async function startProxy(to: number) {
  const sockets = new Set<Socket>();
  let isLosing = false;
  let lost = 0;
  const proxy = createServer((client) => {
    const upstream = dial(to, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    let isAppend = false;
    client.on("data", (bytes) => {
      isAppend = isLosing && bytes.includes("conversation-");
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (!isAppend) client.write(bytes);
      else if (bytes.includes("COMMIT") || bytes.at(-6) === "Z".charCodeAt(0)) {
        isLosing = false;
        lost += 1;
        client.destroy();
      }
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => void proxy.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return {
    port,
    loseNextAnswer: () => {
      isLosing = true;
    },
    lost: () => lost,
  };
}

if (hasPostgres) describe("a server of Postgres", withServer);

test("pages of the log grow while events are small, and shrink after one of large events", () => {
  const size = createPageSize();
  const page = (units: number) => [{ data: "x".repeat(units) }];
  for (let n = 0; n < 5; n += 1) size.note(page(1_000));
  expect(size.rows()).toBe(256);
  size.note(page(5_000_000));
  expect(size.rows()).toBe(128);
  size.note(page(2_000_000));
  expect(size.rows()).toBe(128);
  for (let n = 0; n < 9; n += 1) size.note(page(5_000_000));
  expect(size.rows()).toBe(1);
});
