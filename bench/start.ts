import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { buildDist, dist, secondsOf, secondsOfNode } from "./command-time.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

const rounds = 9;

/** The cost of a start beyond that of Node itself, in processor time: the best of nine of each, which took turns. */
export function benchStart(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await buildDist();
    const path = join(folder, "start.db");
    await using store = new TurnlogStore(await openSqliteStore(path));
    await chat(store.conversation(), { exchanges: 3, bytes: 500 });
    await store.list();
    const index = pathToFileURL(join(dist, "index.js")).href;
    const works = {
      node: () => secondsOfNode(["-e", "0"]),
      help: () => secondsOf(path, ["--help"]),
      ls: () => secondsOf(path, ["ls"]),
      import: () => secondsOfNode(["--input-type=module", "-e", `await import(${JSON.stringify(index)})`]),
    };
    const best = {
      node: Number.POSITIVE_INFINITY,
      help: Number.POSITIVE_INFINITY,
      ls: Number.POSITIVE_INFINITY,
      import: Number.POSITIVE_INFINITY,
    };
    for (let round = 0; round < rounds; round += 1)
      for (const name of ["node", "help", "ls", "import"] as const) best[name] = Math.min(best[name], works[name]());
    const row = (name: string, seconds: number, bound: number): BenchRow => ({
      ...{ name: `${name}, against node -e 0`, value: seconds / best.node, unit: "x", bound, kind: "at most" },
      note: `${Math.round(seconds * 1000)} ms against ${Math.round(best.node * 1000)} ms`,
    });
    return [
      row("turnlog --help", best.help, 2.5),
      row("turnlog ls", best.ls, 4),
      row('import("turnlog")', best.import, 4),
    ];
  });
}

if (import.meta.main) process.exitCode = report(await benchStart()) ? 0 : 1;
