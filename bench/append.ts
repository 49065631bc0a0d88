import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256Hex } from "../src/base/sha256.ts";
import { envelopeBytes } from "../src/log/codec/bounds.ts";
import { chainDigest, firstPrevious } from "../src/log/codec/envelope.ts";
import { createEventLog, type EventLog } from "../src/log/codec/event-log.ts";
import { createEventIds } from "../src/log/codec/ids.ts";
import type { NewEvent } from "../src/log/codec/prepare.ts";
import type { Envelope, Head } from "../src/log/ports/event-store.ts";
import { openDatabase } from "../src/stores/sqlite/open.ts";
import { eventParameters, insertEvent } from "../src/stores/sqlite/rows.ts";
import { openSqliteStore, type SqliteStore } from "../src/stores/sqlite/store.ts";
import { type BenchRow, report, summary } from "./row.ts";

/**
 * What durable appends cost, preparation included, against a plain file that gets the same bytes and an fdatasync; what
 * SQLite alone takes of that; what concurrent writers gain; what the file takes. The variants take turns in one process,
 * each round is long enough to hold a checkpoint, and the figure is the median of the rounds' ratios.
 */
export async function benchAppend(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-bench-"));
  try {
    const rows: BenchRow[] = [];
    for (const options of batches) rows.push(...(await benchBatch(join(folder, `batch-${options.batch}`), options)));
    rows.push(await benchWriters(join(folder, "writers.db")), await benchSize(join(folder, "size.db")));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const rounds = 15;
const batches = [
  { batch: 1, appends: 300, bound: 0.9, ofAlone: 0.85 },
  { batch: 10, appends: 120, bound: 0.8, ofAlone: 0.7 },
  { batch: 100, appends: 30, bound: 0.5, ofAlone: 0.6 },
] as const;

async function benchBatch(
  path: string,
  { batch, appends, bound, ofAlone }: (typeof batches)[number],
): Promise<readonly BenchRow[]> {
  await using store = await openSqliteStore(`${path}.db`);
  const log = createLog(store);
  using alone = openAlone(`${path}-alone.db`);
  using sealing = openAlone(`${path}-sealing.db`);
  const file = openSync(`${path}.jsonl`, "a");
  const ratios: Record<"store" | "alone" | "ofAlone" | "sealing", number[]> = {
    ...{ store: [], alone: [], ofAlone: [], sealing: [] },
  };
  const times: Record<"file" | "store" | "alone", number[]> = { file: [], store: [], alone: [] };
  for (let round = -2; round < rounds; round += 1) {
    const events = newEvents(batch * appends);
    const stream = `conversation-${round}`;
    const storeMs = await timeOf(() => appendAll(log, stream, events, batch));
    const envelopes = await envelopesOf(store, stream);
    const chunks = linesOf(envelopes, batch);
    const fileMs = await timeOf(() => {
      for (const chunk of chunks) {
        writeSync(file, chunk);
        fdatasyncSync(file);
      }
    });
    const aloneMs = await timeOf(alone.prepare(envelopes, { batch }));
    const sealingMs = await timeOf(sealing.prepare(envelopes, { batch, seal: sealed(events) }));
    // The first rounds warm up.
    if (round < 0) continue;
    ratios.store.push(fileMs / storeMs);
    ratios.alone.push(fileMs / aloneMs);
    ratios.ofAlone.push(aloneMs / storeMs);
    ratios.sealing.push(aloneMs / sealingMs);
    times.file.push(fileMs / appends);
    times.store.push(storeMs / appends);
    times.alone.push(aloneMs / appends);
  }
  closeSync(file);
  const ms = (name: keyof typeof times): string => `${summary(times[name]).value.toFixed(3)} ms`;
  const against = "against write and fdatasync of the same bytes";
  const common = { unit: "x", bound, kind: "at least" } as const;
  return [
    {
      name: `durable append of ${batch}, ${against}`,
      ...{ ...summary(ratios.store), ...common, note: `${ms("file")} the file, ${ms("store")} the store, an append` },
    },
    {
      name: `SQLite alone, without preparation: a durable append of ${batch}, ${against}`,
      ...{
        ...summary(ratios.alone),
        ...common,
        note: `${ms("alone")} an append: what the store cannot be faster than`,
      },
    },
    {
      name: `durable append of ${batch}, against SQLite alone`,
      ...{ ...summary(ratios.ofAlone), ...common, bound: ofAlone, note: "JSON, hashes and group commit are the rest" },
    },
    {
      name: `SQLite, JSON and hashes: a durable append of ${batch}, against SQLite alone`,
      ...{
        ...summary(ratios.sealing),
        ...common,
        bound: ofAlone,
        note: "what no log of this format can be faster than",
      },
    },
  ];
}

/** Makes what the log's format asks of an event, by its place in the stream: the text of its data, and both digests. */
const sealed =
  (events: readonly NewEvent[]) =>
  (envelope: Envelope, previous: string, index: number): string => {
    const dataDigest = sha256Hex(JSON.stringify(events[index]?.event.data));
    return chainDigest(previous, { ...envelope, dataDigest });
  };

/** A database like a store's, and nothing above it: rows are made before it counts, and sealed while it does where that is asked for. */
function openAlone(path: string) {
  const { database } = openDatabase(path, {});
  const insert = database.prepare(insertEvent);
  const insertStream = database.prepare(
    "INSERT INTO streams (name, revision, digest) VALUES (?, -1, '') RETURNING number",
  );
  const moveHead = database.prepare("UPDATE streams SET revision = ?, digest = ? WHERE number = ?");
  return {
    prepare(
      envelopes: readonly Envelope[],
      { batch, seal }: { readonly batch: number; readonly seal?: ReturnType<typeof sealed> },
    ): () => void {
      const number = Number(insertStream.get(envelopes[0]?.stream ?? "")?.["number"]);
      const rows = envelopes.map((envelope) => ({ envelope, parameters: eventParameters(number, envelope) }));
      return () => {
        let previous = firstPrevious(envelopes[0]?.stream ?? "");
        for (let start = 0; start < rows.length; start += batch) {
          const part = rows.slice(start, start + batch);
          if (seal !== undefined)
            for (const [at, { envelope }] of part.entries()) previous = seal(envelope, previous, start + at);
          const last = part.at(-1)?.envelope;
          database.exec("BEGIN IMMEDIATE");
          moveHead.run(last?.revision ?? 0, last?.digest ?? "", number);
          for (const { parameters } of part) insert.run(...parameters);
          database.exec("COMMIT");
        }
      };
    },
    [Symbol.dispose]() {
      database.close();
    },
  };
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

async function envelopesOf(store: SqliteStore, stream: string): Promise<readonly Envelope[]> {
  const envelopes: Envelope[] = [];
  for await (const { position: _, ...envelope } of store.readStream(stream)) envelopes.push(envelope);
  return envelopes;
}

/** Envelopes as lines of JSON, a text for each batch. */
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

/** Events as conversations have them: most short, a few long, 2.4 KB on average. */
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

// A generator of its own, so that every run has the same sizes (Park and Miller).
let seed = 42;
function random(): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
}

if (import.meta.main) process.exitCode = report(await benchAppend()) ? 0 : 1;
