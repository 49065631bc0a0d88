import { isJsonList, isJsonObject, type JsonObject, type JsonValue, jsonTextOf, textOrEmpty } from "../../base/json.ts";
import { audio, file, image, text } from "../../domain/make-block.ts";

/**
 * The result of a call as a tool returns it: a text, parts, or the structured content if the result has nothing else.
 *
 * @throws {Error} with the server's words if the call failed, or was refused for its arguments.
 */
export function resultOf(result: unknown): JsonValue {
  if (!isJsonObject(result)) throw new Error("the tool ran, but the MCP server gave no result");
  const { content, structuredContent, isError } = result;
  const parts = isJsonList(content) ? content.map(partOf) : [];
  if (isError === true) throw new Error(wordsOf(parts, structuredContent) || "the tool failed without a reason");
  const [first] = parts;
  if (first === undefined) return structuredContent ?? "";
  return parts.length === 1 && first["type"] === "text" ? textOrEmpty(first["text"]) : parts;
}

/** What the server says of a failure; parts that are no texts say nothing. */
const wordsOf = (parts: readonly JsonObject[], structured: JsonValue | undefined): string =>
  parts
    .map((part) => textOrEmpty(part["text"]))
    .join("\n")
    .trim() || (structured === undefined ? "" : jsonTextOf(structured));

/** A part of a result. One of an unknown type, or that lacks what its type needs, is kept as JSON. */
function partOf(part: JsonValue): JsonObject {
  if (!isJsonObject(part)) return text(jsonTextOf(part));
  const { type, data, mimeType, resource, uri, name } = part;
  if (type === "text" && typeof part["text"] === "string") return text(part["text"]);
  if (type === "image" || type === "audio")
    if (typeof data === "string" && typeof mimeType === "string") return mediaPart(mimeType, data, `a.${type}`);
  if (type === "resource" && isJsonObject(resource)) return resourcePart(resource);
  if (type === "resource_link" && typeof uri === "string")
    return text(typeof name === "string" && name !== "" ? `${name}: ${uri}` : uri);
  return text(jsonTextOf(part));
}

function resourcePart(resource: JsonObject): JsonObject {
  const { uri, mimeType, blob } = resource;
  if (typeof resource["text"] === "string") return text(resource["text"]);
  if (typeof blob !== "string") return text(jsonTextOf(resource));
  const type = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  return mediaPart(type, blob, textOrEmpty(uri).split("/").at(-1) || "resource");
}

function mediaPart(mimeType: string, data: string, name: string): JsonObject {
  const [type = "", format = ""] = mimeType.split(";")[0]?.split("/") ?? [];
  if (type === "image") return image(`data:${mimeType};base64,${data}`);
  if (type === "audio") return audio(data, audioFormats.get(format) ?? format);
  return file({ name, data: `data:${mimeType};base64,${data}` });
}

/** The names that models have for formats of audio. */
const audioFormats: ReadonlyMap<string, string> = new Map([
  ...[["mpeg", "mp3"] as const, ["x-wav", "wav"] as const, ["wave", "wav"] as const, ["vnd.wave", "wav"] as const],
]);
