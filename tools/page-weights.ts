import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const built = join(import.meta.dirname, "../dist/studio");

/** What the built page of the studio weighs as a browser loads it, in kB. */
export type PageWeights = {
  /** The page itself, its script and its styles, with gzip. */
  readonly firstLoad: number;
  /** The handler of a page without a server, with gzip. */
  readonly handler: number;
  readonly handlerRaw: number;
  /** Each file that is loaded by need, with gzip. */
  readonly later: readonly number[];
};

/** The most that each may weigh. */
export const weightBounds = { firstLoad: 60, handler: 120, handlerRaw: 450 } as const;

export function pageWeights(): PageWeights {
  const later = readdirSync(built).filter((file) => file.endsWith(".js") && !/^(page|offline.*)\.js$/.test(file));
  return {
    firstLoad: ["index.html", "page.js", "page.css"].reduce((sum, file) => sum + zipped(file), 0),
    handler: zipped("offline-core.js"),
    handlerRaw: read("offline-core.js").length / 1_000,
    later: later.map(zipped),
  };
}

const read = (file: string): Buffer => readFileSync(join(built, file));
const zipped = (file: string): number => gzipSync(read(file), { level: 9 }).length / 1_000;
