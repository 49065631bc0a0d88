import { join } from "node:path";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import type { EventStore } from "../src/log/ports/event-store.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { inFolder } from "./sample.ts";

const [few, many] = [1_000, 100_000] as const;
const rounds = 15;
const pagesARound = 20;

/** The pages to read, of 20 each. 1,000 conversations and 100,000 have enough of every kind for a page. */
const pages = {
  "the newest": {},
  "those of a user": { labels: { user: "user-7" } },
  "those of a user in a team": { labels: { user: "user-7", team: "team-1" } },
  "those since a time, the first started first": { since: new Date(0), sort: "startedAt", order: "ascending" },
} as const;

/** How much longer a page takes among 100,000 conversations than among 1,000, in processor time, in alternating rounds. */
export function benchList(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const rows: BenchRow[] = [];
    for (const [kind, open] of Object.entries({
      memory: async () => createMemoryStore(),
      SQLite: (count: number) => openSqliteStore(join(folder, `list-${count}.db`)),
    })) {
      await using small = await filled(await open(few), few);
      await using large = await filled(await open(many), many);
      for (const [name, asked] of Object.entries(pages)) {
        const ratios: number[] = [];
        let slowest = 0;
        for (let round = 0; round < rounds; round += 1) {
          const least = await cpuMs(() => small.list(asked));
          const most = await cpuMs(() => large.list(asked));
          ratios.push(most / least);
          slowest = Math.max(slowest, most);
        }
        rows.push({
          name: `list of ${name}, a page of 20: ${many} conversations against ${few}, ${kind}`,
          ...summary(ratios),
          ...{ unit: "x", bound: 2, kind: "at most", note: `${slowest.toFixed(2)} ms a page at most` },
        });
      }
    }
    return rows;
  });
}

async function filled(events: EventStore, count: number): Promise<TurnlogStore> {
  const store = new TurnlogStore(events);
  const writers = 200;
  for (let first = 0; first < count; first += writers) {
    const numbers = Array.from({ length: Math.min(writers, count - first) }, (_, n) => first + n);
    await Promise.all(
      numbers.map((number) =>
        store
          .conversation(`cnv_${number}`)
          .relabel({ title: `Trip ${number}`, labels: { user: `user-${number % 20}`, team: `team-${number % 2}` } }),
      ),
    );
  }
  await store.list();
  return store;
}

/** Processor time of one page, in milliseconds. */
async function cpuMs(list: () => Promise<unknown>): Promise<number> {
  const from = process.cpuUsage();
  for (let page = 0; page < pagesARound; page += 1) await list();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000 / pagesARound;
}

if (import.meta.main) process.exitCode = report(await benchList()) ? 0 : 1;
