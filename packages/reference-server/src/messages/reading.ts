import type { Reading } from "../options.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";

/** What a model reads of a request: its messages, as items of the Responses API. */
export function readingOf(body: JsonObject): Reading {
  const { system } = body;
  const leading = typeof system === "string" ? [system] : objectsOf(system).map(({ text }) => stringOf(text) ?? "");
  return {
    items: [
      ...leading.map((text) => ({ type: "message", role: "system", content: [{ type: "text", text }] })),
      ...objectsOf(body["messages"]).flatMap(itemsOf),
    ],
    instructions: null,
    tools: objectsOf(body["tools"]).map(({ input_schema: parameters, cache_control: _, ...tool }) => ({
      ...tool,
      ...(parameters === undefined ? {} : { parameters }),
    })),
  };
}

function itemsOf({ role = null, content = null }: JsonObject): readonly JsonObject[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
  return blocks.map((block) => itemOf(block, role));
}

function itemOf(block: JsonObject, role: Json): JsonObject {
  switch (block["type"]) {
    case "tool_use":
      return {
        type: "function_call",
        call_id: block["id"] ?? null,
        name: block["name"] ?? null,
        arguments: argumentsIn(block["input"] ?? null),
      };
    case "tool_result":
      return {
        type: "function_call_output",
        call_id: block["tool_use_id"] ?? null,
        output: outputOf(block["content"] ?? ""),
      };
    case "thinking":
      return { type: "reasoning", summary: [{ type: "summary_text", text: block["thinking"] ?? "" }] };
    case "redacted_thinking":
      return { type: "reasoning", encrypted_content: block["data"] ?? null, summary: [] };
    case "text":
    case "image":
    case "document":
      return { type: "message", role, content: [partOf(block)] };
    default:
      return role === "assistant" ? block : { type: "message", role, content: [block] };
  }
}

function argumentsIn(input: Json): string {
  const invalid = isObject(input) && Object.keys(input).length === 1 ? stringOf(input["INVALID_JSON"]) : undefined;
  return invalid ?? JSON.stringify(input);
}

const outputOf = (content: Json): Json => (isArray(content) ? objectsOf(content).map(partOf) : content);

function partOf(block: JsonObject): JsonObject {
  const [source] = objectsOf([block["source"] ?? null]);
  const { media_type: mediaType, data, url, file_id: fileId } = source ?? {};
  const address = data === undefined ? url : `data:${stringOf(mediaType) ?? ""};base64,${stringOf(data) ?? ""}`;
  const named = fileId === undefined ? {} : { file_id: fileId };
  switch (block["type"]) {
    case "image":
      return { type: "input_image", ...(address === undefined ? {} : { image_url: address }), ...named };
    case "document":
      return {
        ...{ type: "input_file", ...named },
        ...(block["title"] === undefined ? {} : { filename: block["title"] }),
        ...(address === undefined ? {} : { file_data: address }),
      };
    default:
      return { type: "text", text: block["text"] ?? "" };
  }
}
