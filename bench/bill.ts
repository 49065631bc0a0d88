import { join } from "node:path";
import { billing, caching } from "../src/analysis/costs/rows/rows.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import type { EventStore } from "../src/log/ports/event-store.ts";
import { createRowProjector } from "../src/log/read-models/row-projector.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { inFolder } from "./sample.ts";

const conversations = 10_000;
const rounds = 7;
const writers = 200;

/**
 * How much longer a bill of 10,000 conversations takes than a page of their list, rows caught up, in wall time; and the size of a row
 * after a few exchanges on several days.
 */
export function benchBill(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const rows: BenchRow[] = [];
    for (const [kind, open] of Object.entries({
      memory: async (): Promise<EventStore> => createMemoryStore(),
      SQLite: (): Promise<EventStore> => openSqliteStore(join(folder, "bill.db")),
    })) {
      await using store = await filled(await open());
      const beyond: number[] = [];
      let slowest = 0;
      for (let round = 0; round < rounds; round += 1) {
        const listed = await wallMs(() => store.list());
        const billed = await wallMs(() => store.bill());
        beyond.push((billed - listed) / 1_000);
        slowest = Math.max(slowest, billed);
      }
      rows.push(await cacheRow(store, kind));
      rows.push({
        name: `bill of ${conversations} conversations beyond a page of ls, ${kind}`,
        ...summary(beyond),
        ...{ unit: "s", bound: 1, kind: "at most", note: `${slowest.toFixed(0)} ms a bill at most` },
      });
      if (kind !== "memory") continue;
      rows.push(await rowSize(store, billing, "a bill"), await rowSize(store, caching, "caches"));
    }
    return rows;
  });
}

/** Two exchanges in each, on days of their own, with two models. */
async function filled(events: EventStore): Promise<TurnlogStore> {
  let now = Date.UTC(2026, 2, 1);
  const store = new TurnlogStore(events, { clock: () => now });
  for (let day = 0; day < 2; day += 1) {
    now = Date.UTC(2026, 2, 1 + day);
    const settings = { model: day === 1 ? "model-b" : "model-a", instructions: "Be brief." };
    const engine = createEngine({ provider: scripted(() => "Hello.", { settings }), clock: () => now });
    for (let first = 0; first < conversations; first += writers)
      await Promise.all(
        Array.from({ length: writers }, async (_, n) => {
          const conversation = store.conversation(`cnv_${first + n}`);
          if (day === 0) await conversation.relabel({ title: "Trip", labels: { user: `user-${n % 20}` } });
          await conversation.append("Hello");
          await conversation.run(engine, { again: true });
        }),
      );
  }
  await store.list();
  await store.bill();
  await store.cache();
  return store;
}

/** The same for what prompt caches saved. */
async function cacheRow(store: TurnlogStore, kind: string): Promise<BenchRow> {
  const beyond: number[] = [];
  let slowest = 0;
  for (let round = 0; round < rounds; round += 1) {
    const listed = await wallMs(() => store.list());
    const looked = await wallMs(() => store.cache());
    beyond.push((looked - listed) / 1_000);
    slowest = Math.max(slowest, looked);
  }
  return {
    name: `caches of ${conversations} conversations beyond a page of ls, ${kind}`,
    ...summary(beyond),
    ...{ unit: "s", bound: 1, kind: "at most", note: `${slowest.toFixed(0)} ms at most` },
  };
}

async function rowSize({ events }: TurnlogStore, projection: typeof billing, of: string): Promise<BenchRow> {
  let [bytes, count] = [0, 0];
  for await (const { view } of createRowProjector(events, projection).readAll()) {
    bytes += Buffer.byteLength(JSON.stringify(view));
    count += 1;
  }
  const name = `row of ${of}, on average: a conversation on two days, with two models`;
  return { name, value: bytes / count / 1_024, unit: "KiB", bound: 4, kind: "at most" };
}

async function wallMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

if (import.meta.main) process.exitCode = report(await benchBill()) ? 0 : 1;
