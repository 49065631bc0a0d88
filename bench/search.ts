import { join } from "node:path";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { secondsOf } from "./command-time.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { inFolder, textOf } from "./sample.ts";

const conversations = 10_000;
const blocks = 20;
const blockBytes = 300;
const rounds = 7;

/** The texts to search for, from none to all of the conversations; a part of a word, and a language without spaces. */
const searches = ["zeppelin", "needle-4711", "今天 天气", "AT136", "fare dollars", "7"] as const;

/**
 * The time of a search over the texts of 10,000 conversations, in seconds: by a program with an open index, and by the command, in
 * processor time from its start to its end.
 */
export function benchSearch(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const path = join(folder, "search.db");
    await using store = new TurnlogStore(await openSqliteStore(path));
    await fill(store);
    const begun = performance.now();
    await store.search("nothing yet");
    await store.list();
    const note = `${conversations * blocks} texts of ${blockBytes} bytes, indexed in ${seconds(begun).toFixed(1)} s`;
    const about = { unit: "s", bound: 1, kind: "at most", note } as const;
    const rows: BenchRow[] = [];
    for (const text of searches) {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const from = performance.now();
        await store.search(text);
        times.push(seconds(from));
      }
      rows.push({ name: `search for ${text} over ${conversations} conversations`, ...summary(times), ...about });
    }
    const typed = searches.map((text) => secondsOf(path, ["-q", "search", text]));
    const slowest = Math.max(...typed);
    return [
      ...rows,
      {
        name: "the slowest of them as turnlog search, processor time of the process and all",
        value: slowest,
        ...about,
      },
    ];
  });
}

const seconds = (from: number): number => (performance.now() - from) / 1_000;

async function fill(store: TurnlogStore): Promise<void> {
  const writers = 100;
  for (let first = 0; first < conversations; first += writers) {
    const numbers = Array.from({ length: writers }, (_, n) => first + n);
    await Promise.all(
      numbers.map(async (number) => {
        const texts = Array.from({ length: blocks - 1 }, (_, n) => textOf(blockBytes, number * blocks + n));
        const last = number % 100 === 0 ? "今天北京的天气很好" : `needle-${number}`;
        await store.conversation(`cnv_${number}`).append([...texts, last]);
      }),
    );
  }
}

if (import.meta.main) process.exitCode = report(await benchSearch()) ? 0 : 1;
