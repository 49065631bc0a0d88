import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256Hex } from "../src/base/sha256.ts";
import { plainNames } from "../src/domain/block-names.ts";
import { envelopeBytes } from "../src/log/codec/bounds.ts";
import { createEventLog, type EventLog } from "../src/log/codec/event-log.ts";
import { createEventIds } from "../src/log/codec/ids.ts";
import { type NewEvent, prepareAppend } from "../src/log/codec/prepare.ts";
import type { Envelope, Head } from "../src/log/ports/event-store.ts";
import { openSqliteStore, type SqliteStore } from "../src/stores/sqlite/store.ts";
import { benchAppendSteps } from "./append-steps.ts";
import { openBesideSqlite } from "./beside-sqlite.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { type BenchRow, report, summary } from "./row.ts";

/**
 * The cost of durable appends, preparation included, compared with the work that the format itself needs (`sealing` of
 * `beside-sqlite.ts`). Figures without a bound compare them with SQLite alone, and with an fdatasync of the same bytes in a plain
 * file. Then the steps that an append takes beyond that work, the gain of concurrent writers, and the size of the file.
 */
export async function benchAppend(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-bench-"));
  try {
    const rows: BenchRow[] = [];
    for (const options of batches) rows.push(...(await benchBatch(join(folder, `batch-${options.batch}`), options)));
    rows.push(...(await benchAppendSteps(folder, newEvents)));
    rows.push(await benchWriters(join(folder, "writers.db")), await benchSize(join(folder, "size.db")));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// A multiple of the number of works, so that each of them goes first equally often.
const rounds = 20;
const batches = [
  { batch: 1, appends: 300 },
  { batch: 10, appends: 120 },
  { batch: 100, appends: 30 },
] as const;
const ofSealing = 0.85;

type Work = "store" | "sealing" | "alone" | "file";

/**
 * The works take turns in one process, and each goes first in a quarter of the rounds. A round is long enough to contain a
 * checkpoint. Garbage is collected before each work: V8 collects when the event loop turns, and only the store lets it turn, so the
 * store would pay for the garbage of the others. A figure is the median of the rounds' ratios.
 */
async function benchBatch(path: string, { batch, appends }: (typeof batches)[number]): Promise<readonly BenchRow[]> {
  await using store = await openSqliteStore(`${path}.db`);
  const log = createLog(store);
  using alone = openBesideSqlite(`${path}-alone.db`);
  using sealing = openBesideSqlite(`${path}-sealing.db`);
  const file = openSync(`${path}.jsonl`, "a");
  const times: Record<Work, number[]> = { store: [], sealing: [], alone: [], file: [] };
  for (let round = -4; round < rounds; round += 1) {
    const stream = `conversation-${round}`;
    const events = newEvents(batch * appends);
    const envelopes = preparedFor(stream, events);
    const chunks = linesOf(envelopes, batch);
    const works: Record<Work, () => unknown> = {
      store: () => appendAll(log, stream, events, batch),
      sealing: sealing.sealing({ stream, batch, events, envelopes }),
      alone: alone.alone({ stream, batch, envelopes }),
      file() {
        for (const chunk of chunks) {
          writeSync(file, chunk);
          fdatasyncSync(file);
        }
      },
    };
    for (const name of inTurn(["store", "sealing", "alone", "file"] as const, round)) {
      collectGarbage();
      const ms = await timeOf(works[name]);
      // The first rounds warm up.
      if (round >= 0) times[name].push(ms / appends);
    }
    if (sealing.rowsDigest(stream) !== alone.rowsDigest(stream)) throw new Error("two works wrote different rows");
  }
  closeSync(file);
  const against = (name: Work) => summary(times.store.map((ms, round) => (times[name][round] ?? Number.NaN) / ms));
  const note = (name: Work): string =>
    `${summary(times[name]).value.toFixed(3)} ms an append, ${summary(times.store).value.toFixed(3)} ms the store`;
  const append = `durable append of ${batch}, against`;
  return [
    {
      name: `${append} SQLite, JSON and hashes`,
      ...{ ...against("sealing"), unit: "x", bound: ofSealing, kind: "at least", note: note("sealing") },
    },
    { name: `${append} SQLite alone`, ...against("alone"), unit: "x", note: note("alone") },
    {
      name: `${append} write and fdatasync of the same bytes`,
      ...{ ...against("file"), unit: "x", note: note("file") },
    },
  ];
}

/** The names, starting with another one in each round. */
function inTurn<Name>(names: readonly Name[], round: number): readonly Name[] {
  const first = ((round % names.length) + names.length) % names.length;
  return [...names.slice(first), ...names.slice(0, first)];
}

/** Prepares the events of a new stream, as a log does. */
function preparedFor(stream: string, events: readonly NewEvent[]): readonly Envelope[] {
  const sources = { clock: Date.now, newEventId: createEventIds() };
  const { appends } = prepareAppend({
    stream,
    head: null,
    lastAt: null,
    events,
    lines: { names: plainNames },
    ...sources,
  });
  return appends.flatMap(({ envelopes }) => envelopes);
}

async function benchWriters(path: string): Promise<BenchRow> {
  await using store = await openSqliteStore(path);
  const log = createLog(store);
  const writers = 64;
  const appends = 64;
  const ratios: number[] = [];
  const rates: { readonly one: number[]; readonly many: number[] } = { one: [], many: [] };
  for (let round = -2; round < rounds; round += 1) {
    const events = newEvents(writers * appends);
    const few = events.slice(0, 300);
    const oneMs = await timeOf(() => appendAll(log, `conversation-one-${round}`, few, 1));
    const manyMs = await timeOf(() =>
      Promise.all(
        Array.from({ length: writers }, (_, writer) => {
          const own = events.slice(writer * appends, (writer + 1) * appends);
          return appendAll(log, `conversation-${writer}-${round}`, own, 1);
        }),
      ),
    );
    if (round < 0) continue;
    const [one, many] = [few.length / oneMs, events.length / manyMs];
    ratios.push(many / one);
    rates.one.push(one);
    rates.many.push(many);
  }
  const [one, many] = [summary(rates.one), summary(rates.many)];
  const note = `${many.value.toFixed(1)} against ${one.value.toFixed(1)} events a ms`;
  const name = `${writers} concurrent writers on as many streams, against one`;
  return { name, ...summary(ratios), unit: "x", bound: 4, kind: "at least", note };
}

async function benchSize(path: string): Promise<BenchRow> {
  const store = await openSqliteStore(path);
  const log = createLog(store);
  for (let conversation = 0; conversation < 50; conversation += 1) {
    await appendAll(log, `conversation-cnv_${conversation}`, newEvents(100), 2);
  }
  let bytes = 0;
  for await (const { position, ...envelope } of store.readLog()) if (position !== "") bytes += envelopeBytes(envelope);
  await store.close();
  const value = statSync(path).size / bytes;
  const note = `5000 events of ${Math.round(bytes / 5_000)} bytes as JSON`;
  return { name: "file size, against the envelopes as JSON", value, unit: "x", bound: 1.35, kind: "at most", note };
}

const createLog = (store: SqliteStore): EventLog =>
  createEventLog(store, { clock: Date.now, newEventId: createEventIds() });

async function appendAll(log: EventLog, stream: string, events: readonly NewEvent[], batch: number): Promise<void> {
  let head: Head | null = null;
  for (let start = 0; start < events.length; start += batch) {
    const result: Awaited<ReturnType<EventLog["append"]>> = await log.append(
      stream,
      head,
      events.slice(start, start + batch),
    );
    if (result.status === "conflict") throw new Error(`somebody else writes ${stream}`);
    head = result.head;
  }
}

/** Envelopes as lines of JSON, one text per batch. */
function linesOf(envelopes: readonly Envelope[], batch: number): readonly string[] {
  const lines = envelopes.map((envelope) => `${JSON.stringify(envelope)}\n`);
  return Array.from({ length: Math.ceil(lines.length / batch) }, (_, index) =>
    lines.slice(index * batch, (index + 1) * batch).join(""),
  );
}

async function timeOf(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Typical events of conversations: most short, a few long, 2.4 KB on average. */
function newEvents(count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index): NewEvent => {
    const length = Math.round(-1_800 * Math.log(random()));
    const content = [{ type: "text", text: sentences.slice(0, length) }];
    const id = `blk_${index.toString().padStart(21, "0")}`;
    const block = { id, kind: "user", digest: sha256Hex(id), payload: { role: "user", content } };
    const actor = {
      kind: "middleware",
      name: "shorten",
      version: "1.2.0",
      frame: "0.1",
      direction: "request",
    } as const;
    return {
      event: { type: "BlockAppended", version: 1, data: { block } },
      actor,
      runId: "run_0123456789abcdefghijk",
      frame: "0.1",
    };
  });
}

const sentences = 'The flight "HAT136" leaves at 09:15, and the fare is 128 dollars; shall I book it?\n'.repeat(300);

// Its own random generator, so that every run has the same sizes (Park and Miller).
let seed = 42;
function random(): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
}

if (import.meta.main) process.exitCode = report(await benchAppend()) ? 0 : 1;
