import { isJsonList, type JsonObject } from "../base/json.ts";
import { sha256Hex } from "../base/sha256.ts";
import { isErasedOutline, outlined, outlinedBytes } from "../projections/billed-settings.ts";
import type { PrefixReader } from "../projections/misses.ts";
import { cacheRules } from "./caching/cache-rules.ts";
import { cacheWire } from "./caching/cache-wire.ts";
import { codecs } from "./codecs.ts";

/**
 * The key of the settings prefix of a request, and its size. Null if its wire is not known, if nothing is before the messages, if something
 * of it was erased, or if the server caches nothing that ends there.
 */
export const settingsPrefix: PrefixReader = ({ encoder, scope, model, at, settings, details }) => {
  const family = codecs.get(encoder)?.family ?? "";
  const wire = cacheWire(family);
  if (wire === undefined || isErasedOutline(settings)) return null;
  const bytes = outlinedBytes(settings, "instructions") + outlinedBytes(settings, "tools");
  const { boundaries } = cacheRules(family, { model, at });
  const isCached = boundaries === "every-unit" || (boundaries === "breakpoints" && isMarked(details));
  if (bytes === 0 || !isCached) return null;
  const paths = [...wire.separatedBy, ...[...wire.reach].flatMap(([path, part]) => (part === "block" ? [] : [path]))];
  const names = new Set([...paths.map((path) => path.split(".", 1).join("")), "tools", "instructions", "cache"]);
  const read = [...names].toSorted().map((name) => [name, outlined(settings, name)]);
  return { key: sha256Hex(JSON.stringify([scope, encoder, read])).slice(0, 16), bytes };
};

/** Whether a breakpoint is behind the tools and the instructions. */
function isMarked(details: JsonObject | undefined): boolean {
  const ends = details?.["cache"];
  return isJsonList(ends) && ends.includes(0);
}
