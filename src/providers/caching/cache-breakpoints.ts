import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectOf, omitMembers } from "../../base/json.ts";
import type { Capabilities, Lesson } from "../../engine/ports/capabilities.ts";
import type { PlannedParts, Refusal, Settings } from "../../engine/ports/codec.ts";

/** Has turnlog set explicit breakpoints on the parts of messages. No body has this setting: the marks are on the parts. */
export const breakpointsSetting = "cacheBreakpoints";

/** The capability of an endpoint that gets breakpoints: it has it until it rejects a request for one. */
export const breakpointsOf = (settings: Settings): Capabilities =>
  setsBreakpoints(settings) ? { cacheBreakpoints: true } : {};

const setsBreakpoints = (settings: Settings): boolean => (settings[breakpointsSetting] ?? false) !== false;

/** A request writes at most so many entries, that after its newest message included (OpenAI's guide to prompt caching). */
const maxWrites = 4;

/**
 * The breakpoints of a request, each as the number of input blocks before it; 0 is after the instructions if they are a
 * message, otherwise after the system and developer messages at the beginning. One is at the end, others are where earlier requests ended.
 */
export function breakpointDetails(planned: PlannedParts): JsonObject {
  const { settings, capabilities, anchor, blocks } = planned;
  if (!setsBreakpoints(settings) || capabilities["cacheBreakpoints"] !== true) return {};
  const start = anchor === null ? [0] : [];
  const isExplicit = objectOf(settings["prompt_cache_options"])["mode"] === "explicit";
  const most = maxWrites - (isExplicit ? 0 : 1) - start.length;
  const ends = [...new Set([blocks, ...planned.sentBefore])].filter((end) => end > 0);
  return { breakpoints: [...ends.slice(0, most), ...start] };
}

/** How a wire writes a breakpoint: the member of a part, its value, and the types of parts that take one. */
export type BreakpointForm = {
  readonly member: string;
  readonly mark: JsonObject;
  readonly parts: ReadonlySet<JsonValue>;
  /** The member of another vendor's breakpoints, left out with those of its own; absent: they are sent as they came. */
  readonly foreign?: string;
  /** The type of the part that a content becomes which is one text; absent: such a content gets no breakpoint. */
  readonly textAs?: string;
};

/** A message or an item, and how many input blocks it and those before it have. */
export type EndedMessage = { readonly message: JsonObject; readonly end: number };

/** The messages with the recorded breakpoints, and without those that they came with. */
export function markedMessages(
  sent: readonly EndedMessage[],
  {
    settings,
    details,
    form,
  }: { readonly settings: Settings; readonly details: JsonObject; readonly form: BreakpointForm },
): readonly JsonObject[] {
  const places = details["breakpoints"];
  if (!isJsonList(places)) return sent.map(({ message }) => message);
  const bare = sent.map(({ message }) => unmarked(message, form));
  const said = bare.findIndex(({ role }) => role !== "system" && role !== "developer");
  const ofSettings = sent.findIndex(({ end }) => end > 0);
  const leading = ofSettings > 0 ? ofSettings : said < 0 ? bare.length : said;
  const isBefore = (at: number, place: JsonValue | undefined): boolean =>
    place === 0 ? at < leading : typeof place === "number" && (sent[at]?.end ?? 0) <= place;
  const marked = new Set(
    places.map((place) => bare.findLastIndex((message, at) => isBefore(at, place) && canBeMarked(message, form))),
  );
  const mark = { ...form.mark, ...objectOf(settings[breakpointsSetting]) };
  return bare.map((message, at) => (marked.has(at) ? withMark(message, mark, form) : message));
}

/**
 * The lesson of a rejection that names a breakpoint. Models differ in it, so it holds for this model only.
 *
 * @param member - The member that says it on this wire.
 */
export function breakpointsLesson(
  { kind, param, message }: Refusal,
  settings: Settings,
  member: string,
): Lesson | null {
  const isNamed = [param ?? "", message].some((text) => text.includes(member));
  if (kind !== "invalid-request" || !isNamed || !setsBreakpoints(settings)) return null;
  const { model } = settings;
  return { capability: breakpointsSetting, reason: message, ...(typeof model === "string" ? { model } : {}) };
}

/** A breakpoint is on the last part of a message, so that the entry ends with it. The model's own messages take none. */
function canBeMarked({ role, content }: JsonObject, { parts, textAs }: BreakpointForm): boolean {
  if (role === undefined || role === "assistant") return false;
  if (typeof content === "string") return textAs !== undefined && content !== "";
  const last = isJsonList(content) ? objectOf(content.at(-1)) : {};
  return parts.has(last["type"] ?? null) && (textAs === undefined || last["text"] !== "");
}

function withMark(message: JsonObject, mark: JsonObject, { member, textAs }: BreakpointForm): JsonObject {
  const given = message["content"];
  const text = typeof given === "string" && textAs !== undefined ? [{ type: textAs, text: given }] : [];
  const content = isJsonList(given) ? given : text;
  return { ...message, content: [...content.slice(0, -1), { ...objectOf(content.at(-1)), [member]: mark }] };
}

function unmarked(message: JsonObject, { member, foreign }: BreakpointForm): JsonObject {
  const { content } = message;
  const members = new Set(foreign === undefined ? [member] : [member, foreign]);
  const isMarked = (part: JsonValue): boolean => Object.keys(objectOf(part)).some((name) => members.has(name));
  if (!isJsonList(content) || !content.some(isMarked)) return message;
  return { ...message, content: content.map((part) => (isJsonObject(part) ? omitMembers(part, members) : part)) };
}
