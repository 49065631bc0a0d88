import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect } from "vitest";
import { checkEnvelope } from "../../../src/log/codec/envelope.ts";
import {
  comparePositions,
  type EventStore,
  type Head,
  type PreparedAppend,
  type StoredEnvelope,
} from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { appendCall } from "../../../src/stores/postgres/append.ts";
import { openPostgresStore } from "../../../src/stores/postgres/store.ts";
import { all, headAfter, newStream, prepared } from "../../../src/testing/contracts/prepared.ts";
import { createRandom, type Random } from "../coherence/random.ts";
import { schemaOf, sql } from "./postgres-opened.ts";
import type { PostgresServer } from "./postgres-server.ts";

/** How often each thing happened. */
export type Played = {
  readonly appends: number;
  readonly conflicts: number;
  readonly unknown: number;
  readonly rolledBack: number;
  readonly died: number;
  readonly terminated: number;
  readonly stops: number;
  readonly full: number;
  readonly locked: number;
};

type Counts = { -readonly [Name in keyof Played]: Played[Name] };

type World = {
  readonly server: PostgresServer;
  readonly url: string;
  readonly streams: readonly string[];
  readonly count: Counts;
  /** The ids of events that were acknowledged, and of those whose commit was cut off. */
  readonly acknowledged: Set<string>;
  readonly perhaps: Set<string>;
  readonly isDone: () => boolean;
};

export type WorldOptions = {
  readonly server: PostgresServer;
  /** The address of an empty store. */
  readonly url: string;
  readonly seed: number;
  readonly appends: number;
  /** How often the server is stopped as by a crash. */
  readonly stops: number;
  /** The position to begin after; absent for an empty log. */
  readonly begin?: bigint;
};

/** Everything has happened at least once, however fast the writers are. */
const hadAll = ({ rolledBack, died, terminated, full, locked }: Counts): boolean =>
  [rolledBack, died, terminated, full, locked].every((times) => times > 0);

const writersOfStore = 12;
const nappers = 4;

/**
 * Writers that append as fast as they can, writers that nap between drawing positions and their commit, roll back or die, and followers
 * from the beginning, at a server whose connections break, which is stopped, whose disk is full at times, and whose tables are locked.
 * Whatever happens, all that was acknowledged is there once, each stream without a gap, and each follower sees the log as it is.
 */
export async function playRandomly({ server, url, seed, appends, stops, begin }: WorldOptions): Promise<Played> {
  const zero = { conflicts: 0, unknown: 0, rolledBack: 0, died: 0, terminated: 0, stops: 0, full: 0, locked: 0 };
  const count: Counts = { appends: 0, ...zero };
  const streams = Array.from({ length: 2 * writersOfStore }, newStream);
  const sets = { acknowledged: new Set<string>(), perhaps: new Set<string>() };
  const world: World = {
    server,
    url,
    streams,
    count,
    ...sets,
    isDone: () => count.appends >= appends && hadAll(count),
  };
  await makeDiskFillable(url);
  if (begin !== undefined) await sql(url, `SELECT setval('${schemaOf(url)}.positions', ${begin})`);
  const open = () => openPostgresStore(url, { warn: () => undefined });
  const writers = await Promise.all([open(), open()]);
  const readers = await Promise.all([open(), open(), open()]);
  const left = new AbortController();
  const followed = readers.map(() => [] as StoredEnvelope[]);
  const following = readers.map(async (store, n) => {
    for await (const event of store.subscribe({ signal: left.signal })) followed[n]?.push(event);
  });
  try {
    await Promise.all([
      ...writers.flatMap((store, s) =>
        Array.from({ length: writersOfStore }, (_, n) =>
          write(world, store, {
            random: createRandom(seed * 997 + s * 31 + n),
            own: streams[s * writersOfStore + n] ?? "",
          }),
        ),
      ),
      ...Array.from({ length: nappers }, (_, n) => nap(world, writers[0], createRandom(seed * 613 + n))),
      trouble(world, createRandom(seed), stops),
    ]);
    const [reader] = readers;
    const log = await all(reader.readLog());
    await expect
      .poll(() => followed.map(({ length }) => length), { interval: 10, timeout: 30_000 })
      .toEqual(readers.map(() => log.length));
    checkLog(world, log);
    for (const seen of followed) expect(seen, `seed ${seed}`).toEqual(log);
  } finally {
    left.abort();
    await Promise.all(following);
    for (const store of [...writers, ...readers]) await store.close();
  }
  return count;
}

