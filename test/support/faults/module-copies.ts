import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const sources = `${pathToFileURL(join(import.meta.dirname, "../../../src")).href}/`;

/** What a module of a copy imports of the sources belongs to the copy, too. */
registerHooks({
  resolve(name, context, next) {
    const resolved = next(name, context);
    const copy = /\?copy=\d+$/.exec(context.parentURL ?? "")?.[0];
    const isOfCopy = copy !== undefined && resolved.url.startsWith(sources) && !resolved.url.includes("?");
    return isOfCopy ? { ...resolved, url: `${resolved.url}${copy}` } : resolved;
  },
});

let copies = 0;

/** Another copy of the sources in this process: its modules share nothing with those that were loaded before, as in another process. */
export function newCopy(): <Module>(path: string) => Promise<Module> {
  copies += 1;
  const copy = copies;
  // The caller names the type of the module, which the compiler cannot know of a computed address.
  return async <Module>(path: string) => (await import(`${sources}${path}?copy=${copy}`)) as Module;
}
