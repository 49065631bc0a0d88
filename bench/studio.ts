import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { buildPage } from "../tools/build-page.ts";
import { pageWeights, weightBounds } from "../tools/page-weights.ts";
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
    const rows: BenchRow[] = [...weightRows()];
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

function weightRows(): readonly BenchRow[] {
  const { firstLoad, handler, handlerRaw, later } = pageWeights();
  const atMost = { unit: "kB", kind: "at most" } as const;
  const note = `loaded by need: ${later.length} files of ${Math.max(...later).toFixed(1)} kB at most`;
  return [
    { name: "studio: first load, gzip", value: firstLoad, bound: weightBounds.firstLoad, ...atMost },
    {
      name: "studio: handler for a page without a server, gzip",
      ...{ value: handler, bound: weightBounds.handler, ...atMost, note },
    },
    { name: "studio: the same, as it is", value: handlerRaw, bound: weightBounds.handlerRaw, ...atMost },
  ];
}

if (import.meta.main) process.exitCode = report(await benchStudio()) ? 0 : 1;
