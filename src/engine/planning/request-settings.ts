import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { erasedText } from "../../domain/events/erased-content.ts";
import type { SettingsName } from "../../domain/ids.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Settings } from "../ports/codec.ts";

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

/**
 * Whether a setting that differs between two requests differs by what both of them still have. If settings were erased, what one of them
 * lacks, or has a stand-in for, may be the same: of a tool only the name is left.
 *
 * @param path - `model`, `reasoning.effort`.
 */
export function differsForCertain(before: JsonObject, after: JsonObject, path: string): boolean {
  const names = path.split(".");
  const [was, is] = [before, after].map((settings) =>
    names.reduce<JsonValue | undefined>((at, name) => objectOf(at)[name], settings),
  );
  return names.length > 1 ? isOtherInside(was, is) : isOther(was, is);
}

function isOther(was: JsonValue | undefined, is: JsonValue | undefined): boolean {
  if (was === undefined || is === undefined) return false;
  if (isJsonList(was) && isJsonList(is)) return was.some((item, place) => isOtherInside(item, is[place]));
  if (isJsonObject(was) && isJsonObject(is)) return Object.keys(was).some((name) => isOtherInside(was[name], is[name]));
  return canonicalJson(was) !== canonicalJson(is);
}

/** Compares values inside a setting. Erased content was replaced with a text there; a setting that was erased as a whole is absent. */
const isOtherInside = (was: JsonValue | undefined, is: JsonValue | undefined): boolean =>
  was !== erasedText && is !== erasedText && isOther(was, is);

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
