import { join } from "node:path";
import { defineConfig } from "vite";

/** The page: one script and one style sheet, without a request to anywhere else. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  publicDir: "public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: join(import.meta.dirname, "../dist/studio"),
    emptyOutDir: true,
    target: "es2023",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    rolldownOptions: { output: { entryFileNames: "page.js", assetFileNames: "page[extname]" } },
  },
});
