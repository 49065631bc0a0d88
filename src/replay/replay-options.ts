import { isJsonObject } from "../base/json.ts";
import { checkOptions, kindOf } from "../base/options.ts";

/**
 * Whether a log can be replayed by what was given.
 *
 * @throws {TypeError} for what is no log, for an option that is none, and where codecs are missing.
 */
export function checkReplay(
  where: string,
  reader: unknown,
  options: unknown,
  names: Readonly<Record<string, true>>,
): void {
  const { store, log } = isJsonObject(reader) ? reader : {};
  if (!isJsonObject(store)) {
    const instead = log === undefined ? "give the log of an open store" : "write store.log";
    throw new TypeError(`${where} reads a log, and is given ${kindOf(reader)}: ${instead}`);
  }
  checkOptions(where, options, names);
  const { codecs } = isJsonObject(options) ? options : {};
  if ("codecs" in names && !(codecs instanceof Map))
    throw new TypeError(`${where}: codecs is ${kindOf(codecs)}: give { codecs }, which turnlog exports`);
}
