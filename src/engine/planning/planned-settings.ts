import { canonicalJson } from "../../base/canonical-json.ts";
import type { JsonObject } from "../../base/json.ts";

/** The top-level settings that differ between two requests. */
export function changedSettings(before: JsonObject, after: JsonObject): readonly string[] {
  if (before === after) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => textOf(before, name) !== textOf(after, name));
}

const textOf = (settings: JsonObject, name: string): string | undefined => {
  const value = Object.hasOwn(settings, name) ? settings[name] : undefined;
  return value === undefined ? undefined : canonicalJson(value);
};
