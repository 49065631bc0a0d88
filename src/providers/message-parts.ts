import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../base/json.ts";

/**
 * The content of a message as blocks hold it: a list of parts, whose types do not depend on the role. A string is one
 * text part; log probabilities and empty optionals are left out; parts of unknown types stay as they are.
 */
export function partsOf(content: JsonValue): JsonValue {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isJsonList(content) ? content.map(normalPart) : content;
}

/** The content of a message as a request carries it for its role. */
export function contentFor(role: JsonValue | undefined, parts: JsonValue): JsonValue {
  if (!isJsonList(parts)) return parts;
  return parts.map((part) => {
    if (!isJsonObject(part)) return part;
    const type = typeName(part) === "text" ? textType(role) : inputTypes.get(typeName(part));
    return type === undefined ? part : { ...part, type };
  });
}

/** Why a message of this role cannot have such a part; null when it can (live 400s of responses-api.md, section 3). */
export function partRefusal(role: string, part: JsonObject): string | null {
  const type = typeName(part);
  if (role === "assistant" && inputTypes.has(type))
    return `a message of the assistant cannot carry a part of type ${type}`;
  if (role !== "assistant" && type === "refusal") return `a message of ${role} cannot carry a refusal`;
  return null;
}

const inputTypes: ReadonlyMap<string, string> = new Map([
  ["image", "input_image"],
  ["file", "input_file"],
  ["audio", "input_audio"],
]);

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
  const type = normalTypes.get(typeName(part));
  if (type === undefined) return part;
  const normal: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(part)) {
    const isEmpty =
      value === undefined || value === null || (name === "annotations" && isJsonList(value) && value.length === 0);
    if (!isEmpty && name !== "logprobs") setMember(normal, name, name === "type" ? type : value);
  }
  return normal;
}

const textType = (role: JsonValue | undefined): string => (role === "assistant" ? "output_text" : "input_text");
const typeName = ({ type }: JsonObject): string => (typeof type === "string" ? type : "");
