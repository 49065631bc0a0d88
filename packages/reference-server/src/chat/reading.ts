import type { Reading } from "../options.ts";
import { functionsOf } from "../readings.ts";
import { type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { type ChatServerDialect, thoughtMembers } from "./dialects.ts";

/** What a model reads of a request: its messages, as items of the Responses API. */
export function readingOf(body: JsonObject, dialect: ChatServerDialect): Reading {
  return {
    items: objectsOf(body["messages"]).flatMap((message) => itemsOf(message, dialect)),
    // On this wire, instructions are a message.
    instructions: null,
    tools: functionsOf(body),
  };
}

function itemsOf(message: JsonObject, dialect: ChatServerDialect): readonly JsonObject[] {
  const role = stringOf(message["role"]) ?? "";
  const content = message["content"] ?? null;
  if (role === "tool")
    return [{ type: "function_call_output", call_id: message["tool_call_id"] ?? null, output: contentOf(content) }];
  if (role !== "assistant") return [{ type: "message", role, content: contentOf(content) }];
  const parts = objectsOf(content);
  const thinking = parts.filter(({ type }) => type === "thinking");
  const thought = stringOf(message[thoughtMembers[dialect] ?? ""]) ?? "";
  const texts = thinking.map((part) => objectsOf(part["thinking"]).map(({ text }) => text ?? ""));
  const refusal = stringOf(message["refusal"]);
  const said = typeof content === "string" ? textParts(content) : parts.filter(({ type }) => type !== "thinking");
  const spoken = [...said, ...(refusal === undefined ? [] : [{ type: "refusal", refusal }])];
  return [
    ...(thought === "" ? [] : [reasoningItem([thought])]),
    ...texts.map(reasoningItem),
    ...(spoken.length === 0 ? [] : [{ type: "message", role, content: spoken }]),
    ...objectsOf(message["tool_calls"]).map(callItem),
  ];
}

const textParts = (text: string): readonly JsonObject[] => (text === "" ? [] : [{ type: "text", text }]);

const reasoningItem = (texts: readonly Json[]): JsonObject => ({
  type: "reasoning",
  summary: texts.map((text) => ({ type: "summary_text", text })),
});

function callItem({ id = null, function: called, custom }: JsonObject): JsonObject {
  const [tool] = objectsOf([custom ?? null]);
  if (tool !== undefined) return { type: "custom_tool_call", call_id: id, ...tool };
  return { type: "function_call", call_id: id, ...objectsOf([called ?? null])[0] };
}

function contentOf(content: Json): Json {
  return typeof content === "string" ? content : objectsOf(content).map(partOf);
}

function partOf(part: JsonObject): JsonObject {
  const [told] = objectsOf([part["image_url"] ?? part["file"] ?? null]);
  switch (part["type"]) {
    case "image_url":
      return { type: "input_image", image_url: told?.["url"] ?? "", detail: told?.["detail"] ?? "auto" };
    case "file":
      return { type: "input_file", ...told };
    default:
      return part;
  }
}
