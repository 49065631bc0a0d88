import { expect } from "vitest";
import type { EventStore, Head, PreparedAppend } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { openEventStoreDb } from "../../../src/stores/eventstoredb/store.ts";
import { all, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import { createRandom, type Random } from "../coherence/random.ts";
import {
  anEvent,
  type EventStoreDbCluster,
  type EventStoreDbServer,
  startEventStoreDbCluster,
} from "../eventstoredb/server.ts";
import { drawUnkindness } from "../eventstoredb/unkindness.ts";
import { withSetting } from "../stores/eventstoredb-opened.ts";

const settings =
  "defaultDeadline=6000&turnlogCommitTimeout=200&turnlogReadTimeout=400&discoveryInterval=10&maxDiscoverAttempts=5";
const streams = Array.from({ length: 6 }, (_, n) => `conversation-cnv_${n}`);

/** How often an append is repeated whose outcome is not known; one that takes more counts as stalled. */
const maxTries = 10;

export type Played = { readonly appends: number; readonly troubles: number };

/**
 * Four writers, two on a connection each, and a follower, at a cluster that is as unkind as drawn and has trouble while they
 * write: whatever happens, all that was acknowledged is there once, in order, and nothing else; and each append ends.
 */
export async function playRandomly(seed: number, appends: number): Promise<Played> {
  const random = createRandom(seed);
  const unkindness = drawUnkindness(random);
  const cluster = await startEventStoreDbCluster({ nodes: 3, unkindness, writeTimeoutMs: 120 });
  const stores = await Promise.all(
    ["one", "two"].map((name) =>
      openEventStoreDb(withSetting(cluster.connectionString, `${settings}&connectionName=${name}`), {
        ...{ viewsPath: ":memory:", warn: () => undefined },
      }),
    ),
  );
  const [first] = stores;
  if (first === undefined) throw new Error("two stores were opened");
  const seen: string[] = [];
  const left = new AbortController();
  const following = follow(first, seen, left.signal);
  const trouble = createTrouble(cluster, random);
  try {
    const writers = [...stores, ...stores].map((store, n) =>
      writeAll(store, { appends: appends / 4, random: createRandom(seed * 31 + n), onAppended: trouble.perhaps }),
    );
    const written = await Promise.all(writers);
    await trouble.settled();
    for (const [n, store] of stores.entries()) await expectOwn(store, [written[n], written[n + 2]].flat());
    await expectAll(first, cluster, written.flat());
    const ids = cluster.nodes[0]?.events().flatMap(({ stream, id }) => (streams.includes(stream) ? [id] : []));
    await expect.poll(() => seen.length, { interval: 10, timeout: 20_000 }).toBeGreaterThanOrEqual(ids?.length ?? 0);
    expect(seen, `seed ${seed}`).toEqual(ids);
  } finally {
    left.abort();
    await following;
    for (const store of stores) await store.close();
    await cluster.stop();
  }
  return { appends, troubles: trouble.count() };
}

async function follow(store: EventStore, seen: string[], signal: AbortSignal): Promise<void> {
  for await (const event of store.subscribe({ streamPrefix: "conversation-", signal })) seen.push(event.id);
}

type Writing = { readonly appends: number; readonly random: Random; readonly onAppended: () => void };

/** Lines `stream revision id` of all that was acknowledged. */
async function writeAll(store: EventStore, { appends, random, onAppended }: Writing): Promise<readonly string[]> {
  const headByStream = new Map<string, Head | null>();
  const lines: string[] = [];
  for (let appended = 0; appended < appends; ) {
    const stream = random.pick(streams);
    const sent = prepared({ stream, expected: headByStream.get(stream) ?? null, count: 1 + random.below(3) });
    const result = await appendUntilKnown(store, sent);
    if (result.status === "conflict") {
      expect(result.actual).not.toEqual(sent.expectedHead);
      headByStream.set(stream, result.actual);
      continue;
    }
    appended += 1;
    headByStream.set(stream, headAfter(sent));
    for (const { revision, id } of sent.envelopes) lines.push(`${stream} ${revision} ${id}`);
    onAppended();
  }
  return lines;
}

async function appendUntilKnown(store: EventStore, sent: PreparedAppend) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await store.append(sent);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === maxTries) throw error;
    }
  }
}

/** What a store was told is stored, it reads at once; what was told to another may be readable some milliseconds later. */
async function expectOwn(store: EventStore, acknowledged: readonly (string | undefined)[]): Promise<void> {
  const read = await all(store.readLog({ streamPrefix: "conversation-" }));
  const lines = new Set(read.map(({ stream, revision, id }) => `${stream} ${revision} ${id}`));
  expect(acknowledged.filter((line) => line === undefined || !lines.has(line))).toEqual([]);
}

async function expectAll(
  store: EventStore,
  cluster: EventStoreDbCluster,
  acknowledged: readonly string[],
): Promise<void> {
  const stored = cluster.nodes[0]?.events().filter(({ stream }) => streams.includes(stream)) ?? [];
  const lines = stored.map(({ stream, revision, id }) => `${stream} ${revision} ${id}`);
  expect(lines.toSorted()).toEqual([...acknowledged].sort());
  const readIds = async () => (await all(store.readLog({ streamPrefix: "conversation-" }))).map(({ id }) => id);
  await expect.poll(readIds, { interval: 5, timeout: 20_000 }).toEqual(stored.map(({ id }) => id));
  for (const stream of streams) {
    const read = (await all(store.readStream(stream))).map(({ id }) => id);
    expect(read).toEqual(stored.filter((event) => event.stream === stream).map(({ id }) => id));
  }
}

/** Things that happen to a cluster, one after another, each with its end. */
function createTrouble(cluster: EventStoreDbCluster, { below, pick, chance }: Random) {
  let last: Promise<void> = Promise.resolve();
  let count = 0;

  const another = (): EventStoreDbServer => pick(cluster.nodes.filter((node) => node !== cluster.leader));
  const turns = async (): Promise<void> => {
    for (let turn = below(200); turn > 0; turn -= 1) await new Promise(setImmediate);
  };
  const faults = [
    { on: "append", when: "after", outcome: "timeout" },
    { on: "append", when: "before", outcome: "timeout" },
    { on: "append", when: "after", outcome: "reset" },
    { on: "append", when: "before", outcome: "silence" },
    { on: "read", outcome: "reset" },
    { on: "read", outcome: "silence" },
    { on: "subscribe", outcome: "reset" },
  ] as const;

  async function happen(leader: EventStoreDbServer): Promise<void> {
    switch (below(7)) {
      case 0:
        cluster.elect(another());
        return;
      case 1:
        cluster.cutOff(leader);
        await turns();
        cluster.elect(another());
        await turns();
        cluster.resign(leader);
        await turns();
        cluster.rejoin(leader);
        return;
      case 2:
        await leader.kill();
        await turns();
        cluster.elect(another());
        await leader.restart();
        return;
      case 3:
        leader.holdReplication();
        await turns();
        if (chance(0.5)) cluster.elect(another());
        else leader.replicate();
        return;
      case 4:
        leader.freeze();
        await turns();
        leader.thaw();
        return;
      case 5:
        leader.write(
          "order-1",
          Array.from({ length: 20 + below(100) }, () => anEvent("Ordered")),
        );
        return;
      default:
        leader.inject(pick(faults));
    }
  }

  return {
    count: () => count,
    perhaps: (): void => {
      if (!chance(0.06)) return;
      count += 1;
      last = last.then(async () => {
        const { leader } = cluster;
        if (leader !== null) await happen(leader);
      });
    },
    settled: () => last,
  };
}
