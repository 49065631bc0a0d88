import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/** A content block as a part of a message or of a result; a block without a counterpart stays as it is. */
export function partOf(block: JsonObject): JsonObject {
  const { type, source } = block;
  if (type === "text") return { type, text: block["text"] };
  if (!isJsonObject(source)) return block;
  if (type === "image") return imagePart(source) ?? block;
  return type === "document" ? (filePart(source, block["title"]) ?? block) : block;
}

function imagePart({ type, media_type: mediaType, data, url, file_id: fileId }: JsonObject): JsonObject | null {
  if (type === "base64" && isText(mediaType) && isText(data))
    return { type: "image", url: `data:${mediaType};base64,${data}` };
  if (type === "url" && isText(url)) return { type: "image", url };
  return type === "file" && isText(fileId) ? { type: "image", fileId } : null;
}

function filePart(
  { type, media_type: mediaType, data, url, file_id: fileId }: JsonObject,
  title: JsonValue | undefined,
): JsonObject | null {
  const name = isText(title) ? { name: title } : {};
  if (type === "base64" && isText(mediaType) && isText(data))
    return { type: "file", ...name, data: `data:${mediaType};base64,${data}` };
  if (type === "url" && isText(url)) return { type: "file", ...name, url };
  return type === "file" && isText(fileId) ? { type: "file", ...name, fileId } : null;
}

/** A part as a content block. `detail` of an image has no counterpart and is left out. */
export function contentOf(part: JsonObject): JsonObject {
  const { type, url, fileId, name, data } = part;
  const title = type === "file" && isText(name) ? { title: name } : {};
  const kind = type === "file" ? "document" : type;
  if (type !== "image" && type !== "file") return part;
  if (isText(fileId)) return { type: kind, source: { type: "file", file_id: fileId }, ...title };
  const address = type === "image" ? url : (data ?? url);
  const [, mediaType, encoded] = isText(address) ? (/^data:([^;,]+);base64,(.*)$/s.exec(address) ?? []) : [];
  if (mediaType === undefined) return { type: kind, source: { type: "url", url: address }, ...title };
  const isImage = mediaType.startsWith("image/");
  const source = { type: "base64", media_type: mediaType, data: encoded };
  return { type: isImage ? "image" : "document", source, ...(isImage ? {} : title) };
}

/** Why the content of a user message, a system message or a result cannot have such a part; null if it can. */
export function partRefusal(part: JsonObject): string | null {
  const { type, url, fileId, data } = part;
  if (type === "audio" || type === "refusal") return `the Messages API has no ${type}`;
  if (type === "image" && !isText(url) && !isText(fileId)) return "an image has neither url nor fileId";
  if (type !== "file" || isText(fileId) || (isText(url) && !isText(data))) return null;
  return isText(data) && /^data:(application\/pdf|image\/[^;,]+);base64,/.test(data)
    ? null
    : "a file is a PDF or an image as a base64 data URL, an address, or a fileId";
}

/** Whether a text is empty: the API refuses such texts. */
export const isEmptyText = ({ type, text }: JsonObject): boolean =>
  type === "text" && (!isText(text) || text.trim() === "");

/** A tool's output as the content of its result. */
export function resultContent(output: JsonValue | undefined): JsonValue {
  if (typeof output === "string") return output;
  const content = contentIn(output);
  return content === null ? JSON.stringify(output ?? null) : content.map(contentOf);
}

/** A tool's output as a list of parts, turnlog's and those that only the API's results have; null for other output. */
function contentIn(output: JsonValue | undefined): readonly JsonObject[] | null {
  const isContent = (part: JsonValue): part is JsonObject =>
    isJsonObject(part) && isText(part["type"]) && contentTypes.has(part["type"]);
  return isJsonList(output) && output.every(isContent) ? output : null;
}

const contentTypes: ReadonlySet<string> = new Set([
  ...["text", "image", "file"],
  ...["document", "search_result", "tool_reference", "browser_state"],
]);

/** The content of a result as a block has it. */
export const resultOutput = (content: JsonValue): JsonValue =>
  isJsonList(content) && content.every(isJsonObject) ? content.map(partOf) : content;

const isText = (value: JsonValue | undefined): value is string => typeof value === "string";
