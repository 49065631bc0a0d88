import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../..");

type Exports = Readonly<Record<string, string | { readonly default: string }>>;
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly exports: Exports };

/** The names under which a stranger imports the package's entries (`turnlog`, `turnlog/sqlite`). */
export const entryNames: ReadonlySet<string> = new Set(
  Object.keys(exports).flatMap((name) => (name.endsWith(".json") ? [] : [name.replace(".", "turnlog")])),
);

/** The source of an entry of the package, by the name under which a stranger imports it (`turnlog`, `turnlog/sqlite`). */
export function sourceOfEntry(entry: string): string {
  const target = exports[entry.replace(/^turnlog/, ".")];
  if (target === undefined || typeof target === "string") throw new Error(`the package has no entry ${entry}`);
  return join(root, target.default.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts"));
}
