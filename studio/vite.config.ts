import { join } from "node:path";
import { defineConfig } from "vite";

const stub = join(import.meta.dirname, "src/offline/node-stub.ts");

/** What modules of the handler look at when they are loaded: a page owns no run, and prints no warnings. */
const nodeProcess =
  'globalThis.process = { pid: 0, platform: "page", env: {}, uptime: () => 0, emitWarning: () => undefined };';

/**
 * The page: one script and one style sheet, without a request to anywhere else. In the mode `offline`, the script of a page in one file, which
 * holds the handler too.
 */
export default defineConfig(({ mode }) => ({
  root: import.meta.dirname,
  base: "/",
  publicDir: mode === "offline" ? false : "public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: { alias: mode === "offline" ? [{ find: /^node:.*/, replacement: stub }] : [] },
  build: {
    outDir: join(import.meta.dirname, "../dist/studio"),
    // The declarations of `src/studio` are there as well.
    emptyOutDir: false,
    target: "es2023",
    modulePreload: false,
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    rolldownOptions: {
      ...(mode === "offline" ? { input: join(import.meta.dirname, "src/offline/main.ts") } : {}),
      output: {
        entryFileNames: mode === "offline" ? "offline.js" : "page.js",
        assetFileNames: "page[extname]",
        ...(mode === "offline" ? { codeSplitting: false, banner: nodeProcess } : {}),
      },
    },
  },
}));
