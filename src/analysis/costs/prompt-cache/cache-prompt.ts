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
} from "../../../base/json.ts";
import { sha256Hex, sha256OfPair } from "../../../base/sha256.ts";
import { utf8Length } from "../../../base/utf8.ts";
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
  /** The units of the conversation, if they are known; the list in the body is then empty. */
  readonly listed?: readonly CacheUnit[];
};

/** The values that two requests have to share to see each other's cache entries, as one text. */
export const partitionOf = ({ separatedBy }: CacheWire, { settings, body }: WholeRequest): string =>
  JSON.stringify(separatedBy.map((path) => valueAt({ ...settings, ...body }, path)));

/** The prompt in render order. */
export function unitsOf(wire: CacheWire, { settings, body, listed }: WholeRequest): readonly CacheUnit[] {
  const all = { ...settings, ...body, images: hasImages(body[wire.list]) };
  const units = wire.order.flatMap((part) => [
    ...[...wire.reach].filter(([, before]) => before === part).map(([path]) => settingUnit(path, valueAt(all, path))),
    ...(part === "block" && listed !== undefined ? listed : partUnits(wire, body, part)),
  ]);
  // A breakpoint of the request as a whole is on its last unit (Anthropic, and OpenRouter for Anthropic's models).
  const automatic = breakpointOf({ cache_control: body["cache_control"] ?? undefined }, wire.partMarks);
  const last = units.at(-1);
  if (automatic === null || last === undefined) return units;
  return [...units.slice(0, -1), { ...last, breakpoint: last.breakpoint ?? automatic }];
}

/** The unit of an item of the conversation, on a wire on which each item is one. */
export const listUnit = (wire: CacheWire, item: JsonValue, place: number): CacheUnit =>
  unitFor(wire, { kind: "block", path: `${wire.list}.${place}`, value: item });

/** A digest of everything up to each unit. Of another prompt's, those of a common beginning are taken as they are. */
export function prefixesOf(
  units: readonly CacheUnit[],
  like: { readonly units: readonly CacheUnit[]; readonly prefixes: readonly string[] } = { units: [], prefixes: [] },
): readonly string[] {
  const prefixes: string[] = [];
  let isCommon = true;
  let prefix: string | undefined;
  for (let place = 0; place < units.length; place += 1) {
    const digest = units[place]?.digest ?? "";
    isCommon &&= like.units[place]?.digest === digest;
    const known = isCommon ? like.prefixes[place] : undefined;
    prefix = known ?? (prefix === undefined ? digest : sha256OfPair(prefix, digest));
    prefixes.push(prefix);
  }
  return prefixes;
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
  { unread, partMarks }: CacheWire,
  given: { readonly kind: CachePart; readonly path: string; readonly value: JsonValue; readonly role?: JsonValue },
): CacheUnit {
  const { kind, path, value, role = null } = given;
  const members = objectOf(value);
  const read = isJsonObject(value) ? asRead(omitMembers(readable(members), unread), partMarks) : value;
  const text = JSON.stringify([role, read]);
  return {
    ...{
      kind,
      path,
      name: kind === "tool" ? toolName(members) : null,
      digest: sha256Hex(text),
      bytes: utf8Length(text),
    },
    breakpoint: breakpointOf(members, partMarks),
    by: speakerOf(members),
  };
}

/** A breakpoint on the unit itself, or on its last part: after an earlier part, an entry ends inside of what is compared. */
function breakpointOf({ cache_control: own, content }: JsonObject, partMarks: ReadonlySet<string>): string | null {
  if (own !== undefined) return textOrEmpty(objectOf(own)["ttl"]) || "5m";
  const last = objectOf(listOf(content).at(-1));
  const name = [...partMarks].find((each) => isJsonObject(last[each]));
  if (name === undefined) return null;
  return textOrEmpty(objectOf(last[name])["ttl"]) || (name === "cache_control" ? "5m" : "default");
}

/** A message without its breakpoints. A breakpoint needs a part, so a text that is the only part reads as a text alone. */
function asRead(members: JsonObject, partMarks: ReadonlySet<string>): JsonObject {
  const { content } = members;
  if (partMarks.size === 0 || !isJsonList(content)) return members;
  const parts = content.map((part) => (isJsonObject(part) ? omitMembers(part, partMarks) : part));
  const [only] = objectsOf(parts);
  const isText = parts.length === 1 && only?.["type"] === "text" && Object.keys(only).length === 2;
  return { ...members, content: isText ? (only["text"] ?? null) : parts };
}

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
