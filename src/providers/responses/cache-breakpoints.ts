import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectOf, omitMembers } from "../../base/json.ts";
import { kindOf, type ValueCheck } from "../../base/options.ts";
import type { Capabilities, Lesson } from "../../engine/stack/capabilities.ts";
import type { PlannedParts, Refusal, Settings } from "../../engine/stack/codec.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";

/** Has turnlog set OpenAI's explicit breakpoints. No body has this setting: the breakpoints are on the parts of messages. */
export const breakpointsSetting = "cacheBreakpoints";

export type CacheBreakpoints = boolean | { readonly ttl: "30m" | "12h" };

export const cacheBreakpoints: ValueCheck<CacheBreakpoints> = (what, given) => {
  if (typeof given === "boolean") return given;
  const ttl = isJsonObject(given) && Object.keys(given).length === 1 ? given["ttl"] : undefined;
  if (ttl === "30m" || ttl === "12h") return { ttl };
  throw new ProviderSettingsError(`${what} is ${kindOf(given)}: give true, false, { ttl: "30m" } or { ttl: "12h" }`);
};

/** The capability of an endpoint that gets breakpoints: it has it until it rejects a request for one. */
export const breakpointsOf = (settings: Settings): Capabilities =>
  setsBreakpoints(settings) ? { cacheBreakpoints: true } : {};

const setsBreakpoints = (settings: Settings): boolean => (settings[breakpointsSetting] ?? false) !== false;

/** A request writes at most so many entries, that after its newest message included (OpenAI's guide to prompt caching). */
const maxWrites = 4;

/**
 * The breakpoints of a request, each as the number of input blocks before it; 0 is after the developer messages at the beginning. One is at
 * the end, others are where earlier requests ended.
 */
export function breakpointDetails({ settings, capabilities, anchor, blocks, sentBefore }: PlannedParts): JsonObject {
  if (!setsBreakpoints(settings) || capabilities["cacheBreakpoints"] !== true) return {};
  const start = anchor === null ? [0] : [];
  const isExplicit = objectOf(settings["prompt_cache_options"])["mode"] === "explicit";
  const most = maxWrites - (isExplicit ? 0 : 1) - start.length;
  const ends = [...new Set([blocks, ...sentBefore])].filter((end) => end > 0);
  return { breakpoints: [...ends.slice(0, most), ...start] };
}

/** The items with the recorded breakpoints, and without those that they came with. */
export function markedItems(
  items: readonly JsonObject[],
  settings: Settings,
  details: JsonObject,
): readonly JsonObject[] {
  const places = details["breakpoints"];
  if (!isJsonList(places)) return items;
  const bare = items.map(unmarked);
  const said = bare.findIndex(({ role }) => role !== "system" && role !== "developer");
  const leading = said < 0 ? bare.length : said;
  const ends = places.map((place) => (place === 0 ? leading : place));
  const marked = new Set(
    ends.map((end) => bare.findLastIndex((item, at) => typeof end === "number" && at < end && canBeMarked(item))),
  );
  const mark = { mode: "explicit", ...objectOf(settings[breakpointsSetting]) };
  return bare.map((item, at) => (marked.has(at) ? withMark(item, mark) : item));
}

/** The lesson of a rejection that names a breakpoint. Models differ in it, so it holds for this model only. */
export function breakpointsLesson({ kind, param, message }: Refusal, settings: Settings): Lesson | null {
  const isNamed = [param ?? "", message].some((text) => text.includes(member));
  if (kind !== "invalid-request" || !isNamed || !setsBreakpoints(settings)) return null;
  const { model } = settings;
  return { capability: breakpointsSetting, reason: message, ...(typeof model === "string" ? { model } : {}) };
}

const member = "prompt_cache_breakpoint";
const members: ReadonlySet<string> = new Set([member]);

/** A breakpoint is on the last part of a message, so that the entry ends with it. The API takes none on outputs, tools or instructions. */
function canBeMarked({ role, content }: JsonObject): boolean {
  const last = isJsonList(content) ? objectOf(content.at(-1)) : {};
  return role !== undefined && role !== "assistant" && markable.has(last["type"] ?? null);
}

const markable: ReadonlySet<JsonValue> = new Set(["input_text", "input_image", "input_file"]);

function withMark(item: JsonObject, mark: JsonObject): JsonObject {
  const content = isJsonList(item["content"]) ? item["content"] : [];
  return { ...item, content: [...content.slice(0, -1), { ...objectOf(content.at(-1)), [member]: mark }] };
}

function unmarked(item: JsonObject): JsonObject {
  const { content } = item;
  if (!isJsonList(content) || !content.some((part) => isJsonObject(part) && Object.hasOwn(part, member))) return item;
  return { ...item, content: content.map((part) => (isJsonObject(part) ? omitMembers(part, members) : part)) };
}
