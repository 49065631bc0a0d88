import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember, textOrEmpty } from "../../base/json.ts";
import { withTexts } from "../answers/server-said.ts";
import { type OwnNames, ownNames } from "./own-names.ts";

/**
 * The content of a message as blocks hold it: a list of parts, whose types do not depend on the role. A text becomes one text part; log
 * probabilities and empty optional members are left out; parts of unknown types stay as they are.
 */
export function partsOf(content: JsonValue): JsonValue {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isJsonList(content) ? content.map(normalPart) : content;
}

/** The content of a message as a request sends it for its role. */
export function contentFor(role: JsonValue | undefined, content: JsonValue): JsonValue {
  if (typeof content === "string") return [{ type: textType(role), text: content }];
  if (!isJsonList(content)) return content;
  return content.map((part) => {
    if (!isJsonObject(part)) return part;
    const type = textOrEmpty(part["type"]);
    const wireType = type === "text" ? textType(role) : inputTypes.get(type);
    return wireType === undefined ? part : renamed(part, wireType, namesOf(type).wire);
  });
}

/** The parts of a reasoning's summary or content as blocks hold them: texts under a type of their own. */
export const thoughtsOf = (parts: JsonValue, wireType: string): JsonValue => retyped(parts, wireType, "text");

/** The same as a request sends them. */
export const thoughtsFor = (parts: JsonValue, wireType: string): JsonValue => retyped(parts, "text", wireType);

/** Why a message of this role cannot have such a part; null if it can (400s that were seen). */
export function partRefusal(role: string, part: JsonObject): string | null {
  const type = textOrEmpty(part["type"]);
  if (role === "assistant" && inputTypes.has(type))
    return `a message of the assistant cannot carry a part of type ${type}`;
  if (role !== "assistant" && type === "refusal") return `a message of ${role} cannot carry a refusal`;
  const foreign = Object.keys(part).find(namesOf(type).isForeign);
  return foreign === undefined ? null : `a part of type ${type} calls ${foreign} '${namesOf(type).own(foreign)}'`;
}

const inputTypes: ReadonlyMap<string, string> = new Map([
  ["image", "input_image"],
  ["file", "input_file"],
  ["audio", "input_audio"],
]);

const noNames = ownNames({});
const namesByType: ReadonlyMap<string, OwnNames> = new Map([
  ["image", ownNames({ image_url: "url", file_id: "fileId" })],
  ["file", ownNames({ file_id: "fileId", file_url: "url", file_data: "data", filename: "name" })],
  ["audio", ownNames({ input_audio: "audio" })],
]);
const namesOf = (type: string): OwnNames => namesByType.get(type) ?? noNames;

const normalTypes: ReadonlyMap<string, string> = new Map([
  ["text", "text"],
  ["input_text", "text"],
  ["output_text", "text"],
  ["refusal", "refusal"],
  ...[...inputTypes].flatMap(([ours, theirs]): [string, string][] => [
    [ours, ours],
    [theirs, ours],
  ]),
]);

function normalPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part)) return part;
  const type = normalTypes.get(textOrEmpty(part["type"]));
  if (type === undefined) return part;
  const said = type === "text" || type === "refusal" ? withTexts(part, [type]) : part;
  return renamed(said, type, namesOf(type).own);
}

/** Without empty members and log probabilities. */
function renamed(part: JsonObject, type: string, rename: (name: string) => string): JsonObject {
  const other: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(part)) {
    const isEmpty =
      value === undefined || value === null || (name === "annotations" && isJsonList(value) && value.length === 0);
    if (!isEmpty && name !== "logprobs") setMember(other, rename(name), name === "type" ? type : value);
  }
  return other;
}

const retyped = (parts: JsonValue, from: string, to: string): JsonValue =>
  isJsonList(parts)
    ? parts.map((part) => (isJsonObject(part) && part["type"] === from ? { ...part, type: to } : part))
    : parts;

const textType = (role: JsonValue | undefined): string => (role === "assistant" ? "output_text" : "input_text");
