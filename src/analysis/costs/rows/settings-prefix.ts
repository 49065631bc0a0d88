import { isJsonList, type JsonObject, type JsonValue } from "../../../base/json.ts";
import { sha256Hex } from "../../../base/sha256.ts";
import { codecs } from "../../../providers/codecs.ts";
import { type CacheRules, cacheRules } from "../prompt-cache/cache-rules.ts";
import { type CacheWire, cacheWire } from "../prompt-cache/cache-wire.ts";
import { isErasedOutline, outlined, outlinedBytes } from "./billed-settings.ts";
import type { PrefixReader } from "./misses.ts";

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
  const isCached =
    boundaries === "every-unit" ||
    isMarked(details, boundaries) ||
    (wire.system === null && endsAtMark(settings, details));
  if (bytes === 0 || !isCached) return null;
  return { key: keyOf(wire, { encoder, scope, settings }), bytes };
};

type Asked = Pick<Parameters<PrefixReader>[0], "encoder" | "scope" | "settings">;

/** Thousands of requests have the same settings, and few endpoints are asked with them. */
const keysBySettings = new WeakMap<JsonObject, Map<string, string>>();

function keyOf(wire: CacheWire, { encoder, scope, settings }: Asked): string {
  const keys = keysBySettings.get(settings) ?? new Map<string, string>();
  keysBySettings.set(settings, keys);
  const endpoint = JSON.stringify([scope, encoder]);
  const known = keys.get(endpoint);
  if (known !== undefined) return known;
  const paths = [...wire.separatedBy, ...[...wire.reach].flatMap(([path, part]) => (part === "block" ? [] : [path]))];
  const names = new Set([...paths.map((path) => path.split(".", 1).join("")), "tools", "instructions", "cache"]);
  const read = [...names].toSorted().map((name) => [name, outlined(settings, name)]);
  const key = sha256Hex(JSON.stringify([scope, encoder, read])).slice(0, 16);
  keys.set(endpoint, key);
  return key;
}

/** Whether a breakpoint of Anthropic's is behind the tools and the instructions. */
const isMarked = (details: JsonObject | undefined, boundaries: CacheRules["boundaries"]): boolean =>
  boundaries === "breakpoints" && hasStart(details?.["cache"]);

/** Whether the instructions, which are a message, have a breakpoint. */
const endsAtMark = (settings: JsonObject, details: JsonObject | undefined): boolean =>
  outlinedBytes(settings, "instructions") > 0 && hasStart(details?.["breakpoints"]);

const hasStart = (ends: JsonValue | undefined): boolean => isJsonList(ends) && ends.includes(0);