/** Every acknowledged event is there once, in the order of positions, and every stream is a whole chain. */
function checkLog({ acknowledged, perhaps }: World, log: readonly StoredEnvelope[]): void {
  const ids = new Set(log.map(({ id }) => id));
  expect(ids.size).toBe(log.length);
  expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
  expect([...ids].filter((id) => !acknowledged.has(id) && !perhaps.has(id))).toEqual([]);
  const heads = new Map<string, Head>();
  let last = "0";
  for (const event of log) {
    expect(comparePositions(last, event.position)).toBeLessThan(0);
    last = event.position;
    const head = heads.get(event.stream) ?? null;
    expect(event.revision).toBe((head?.revision ?? -1) + 1);
    const checked = checkEnvelope(head, event);
    if (!checked.ok) throw new Error(`event ${event.revision} of ${event.stream} does not follow`);
    heads.set(event.stream, checked.value);
  }
}

type Writing = { readonly random: Random; readonly own: string };

/** Appends mostly to a stream of its own, and repeats an append with an unknown outcome until the outcome is known. */
async function write(world: World, store: EventStore, { random, own }: Writing): Promise<void> {
  const headByStream = new Map<string, Head | null>();
  while (!world.isDone()) {
    const stream = random.chance(0.75) ? own : random.pick(world.streams);
    const expected = headByStream.get(stream) ?? null;
    const sent = prepared({ stream, expected, count: 1 + random.below(4) });
    const result = await untilKnown(world, store, sent);
    if (result.status === "conflict") {
      world.count.conflicts += 1;
      headByStream.set(stream, result.actual);
      continue;
    }
    world.count.appends += 1;
    headByStream.set(stream, headAfter(sent));
    for (const { id } of sent.envelopes) world.acknowledged.add(id);
  }
}

async function untilKnown({ count }: World, store: EventStore, sent: PreparedAppend) {
  for (;;) {
    try {
      return await store.append(sent);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      count.unknown += 1;
    }
  }
}

/** Holds positions for a while before it commits, rolls back or dies. */
async function nap(world: World, store: EventStore, random: Random): Promise<void> {
  const { count, url } = world;
  const place = { schema: schemaOf(url), storeId: store.storeId, seen: "0" };
  while (!world.isDone()) {
    const client = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
    client.on("error", () => undefined);
    const stream = random.pick(world.streams);
    const sent = prepared({ stream, expected: await store.head(stream).catch(() => null), count: 1 + random.below(3) });
    const end = random.pick(["commit", "commit", "rollback", "die"] as const);
    try {
      await client.connect();
      await client.query("BEGIN");
      const { rows } = await client.query<{ readonly positions: string }>({ ...appendCall([sent], place) });
      await client.query(`SELECT pg_sleep(${random.below(40) / 1000})`);
      if (end === "die") await client.query("SELECT pg_terminate_backend(pg_backend_pid())");
      for (const { id } of sent.envelopes) if (end === "commit") world.perhaps.add(id);
      await client.query(end === "commit" ? "COMMIT" : "ROLLBACK");
      if (end === "rollback") count.rolledBack += 1;
      else if (rows[0]?.positions !== "") for (const { id } of sent.envelopes) world.acknowledged.add(id);
    } catch {
      if (end === "die") count.died += 1;
      // The server is away.
      await sleep(5);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** A trigger that fails as a full disk does, while a row says so. */
async function makeDiskFillable(url: string): Promise<void> {
  const schema = schemaOf(url);
  await sql(
    url,
    `CREATE TABLE ${schema}.disk (is_full boolean NOT NULL);
     INSERT INTO ${schema}.disk VALUES (false);
     CREATE FUNCTION ${schema}.fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF (SELECT is_full FROM ${schema}.disk) THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END IF;
       RETURN NEW;
     END $$;
     CREATE TRIGGER fill AFTER INSERT ON ${schema}.events FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.fill()`,
  );
}

type Trouble = "stop" | "end" | "full" | "lock";

/** Makes trouble of some kind after each few appends. */
async function trouble(world: World, random: Random, stops: number): Promise<void> {
  const { server, url, count, isDone } = world;
  const schema = schemaOf(url);
  const first: Trouble[] = ["stop", "end", "full", "lock"];
  for (let next = 20; !isDone(); ) {
    await sleep(5);
    if (count.appends < next) continue;
    next = count.appends + 10 + random.below(40);
    const kind = first.shift() ?? random.pick<Trouble>(["end", "end", "full", "lock", "stop"]);
    if (kind === "stop" && count.stops < stops) {
      await server.kill();
      await server.start();
      count.stops += 1;
    } else if (kind === "full") {
      await sql(url, `UPDATE ${schema}.disk SET is_full = true`);
      await sleep(20 + random.below(60));
      await sql(url, `UPDATE ${schema}.disk SET is_full = false`);
      count.full += 1;
    } else if (kind === "lock") {
      const seconds = random.below(100) / 1000;
      await sql(url, `BEGIN; LOCK TABLE ${schema}.streams IN EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`);
      count.locked += 1;
    } else {
      await sql(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnlog' ORDER BY random() LIMIT 2`,
      );
      count.terminated += 1;
    }
  }
}
