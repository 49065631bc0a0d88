import type { Reading } from "../options.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";

/** What a model reads of a prompt, as items of the Responses API. */
export function readingOf(body: JsonObject): Reading {
  return {
    items: objectsOf(body["prompt"]).flatMap(itemsOf),
    // On this wire, instructions are a message.
    instructions: null,
    tools: objectsOf(body["tools"]).map(({ inputSchema = {}, ...tool }) => ({ ...tool, parameters: inputSchema })),
  };
}

function itemsOf(message: JsonObject): readonly JsonObject[] {
  const role = stringOf(message["role"]) ?? "";
  const content = message["content"] ?? null;
  if (typeof content === "string") return [{ type: "message", role, content }];
  if (role === "user") return [{ type: "message", role, content: objectsOf(content).map(partOf) }];
  return objectsOf(content).map((part) => itemOf(part, role));
}

function itemOf(part: JsonObject, role: string): JsonObject {
  const { type, text = "", toolCallId = "", toolName = "", input = {}, output = null } = part;
  switch (type) {
    case "text":
      return { type: "message", role, content: [{ type: "text", text }] };
    case "reasoning":
      return { type: "reasoning", summary: [{ type: "summary_text", text }] };
    case "tool-call":
      return { type: "function_call", call_id: toolCallId, name: toolName, arguments: JSON.stringify(input) };
    case "tool-result":
      return { type: "function_call_output", call_id: toolCallId, output: outputOf(output) };
    default:
      return part;
  }
}

function outputOf(output: Json): Json {
  const { type, value = null } = isObject(output) ? output : {};
  if (type === "content") return objectsOf(value).map(partOf);
  return type === "text" || type === "error-text" ? value : JSON.stringify(value);
}

function partOf(part: JsonObject): JsonObject {
  const { type, mediaType, data, filename } = part;
  if (type !== "file") return part;
  const { url, data: content } = isObject(data) ? data : {};
  const source = url ?? `data:${stringOf(mediaType) ?? ""};base64,${stringOf(content) ?? ""}`;
  if (stringOf(mediaType)?.startsWith("image/") === true)
    return { type: "input_image", image_url: source, detail: "auto" };
  return {
    type: "input_file",
    ...(filename === undefined ? {} : { filename }),
    ...(url === undefined ? { file_data: source } : { file_url: source }),
  };
}
