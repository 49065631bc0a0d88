import { pathToFileURL } from "node:url";
import { messageOf } from "../../base/error-message.ts";

/**
 * Executes a module of the user's, and says what to do if this Node cannot load it.
 *
 * @throws {Error} whose message is the reason, with `cause`.
 */
export async function loadModule(file: string): Promise<unknown> {
  try {
    const loaded: unknown = await import(pathToFileURL(file).href);
    return loaded;
  } catch (cause) {
    throw new Error(isWithoutTypes(file) ? typeScriptAdvice : messageOf(cause), { cause });
  }
}

/** Whether it is TypeScript, and this Node does not strip types: 22.13 to 22.17, or one that was told not to. */
const isWithoutTypes = (file: string): boolean => /\.[mc]?ts$/.test(file) && !process.features.typescript;

const typeScriptAdvice = `Node ${process.versions.node} does not load TypeScript as it was started: use Node 22.18 or newer, set NODE_OPTIONS=--experimental-strip-types, or write the file as .mjs without types`;
