import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import { kindOf } from "../base/options.ts";

/**
 * The content of a message as a block holds it: a list of parts, whose types do not depend on the role. Parts in the vocabulary
 * of model APIs (`image_url`) are translated to turnlog's; parts of other types stay unchanged.
 *
 * @param where - The function that takes the content, for the error.
 * @throws {TypeError} if the content is neither a text nor a list of parts.
 */
export function contentParts(content: unknown, where: string): readonly JsonObject[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (isJsonList(content)) return content.map((part, index) => partOf(part, `${where}: content[${index}]`));
  throw new TypeError(`${where}: content is ${kindOf(content)}: give a text or a list of parts`);
}

/** A tool's output, with parts in the vocabulary of a model API translated to turnlog's. Any other output stays unchanged. */
export function ownParts(output: JsonValue): JsonValue {
  if (!isJsonList(output) || !output.some(isApiPart)) return output;
  return output.map((part) => (isApiPart(part) ? partOf(part, "toolResult: output") : part));
}

const isApiPart = (part: JsonValue): boolean =>
  isJsonObject(part) &&
  typeof part["type"] === "string" &&
  /^(input_(text|image|file|audio)|image_url)$/.test(part["type"]);

function partOf(part: JsonValue, where: string): JsonObject {
  if (typeof part === "string") throw new TypeError(`${where} is a text: write { type: "text", text }`);
  if (!isJsonObject(part))
    throw new TypeError(`${where} is ${kindOf(part)}: give a part such as { type: "text", text }`);
  const { type } = part;
  if (typeof type !== "string") throw new TypeError(`${where} has no type: give a part such as { type: "text", text }`);
  const own = ownPart(type, part);
  const needed = neededMembers.get(own.type);
  if (needed === undefined || needed.some((member) => typeof own[member] === "string")) return own;
  const [member = ""] = needed;
  const wanted = own.type === "image" ? "an address, https://… or data:image/png;base64,…" : "a text";
  throw new TypeError(`${where} is of type ${type}, and its ${member} is ${kindOf(own[member])}: give ${wanted}`);
}

/**
 * Whether a value is a list of parts exactly as `text`, `image`, `file` and `audio` make them. Anything that only resembles parts is
 * data.
 */
export function isMadeOfParts(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isMadePart);
}

function isMadePart(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { type, audio, ...members } = value;
  const hasTexts = (names: string): boolean =>
    Object.keys(members).toSorted().join(" ") === names &&
    Object.values(members).every((member) => typeof member === "string");
  if (type === "audio") return isJsonObject(audio) && hasTexts("");
  if (audio !== undefined) return false;
  if (type === "file") return hasTexts("fileId") || hasTexts("data name");
  return (type === "text" && hasTexts("text")) || (type === "image" && hasTexts("detail url"));
}

/** The parts of a tool's output; null if it is a text or data. A list with anything else in it is data. */
export function resultParts(output: JsonValue | undefined): readonly JsonObject[] | null {
  return isJsonList(output) && output.every(isOwnPart) ? output : null;
}

const isOwnPart = (part: JsonValue): part is JsonObject =>
  isJsonObject(part) && typeof part["type"] === "string" && partTypes.has(part["type"]);

/** The members of which a part needs at least one, as a text. */
const neededMembers: ReadonlyMap<string, readonly string[]> = new Map([
  ["text", ["text"]],
  ["image", ["url", "fileId"]],
  ["refusal", ["refusal"]],
]);

/**
 * Parts with another text, in place of their first text, or before all parts if they have none. Parts that are not text (images,
 * files, audio) stay in place.
 */
export function retold(parts: readonly JsonObject[], text: string): readonly JsonObject[] {
  const first = parts.findIndex((part) => saidIn(part) !== null);
  const said = first < 0 && text === "" ? [] : [{ type: "text", text }];
  return [
    ...parts.slice(0, Math.max(0, first)),
    ...said,
    ...parts.slice(Math.max(0, first)).filter((part) => saidIn(part) === null),
  ];
}

/** The text of a part; null if it has none (an image, a file). */
export function saidIn({ text, refusal }: JsonObject): string | null {
  if (typeof text === "string") return text;
  return typeof refusal === "string" ? refusal : null;
}

type OwnPart = JsonObject & { readonly type: string };

/** Translates a part from the vocabulary of a model API, even if members are missing. */
export function ownPart(type: string, part: JsonObject): OwnPart {
  const { image_url: image, file } = part;
  if (type === "image_url") {
    const { url, detail } = isJsonObject(image) ? image : { url: image };
    return { type: "image", url, detail: detail ?? "auto" };
  }
  const ours = type.replace(/^(input|output)_/, "");
  const own = type === "file" && isJsonObject(file) ? { type, ...file } : part;
  if (!partTypes.has(ours)) return { ...own, type };
  const renamed: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(own))
    if (value !== undefined) setMember(renamed, otherNames.get(name) ?? name, value);
  return { ...renamed, type: ours };
}

const partTypes: ReadonlySet<string> = new Set(["text", "image", "file", "audio"]);

/** The names that model APIs use for the members of turnlog's parts. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ...([
    ["image_url", "url"],
    ["file_url", "url"],
    ["file_id", "fileId"],
  ] as const),
  ...([
    ["file_data", "data"],
    ["filename", "name"],
    ["input_audio", "audio"],
  ] as const),
]);

/** The text of a content, an output or a summary, for people. */
export function readable(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!isJsonList(value)) return value === undefined || value === null ? "" : JSON.stringify(value);
  return value.map((part) => (isJsonObject(part) ? (saidIn(part) ?? "") : "")).join("");
}
