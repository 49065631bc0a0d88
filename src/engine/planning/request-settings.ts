import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonList, type JsonObject, type JsonValue } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { SettingsName } from "../../domain/ids.ts";
import type { Capabilities } from "../stack/capabilities.ts";
import type { Settings } from "../stack/codec.ts";
import type { EngineOptions } from "../stack/engine.ts";

/** The settings of a request: the run's, the engine's tools, and the instructions of the Turn and the layers. */
export function requestSettings(
  {
    provider,
    tools,
    settings,
    chain,
  }: Pick<EngineOptions, "provider" | "tools" | "settings"> & Partial<Pick<EngineOptions, "chain">>,
  capabilities: Capabilities,
  instructions: readonly string[],
): Settings {
  const { codec } = provider;
  const kept = chain?.mode === "stateless" ? (codec.unstored?.(settings) ?? settings) : settings;
  return codec.offer(codec.instruct(kept, instructions), { tools, capabilities });
}

/** The name by which a request refers to its settings: of their text, in the caller's key order. */
export const settingsName = (settings: Settings, names: BlockNames): SettingsName =>
  names.nameOfSettings(sha256Hex(JSON.stringify(settings)));

/** The top-level settings that differ between two requests. */
export function changedSettings(before: JsonObject, after: JsonObject): readonly string[] {
  if (before === after) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => textOf(before, name) !== textOf(after, name));
}

/** Whether both requests have the setting of a path. If settings were erased, one that a request lacks may be erased: it is no difference. */
export const isInBoth = (before: JsonObject, after: JsonObject, path: string): boolean =>
  [before, after].every((settings) => Object.hasOwn(settings, path.split(".")[0] ?? ""));

/** Of the settings that differ between two requests, those that a model reads before the blocks. */
export const changedBefore = (before: JsonObject, now: JsonObject): readonly string[] =>
  ["instructions", "tools"].filter((name) => said(before[name]) !== said(now[name]));

/** Null and an empty list count as absent. */
const said = (value: JsonValue | undefined): string =>
  value === undefined || value === null || (isJsonList(value) && value.length === 0) ? "" : canonicalJson(value);

const textOf = (settings: JsonObject, name: string): string | undefined => {
  const value = Object.hasOwn(settings, name) ? settings[name] : undefined;
  return value === undefined ? undefined : canonicalJson(value);
};
