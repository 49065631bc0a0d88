/**
 * Builds the studio's page into `dist/studio`: `node tools/build-page.ts`.
 */
import { join } from "node:path";
import { build } from "vite";

await build({ configFile: join(import.meta.dirname, "../studio/vite.config.ts"), logLevel: "warn" });
