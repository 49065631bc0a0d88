import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  omitMembers,
  textOrEmpty,
} from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { CachePart, CacheWire } from "./cache-wire.ts";

/** What a server reads and compares as a whole: a setting, a tool, the instructions, a message, an item or a content block. */
export type CacheUnit = {
  /** Its place in the whole body: `settings.model`, `tools.0`, `messages.3.content.1`. */
  readonly path: string;
  readonly kind: "setting" | CachePart;
  /** The name of a setting or a tool. */
  readonly name: string | null;
  /** Of what is read of it: breakpoints, ids and ciphertexts are not. */
  readonly digest: string;
  readonly bytes: number;
  /** The lifetime that a breakpoint on it asks for; null if there is none. */
  readonly breakpoint: string | null;
  /** Who says it, if boundaries depend on that. */
  readonly by: "user" | "developer" | "call" | "result" | null;
};

/** A request whose prompt is whole: it continues from nothing. */
export type WholeRequest = {
  readonly settings: JsonObject;
  /** The body that the codec encodes of the settings and all blocks, without an anchor. */
  readonly body: JsonObject;
};

/** The values that two requests have to share to see each other's cache entries, as one text. */
export const partitionOf = ({ separatedBy }: CacheWire, { settings, body }: WholeRequest): string =>
  JSON.stringify(separatedBy.map((path) => valueAt({ ...settings, ...body }, path)));

/** The prompt in render order. */
export function unitsOf(wire: CacheWire, { settings, body }: WholeRequest): readonly CacheUnit[] {
  const all = { ...settings, ...body, images: hasImages(body[wire.list]) };
  return wire.order.flatMap((part) => [
    ...[...wire.reach].filter(([, before]) => before === part).map(([path]) => settingUnit(path, valueAt(all, path))),
    ...partUnits(wire, body, part),
  ]);
}

function partUnits(wire: CacheWire, body: JsonObject, part: CachePart): readonly CacheUnit[] {
  if (part === "tool")
    return objectsOf(body["tools"]).map((tool, n) => unitFor(wire, { kind: part, path: `tools.${n}`, value: tool }));
  if (part === "system") return wire.system === null ? [] : systemUnits(wire, body[wire.system], wire.system);
  return listOf(body[wire.list]).flatMap((message, n) => messageUnits(wire, message, `${wire.list}.${n}`));
}

/** Of several texts, each is a unit. */
function systemUnits(wire: CacheWire, value: JsonValue | undefined, path: string): readonly CacheUnit[] {
  if (value === undefined || value === null) return [];
  const kind = "system";
  if (!wire.splitsMessages) return [unitFor(wire, { kind, path, value })];
  return contentsOf(value).map((text, n) => unitFor(wire, { kind, path: `${path}.${n}`, value: text }));
}

function messageUnits(wire: CacheWire, message: JsonValue, path: string): readonly CacheUnit[] {
  const kind = "block";
  if (!wire.splitsMessages) return [unitFor(wire, { kind, path, value: message })];
  const { role = null, content } = objectOf(message);
  return contentsOf(content ?? null).map((block, n) =>
    unitFor(wire, { kind, path: `${path}.content.${n}`, value: block, role }),
  );
}

const contentsOf = (value: JsonValue): readonly JsonValue[] =>
  isJsonList(value) ? value : [{ type: "text", text: value }];

function unitFor(
  { unread }: CacheWire,
  given: { readonly kind: CachePart; readonly path: string; readonly value: JsonValue; readonly role?: JsonValue },
): CacheUnit {
  const { kind, path, value, role = null } = given;
  const members = objectOf(value);
  const read = isJsonObject(value) ? withoutBreakpoints(omitMembers(readable(members), unread)) : value;
  const text = JSON.stringify([role, read]);
  return {
    ...{
      kind,
      path,
      name: kind === "tool" ? toolName(members) : null,
      digest: sha256Hex(text),
      bytes: utf8Length(text),
    },
    breakpoint: breakpointOf(members),
    by: speakerOf(members),
  };
}

/** Anthropic's breakpoint on the unit itself, or OpenAI's on its last part: an earlier part of it ends inside of what is compared. */
function breakpointOf({ cache_control: mark, content }: JsonObject): string | null {
  if (mark !== undefined) return textOrEmpty(objectOf(mark)["ttl"]) || "5m";
  const explicit = objectOf(listOf(content).at(-1))[partMark];
  return isJsonObject(explicit) ? textOrEmpty(explicit["ttl"]) || "default" : null;
}

function withoutBreakpoints(members: JsonObject): JsonObject {
  const { content } = members;
  if (!objectsOf(content).some((part) => Object.hasOwn(part, partMark))) return members;
  const parts = listOf(content).map((part) => (isJsonObject(part) ? omitMembers(part, partMarks) : part));
  return { ...members, content: parts };
}

/** OpenAI's breakpoint, on a part of a message. */
const partMark = "prompt_cache_breakpoint";
const partMarks: ReadonlySet<string> = new Set([partMark]);

/** Reasoning without a text is known by its id, or by its ciphertext if it is sent without one. */
function readable(members: JsonObject): JsonObject {
  const { type, id, summary, encrypted_content: ciphertext } = members;
  return type === "reasoning" && listOf(summary).length === 0 ? { type, of: id ?? ciphertext } : members;
}

const toolName = (tool: JsonObject): string | null =>
  [tool["name"], objectOf(tool["function"])["name"], tool["type"]].find((name) => typeof name === "string") ?? null;

function speakerOf({ role, type }: JsonObject): CacheUnit["by"] {
  if (type === "tool_use" || type === "function_call" || type === "custom_tool_call") return "call";
  if (
    type === "tool_result" ||
    type === "function_call_output" ||
    type === "custom_tool_call_output" ||
    role === "tool"
  )
    return "result";
  if (role === "user") return "user";
  return role === "system" || role === "developer" ? "developer" : null;
}

function settingUnit(path: string, value: JsonValue): CacheUnit {
  const text = JSON.stringify([path, value]);
  return {
    kind: "setting",
    path: `settings.${path}`,
    name: path,
    digest: sha256Hex(text),
    bytes: 0,
    breakpoint: null,
    by: null,
  };
}

const hasImages = (list: JsonValue | undefined): boolean =>
  objectsOf(list).some(({ content }) =>
    objectsOf(content).some((block) => [block, ...objectsOf(block["content"])].some(({ type }) => type === "image")),
  );

function valueAt(body: JsonObject, path: string): JsonValue {
  const value = path.split(".").reduce<JsonValue | undefined>((at, name) => objectOf(at)[name], body);
  return value ?? null;
}
