import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { entryNames, sourceOfEntry } from "./entries.ts";

/** In a process that has loaded this, `import "turnlog/…"` gives the entry's source, and not what was built of it. */
registerHooks({
  resolve: (name, context, next) =>
    entryNames.has(name) ? { url: pathToFileURL(sourceOfEntry(name)).href, shortCircuit: true } : next(name, context),
});
