import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const sources = ["src", "packages", "test"].map(
  (folder) => `${pathToFileURL(join(import.meta.dirname, "../..", folder)).href}/`,
);
const isSource = (url = ""): boolean => sources.some((folder) => url.startsWith(folder));

// Vitest tells its main process of each import, for the graph from which it knows what to run again when a file changes, and Node asks
// the file system for each: together a second of processor time a worker. A run that does not watch needs neither.
if (process.env["VITEST_MODE"] !== "WATCH")
  registerHooks({
    resolve(name, context, next) {
      if (name.startsWith("node:")) return { url: name, format: "builtin", shortCircuit: true };
      const isDirect = name.startsWith(".") && name.endsWith(".ts") && isSource(context.parentURL);
      if (!isDirect) return next(name, context);
      return { url: new URL(name, context.parentURL).href, format: "module-typescript", shortCircuit: true };
    },
  });
