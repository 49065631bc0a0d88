import { EventStoreDBClient, jsonEvent } from "@eventstore/db-client";
import { isJsonObject } from "../src/base/json.ts";
import { headOf } from "../src/log/codec/idempotent-append.ts";
import { createEventIds } from "../src/log/codec/ids.ts";
import { prepareAppend } from "../src/log/codec/prepare.ts";
import type { Head, PreparedAppend } from "../src/log/ports/event-store.ts";
import { serverEventOf } from "../src/stores/eventstoredb/envelope.ts";
import type { EventStoreDbStore } from "../src/stores/eventstoredb/open.ts";
import { openEventStoreDb } from "../src/stores/eventstoredb/store.ts";
import { startServerProcess } from "../test/support/eventstoredb/started-server.ts";
import { ratioOf, takeTurns, warmUpRounds } from "./rounds.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { textOf } from "./sample.ts";

/**
 * The cost of the store over the bare client, with the same bytes on the same server. The server is a separate process, and the
 * wait for it is the same for both, so the figure is this process's own time. Preparing an append does not count, because the
 * client has no equivalent.
 */
export async function benchEventStoreDb(): Promise<readonly BenchRow[]> {
  await using server = await startServerProcess();
  await using store = await openEventStoreDb(server.url, { viewsPath: ":memory:" });
  const client = EventStoreDBClient.connectionString(server.url);
  try {
    const rows: BenchRow[] = [];
    for (const { batch, appends } of batches) rows.push(await benchAppends(store, client, { batch, appends }));
    rows.push(await benchReads(store, client));
    return rows;
  } finally {
    await client.dispose();
  }
}

const rounds = 12;
const bound = 1.3;
const batches = [
  { batch: 1, appends: 400 },
  { batch: 10, appends: 80 },
] as const;

type Batches = { readonly batch: number; readonly appends: number };
type Walls = { readonly client: number[]; readonly store: number[] };

async function benchAppends(store: EventStoreDbStore, client: EventStoreDBClient, options: Batches): Promise<BenchRow> {
  const { batch, appends } = options;
  const walls: Walls = { client: [], store: [] };
  // Created before the clock runs: a stream for every round of each, warm-up included.
  const streams = Array.from({ length: (rounds + warmUpRounds) * 2 }, () => streamOf(options));
  const times = await takeTurns(rounds, {
    client: () =>
      timed(walls.client, async () => {
        for (const { stream, expectedRevision, events } of next(streams).bare)
          await client.appendToStream(stream, events, { expectedRevision });
      }),
    store: () =>
      timed(walls.store, async () => {
        for (const prepared of next(streams).prepared) await store.append(prepared);
      }),
  });
  const [clientMs, storeMs] = [summary(walls.client).value / appends, summary(walls.store).value / appends];
  const note = `${clientMs.toFixed(2)} ms the client, ${storeMs.toFixed(2)} ms the store, an append with its wait`;
  const name = `eventstoredb append of ${batch}, against the bare client`;
  return { name, ...ratioOf(times.store, times.client), unit: "x", bound, kind: "at most", note };
}

async function benchReads(store: EventStoreDbStore, client: EventStoreDBClient): Promise<BenchRow> {
  const length = 4_000;
  const { name: stream, prepared } = streamOf({ batch: 100, appends: length / 100 });
  for (const each of prepared) await store.append(each);
  const walls: Walls = { client: [], store: [] };
  const times = await takeTurns(rounds, {
    client: () => timed(walls.client, () => expectCount(client.readStream(stream), length)),
    store: () => timed(walls.store, () => expectCount(store.readStream(stream), length)),
  });
  const rate = (ms: readonly number[]): string => (length / summary(ms).value).toFixed(1);
  const note = `${rate(walls.client)} events a ms the client, ${rate(walls.store)} the store`;
  const name = "eventstoredb read of a stream, against the bare client";
  return { name, ...ratioOf(times.store, times.client), unit: "x", bound, kind: "at most", note };
}

/** The next stream to write; throws if there is none, because a round without one would cost nothing. */
function next<T>(streams: T[]): T {
  const stream = streams.pop();
  if (stream === undefined) throw new Error("there are fewer streams than rounds");
  return stream;
}

/** Adds a wall time, in milliseconds. */
async function timed(walls: number[], work: () => Promise<void>): Promise<void> {
  const start = performance.now();
  await work();
  walls.push(performance.now() - start);
}

async function expectCount(events: AsyncIterable<unknown>, length: number): Promise<void> {
  let count = 0;
  for await (const _ of events) count += 1;
  if (count !== length) throw new Error(`${count} events were read, not ${length}`);
}

const newEventId = createEventIds();
let streams = 0;

/** A stream to write: in the store's form, and in that of the bare client. */
function streamOf({ batch, appends }: Batches) {
  streams += 1;
  const name = `conversation-cnv_bench_${streams}`;
  const prepared: PreparedAppend[] = [];
  let head: Head | null = null;
  for (let n = 0; n < appends; n += 1) {
    const events = Array.from({ length: batch }, (_, index) => ({
      event: {
        type: "BlockAppended",
        version: 1,
        data: { block: { kind: "user", payload: { content: textOf(2_400, n * batch + index) } } },
      },
      actor: { kind: "user" } as const,
    }));
    const made = prepareAppend({ stream: name, head, lastAt: null, events, clock: Date.now, newEventId });
    prepared.push(...made.appends);
    head = headOf(made.appends.at(-1)?.envelopes ?? []);
  }
  return { name, prepared, bare: prepared.map(bareAppend) };
}

function bareAppend({ stream, expectedHead: expected, envelopes }: PreparedAppend) {
  const events = envelopes.map((envelope) => {
    const { id, type, metadata } = serverEventOf(envelope);
    return jsonEvent({ id, type, data: parsed(envelope.data), metadata: parsed(Buffer.from(metadata).toString()) });
  });
  return { stream, events, expectedRevision: expected === null ? ("no_stream" as const) : BigInt(expected.revision) };
}

function parsed(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new Error("an event's data is an object");
  return { ...value };
}

if (import.meta.main) process.exitCode = report(await benchEventStoreDb()) ? 0 : 1;
