import { join } from "node:path";
import pg from "pg";
import type { Head, PreparedAppend } from "../src/log/ports/event-store.ts";
import type { PostgresStore } from "../src/stores/postgres/open.ts";
import { initPostgresStore } from "../src/stores/postgres/setup.ts";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { headAfter, newStream, prepared } from "../src/testing/contracts/prepared.ts";
import { start } from "../test/support/process.ts";
import {
  hasPostgres,
  type PostgresServer,
  startPostgres,
  whyNoPostgres,
} from "../test/support/stores/postgres-server.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { textOf } from "./sample.ts";

/**
 * The store against bare inserts of the same rows on the same server, by the wall clock, because the server and its disk do most of the
 * work: a transaction for each append, with BEGIN, prepared INSERTs and COMMIT, and without a head.
 */
export async function benchPostgres(): Promise<readonly BenchRow[]> {
  if (!hasPostgres) {
    console.error(whyNoPostgres);
    return [];
  }
  const server = await startPostgres({ settings: ["synchronous_commit=on", "shared_buffers=256MB", "autovacuum=on"] });
  const url = server.url("postgres");
  await initPostgresStore(url);
  const store = await openPostgresStore(url);
  try {
    await createBare(url);
    return [
      await benchAppends(store, url, { writers: 64, batch: 1, appends: 20, bound: 0.8 }),
      await benchAppends(store, url, { writers: 1, batch: 1, appends: 100, bound: 0.3 }),
      await benchAppends(store, url, { writers: 1, batch: 10, appends: 40, bound: 0.5 }),
      await benchFollower(url),
      await benchFollowers(store, url),
      ...(await benchLog(server, store)),
    ];
  } finally {
    await store.close();
    await server.end();
  }
}

const rounds = 5;

type Load = {
  readonly writers: number;
  readonly batch: number;
  /** Of each writer, in a round. */
  readonly appends: number;
  readonly bound: number;
};

async function benchAppends(store: PostgresStore, url: string, load: Load): Promise<BenchRow> {
  const { writers, batch, appends, bound } = load;
  const clients = await Promise.all(Array.from({ length: writers }, () => connect(url)));
  const [ratios, rates]: [number[], { bare: number[]; store: number[] }] = [[], { bare: [], store: [] }];
  for (let round = -1; round < rounds; round += 1) {
    const chains = Array.from({ length: writers }, () => chainOf(batch, appends));
    const bareMs = await timed(() => Promise.all(chains.map((chain, n) => insertBare(clients[n], chain))));
    const storeMs = await timed(() =>
      Promise.all(
        chains.map(async (chain) => {
          for (const each of chain) await store.append(each);
        }),
      ),
    );
    if (round < 0) continue;
    ratios.push(bareMs / storeMs);
    rates.bare.push((writers * appends * 1_000) / bareMs);
    rates.store.push((writers * appends * 1_000) / storeMs);
  }
  for (const client of clients) await client.end();
  const note = `${summary(rates.bare).value.toFixed(0)} appends a second bare, ${summary(rates.store).value.toFixed(0)} the store`;
  const name = `postgres append of ${batch}, ${writers} ${writers === 1 ? "writer" : "writers"}, against bare inserts`;
  return { name, ...summary(ratios), unit: "x", bound, kind: "at least", note };
}

/** Appends to a stream of its own, one after the other. */
function chainOf(batch: number, appends: number): readonly PreparedAppend[] {
  const stream = newStream();
  const chain: PreparedAppend[] = [];
  let expected: Head | null = null;
  for (let n = 0; n < appends; n += 1) {
    const data = Array.from({ length: batch }, (_, index) =>
      JSON.stringify({ text: textOf(1_000, n * batch + index) }),
    );
    const one = prepared({ stream, expected, data });
    chain.push(one);
    expected = headAfter(one);
  }
  return chain;
}

async function createBare(url: string): Promise<void> {
  const client = await connect(url);
  await client.query(
    `CREATE TABLE bare (LIKE turnlog.events INCLUDING INDEXES);
     CREATE SEQUENCE bare_positions;
     ALTER TABLE bare ALTER position SET DEFAULT nextval('bare_positions'), ALTER stream TYPE text`,
  );
  await client.end();
}

