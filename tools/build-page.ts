/**
 * Builds the studio's page, and its handler for a page without a server, into `dist/studio`: `node tools/build-page.ts [--if-missing]`, which also
 * builds a page anew whose sources have changed.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "vite";
import { digestOf, licencesOf } from "./build.ts";
import { buildOffline } from "./build-offline.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "dist/studio");
/** The digest of the sources that the page was built from. It is not beside the page, because the package has all files there. */
const stamp = join(root, "node_modules/.cache/studio-page.txt");

export async function buildPage({ ifMissing = false }: { readonly ifMissing?: boolean } = {}): Promise<void> {
  const sources = digestOf([
    "src/**/*.ts",
    "packages/*/src/**/*.ts",
    "studio/**/*.{ts,tsx,css,html,svg}",
    "tools/build-*.ts",
  ]);
  const isBuilt = existsSync(join(folder, "LICENSES.txt")) && existsSync(stamp);
  if (ifMissing && isBuilt && readFileSync(stamp, "utf8") === sources) return;
  const configFile = join(root, "studio/vite.config.ts");
  const modules = new Set<string>();
  const plugins = [
    {
      name: "modules",
      generateBundle(
        _: unknown,
        bundle: Record<string, { readonly type: string; readonly moduleIds?: readonly string[] }>,
      ) {
        for (const { moduleIds = [] } of Object.values(bundle)) for (const id of moduleIds) modules.add(id);
      },
    },
  ];
  // In a test environment the page would name its source files.
  const { NODE_ENV: before } = process.env;
  process.env["NODE_ENV"] = "production";
  try {
    await build({ configFile, mode: "production", plugins, logLevel: "warn" });
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
  for (const id of await buildOffline(folder)) modules.add(id);
  writeFileSync(join(folder, "LICENSES.txt"), licencesOf(modules));
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, sources);
}

if (import.meta.main) await buildPage({ ifMissing: process.argv.includes("--if-missing") });
