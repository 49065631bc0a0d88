import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { buildPage } from "../tools/build-page.ts";
import { type BenchRow, report } from "./row.ts";
import { inFolder } from "./sample.ts";
import { benchHandler, benchList } from "./studio-handler.ts";
import { benchListPage, benchStudioPage } from "./studio-page.ts";
import { fillList } from "./studio-stores.ts";

/** Events of the conversations, about. */
const sizes = [12_000, 50_000] as const;

/** What the studio's page weighs, and how fast its handler and the page are on long conversations and on a long list. */
export function benchStudio(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await buildPage();
    const rows: BenchRow[] = [...weights()];
    for (const events of sizes) {
      const path = join(folder, `${events}.db`);
      // By another process: what the runs of the sample leave in memory would be marked in every collection, and count as the handler's time.
      const child = join(import.meta.dirname, "studio-fill-process.ts");
      const id = execFileSync(process.execPath, [child, path, String(events)], { encoding: "utf8" });
      await using store = new TurnlogStore(await openSqliteStore(path, { mustExist: true }));
      rows.push(...(await benchHandler(store, id)), ...(await benchStudioPage(store, { id, events })));
    }
    await using store = new TurnlogStore(await openSqliteStore(join(folder, "list.db")));
    rows.push(...(await benchList(store, await fillList(store))), ...(await benchListPage(store)));
    return rows;
  });
}

const built = join(import.meta.dirname, "../dist/studio");
const zipped = (file: string): number => gzipSync(readFileSync(join(built, file)), { level: 9 }).length / 1_000;

/** Sizes as a browser loads them. */
function weights(): readonly BenchRow[] {
  const first = ["index.html", "page.js", "page.css"].reduce((sum, file) => sum + zipped(file), 0);
  const raw = readFileSync(join(built, "offline-core.js")).length / 1_000;
  const later = readdirSync(built).filter((file) => file.endsWith(".js") && !/^(page|offline.*)\.js$/.test(file));
  const most = Math.max(...later.map(zipped));
  return [
    { name: "studio: first load, gzip", value: first, unit: "kB", bound: 60, kind: "at most" },
    {
      name: "studio: handler for a page without a server, gzip",
      ...{ value: zipped("offline-core.js"), unit: "kB", bound: 120, kind: "at most" },
      note: `loaded by need: ${later.length} files of ${most.toFixed(1)} kB at most`,
    },
    { name: "studio: the same, as it is", value: raw, unit: "kB", bound: 450, kind: "at most" },
  ];
}

if (import.meta.main) process.exitCode = report(await benchStudio()) ? 0 : 1;