async function insertBare(client: pg.Client | undefined, chain: readonly PreparedAppend[]): Promise<void> {
  if (client === undefined) throw new Error("each writer has a client");
  for (const { envelopes } of chain) {
    await client.query("BEGIN");
    for (const { stream, revision, id, type, version, at, actor, encoding, dataDigest, digest, data } of envelopes)
      await client.query({
        name: "insert",
        text: `INSERT INTO bare (stream, revision, id, type, version, at, actor, encoding, data_digest, digest, data)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        values: [stream, revision, id, type, version, at, JSON.stringify(actor), encoding, dataDigest, digest, data],
      });
    await client.query("COMMIT");
  }
}

/** The time from an append's call in another process to its event here. */
async function benchFollower(url: string): Promise<BenchRow> {
  const appends = 100;
  const store = await openPostgresStore(url);
  const program = join(import.meta.dirname, "postgres-process.ts");
  const { ended } = start(process.execPath, [program, url, String(appends), "30"]);
  const left = new AbortController();
  const delays: number[] = [];
  const after = (await store.end?.()) ?? "0";
  for await (const event of store.subscribe({ after, streamPrefix: "conversation-cnv_paced", signal: left.signal })) {
    delays.push(performance.timeOrigin + performance.now() - atOf(event.data));
    if (delays.length === appends) left.abort();
  }
  const { code, stderr } = await ended;
  if (code !== 0) throw new Error(stderr);
  await store.close();
  const note = `p99 ${at(delays, 0.99).toFixed(0)} ms, at one poll every 50 ms`;
  return {
    name: "postgres follower of another process, p50",
    value: at(delays, 0.5),
    unit: "ms",
    bound: 60,
    kind: "at most",
    note,
  };
}

function atOf(data: string): number {
  const parsed: unknown = JSON.parse(data);
  return typeof parsed === "object" && parsed !== null && "at" in parsed ? Number(parsed.at) : Number.NaN;
}

const at = (values: readonly number[], part: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor((values.length - 1) * part)] ?? Number.NaN;

/** How many statements a second 100 followers in one process cost, while 20 appends a second come. */
async function benchFollowers(store: PostgresStore, url: string): Promise<BenchRow> {
  const seconds = 3;
  const followers = 100;
  const follower = await openPostgresStore(url);
  const left = new AbortController();
  const after = (await store.end?.()) ?? "0";
  let seen = 0;
  const following = Array.from({ length: followers }, async () => {
    for await (const _ of follower.subscribe({ after, signal: left.signal })) seen += 1;
  });
  const client = await connect(url);
  const transactions = async (): Promise<number> => {
    // Statistics are sent when a connection is idle, or once a second.
    await client.query("SELECT pg_stat_clear_snapshot()");
    const { rows } = await client.query<{ n: string }>(
      "SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = 'postgres'",
    );
    return Number(rows[0]?.n);
  };
  const before = await transactions();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const stream = newStream();
  let expected: Head | null = null;
  let sent = 0;
  for (; performance.now() - begun < seconds * 1_000; sent += 1) {
    const one = prepared({ stream, expected });
    await store.append(one);
    expected = headAfter(one);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const tookMs = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const rate = ((await transactions()) - before) / (tookMs / 1_000);
  left.abort();
  await Promise.all(following);
  await follower.close();
  await client.end();
  if (seen !== sent * followers) throw new Error(`${seen} events were seen, not ${sent * followers}`);
  const note = `${((user + system) / 10 / tookMs).toFixed(0)} % of a core in this process, its appends included`;
  return {
    name: "postgres statements a second, 100 followers and 20 appends a second",
    value: rate,
    unit: "statements",
    note,
  };
}

/** Opening, the end of the log, a page in its middle and all of it, with a million events. */
async function benchLog(server: PostgresServer, store: PostgresStore): Promise<readonly BenchRow[]> {
  const events = 1_000_000;
  const url = server.url("postgres");
  const client = await connect(url);
  await client.query(
    `INSERT INTO turnlog.streams (name, revision, digest) SELECT 'conversation-cnv_large_' || n, 99, '' FROM generate_series(1, ${events / 100}) AS n;
     INSERT INTO turnlog.events (stream, revision, id, type, version, at, actor, encoding, data_digest, digest, data)
     SELECT streams.number, n, gen_random_uuid()::text, 'Noted', 1, '2026-01-01T00:00:00.000Z', '{"kind":"app"}', 'json',
       md5(name) || md5(n::text), md5(name) || md5(n::text), '{"text":"' || repeat(md5(name || n), 20) || '"}'
     FROM turnlog.streams, generate_series(0, 99) AS n WHERE name LIKE 'conversation-cnv_large_%'`,
  );
  await client.query("ANALYZE");
  const { rows } = await client.query<{ n: string; bytes: string }>(
    "SELECT count(*) AS n, pg_total_relation_size('turnlog.events') AS bytes FROM turnlog.events",
  );
  await client.end();
  const count = Number(rows[0]?.n);
  const openMs = await timed(async () => {
    const other = await openPostgresStore(url);
    await other.end?.();
    await other.close();
  });
  const end = (await store.end?.()) ?? "0";
  const pageMs = await timed(() => readCount(store, { after: String(BigInt(end) / 2n), limit: 256 }));
  let read = 0;
  const allMs = await timed(async () => {
    read = await readCount(store, {});
  });
  if (read !== count) throw new Error(`${read} events were read, not ${count}`);
  const size = `${(Number(rows[0]?.bytes) / count).toFixed(0)} bytes an event on disk, of which 651 are data`;
  return [
    { name: "postgres opening with 1 million events", value: openMs, unit: "ms" },
    { name: "postgres page of 256 events in the middle of 1 million", value: pageMs, unit: "ms" },
    { name: "postgres reading 1 million events", value: (count / allMs) * 1_000, unit: "events a second", note: size },
  ];
}

async function readCount(store: PostgresStore, options: Parameters<PostgresStore["readLog"]>[0]): Promise<number> {
  let count = 0;
  for await (const _ of store.readLog(options)) count += 1;
  return count;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // When a figure fails, the server ends before its clients.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

if (import.meta.main) process.exitCode = report(await benchPostgres()) ? 0 : 1;
