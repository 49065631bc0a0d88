/**
 * Builds the studio's page, and the script of a page in one file, into `dist/studio`: `node tools/build-page.ts`.
 */
import { join } from "node:path";
import { build } from "vite";

export async function buildPage(): Promise<void> {
  const configFile = join(import.meta.dirname, "../studio/vite.config.ts");
  for (const mode of ["production", "offline"]) await build({ configFile, mode, logLevel: "warn" });
}

if (import.meta.main) await buildPage();
