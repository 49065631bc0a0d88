import type { Reading } from "../options.ts";
import { isArray, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { textsIn } from "./answer.ts";

/** What a model reads of an interaction: the steps of its context, as items of the Responses API. */
export function readingOf(body: JsonObject, steps: readonly JsonObject[]): Reading {
  const instructions = stringOf(body["system_instruction"]);
  const said = instructions === undefined ? [] : [message("system", [{ type: "text", text: instructions }])];
  return {
    items: [...said, ...steps.flatMap(itemsOf)],
    // They come before the steps.
    instructions: null,
    tools: objectsOf(body["tools"]).map(({ type, ...tool }) =>
      type === "function" ? tool : { type: type ?? "", value: tool },
    ),
  };
}

function itemsOf(step: JsonObject): readonly JsonObject[] {
  const { type, content, summary, id, call_id: callId, name = "", arguments: args = {}, result = "" } = step;
  switch (type) {
    case "user_input":
      return [message("user", objectsOf(content))];
    case "model_output":
      return [message("assistant", objectsOf(content))];
    case "thought":
      // A signature alone has no text.
      return textsIn(summary).map((text) => ({ type: "reasoning", summary: [{ type: "summary_text", text }] }));
    case "function_call":
      return [{ type: "function_call", call_id: id ?? "", name, arguments: JSON.stringify(args) }];
    case "function_result":
      return [{ type: "function_call_output", call_id: callId ?? "", output: outputOf(result) }];
    default:
      return [step];
  }
}

const message = (role: string, content: readonly JsonObject[]): JsonObject => ({
  ...{ type: "message", role, content: content.map(partOf) },
});

function outputOf(result: Json): Json {
  if (isArray(result)) return objectsOf(result).map(partOf);
  return typeof result === "string" ? result : JSON.stringify(result);
}

function partOf({ type, text, data, mime_type: mime, uri }: JsonObject): JsonObject {
  if (type === "text") return { type: "text", text: text ?? "" };
  const mimeType = stringOf(mime) ?? "";
  if (type === "audio")
    return { type: "input_audio", input_audio: { data: data ?? "", format: mimeType.replace(/^[^/]*\//, "") } };
  const url = data === undefined ? undefined : `data:${mimeType};base64,${stringOf(data) ?? ""}`;
  if (type === "image") return { type: "input_image", image_url: url ?? uri ?? "" };
  return { type: "input_file", ...(url === undefined ? { file_url: uri ?? "" } : { file_data: url }) };
}
