/**
 * Builds the studio's page, and its handler for a page without a server, into `dist/studio`: `node tools/build-page.ts [--if-missing]`.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { licencesOf } from "./build.ts";
import { buildOffline } from "./build-offline.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "dist/studio");

export async function buildPage({ ifMissing = false }: { readonly ifMissing?: boolean } = {}): Promise<void> {
  if (ifMissing && existsSync(join(folder, "LICENSES.txt"))) return;
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
}

if (import.meta.main) await buildPage({ ifMissing: process.argv.includes("--if-missing") });
