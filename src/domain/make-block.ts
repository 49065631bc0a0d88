import type { JsonObject, JsonValue } from "../base/json.ts";
import { Block } from "./block.ts";

/** A message of the user, as a text or as parts. */
export const user = (content: string | readonly JsonObject[]): Block => message("user", content);

/** A system message, or a developer's. It stands in the conversation; for what every request carries anew use settings. */
export const system = (content: string | readonly JsonObject[], role: "system" | "developer" = "system"): Block =>
  message(role, content);

/** An answer that no provider gave: an import, an example, a cached one. */
export const assistant = (content: string | readonly JsonObject[], phase?: string): Block =>
  message("assistant", content, phase);

/** A call of a function tool. */
export const toolCall = (fields: {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}): Block =>
  new Block({
    id: null,
    kind: "tool_call",
    payload: { type: "function_call", call_id: fields.callId, name: fields.name, arguments: fields.arguments },
  });

/** What a tool answered to a call: pairing is by position, so it belongs after the call it answers. */
export const toolResult = (fields: {
  readonly callId: string;
  readonly output: JsonValue;
  readonly type?: string;
}): Block =>
  new Block({
    id: null,
    kind: "tool_result",
    payload: { type: fields.type ?? "function_call_output", call_id: fields.callId, output: fields.output },
  });

/** A text part of a message. */
export const text = (value: string): JsonObject => ({ type: "text", text: value });

/** An image part, by address or data URL. */
export const image = (imageUrl: string, detail = "auto"): JsonObject => ({
  type: "image",
  image_url: imageUrl,
  detail,
});

/** A file part: by the provider's id, or its content as a data URL with a name. */
export const file = (
  fields: { readonly file_id: string } | { readonly filename: string; readonly file_data: string },
): JsonObject => ({
  type: "file",
  ...fields,
});

/** An audio part: base64 data and its format. */
export const audio = (data: string, format: string): JsonObject => ({ type: "audio", input_audio: { data, format } });

function message(role: string, content: string | readonly JsonObject[], phase?: string): Block {
  const parts = typeof content === "string" ? [text(content)] : content;
  const kind = role === "user" || role === "assistant" ? role : "system";
  return new Block({ id: null, kind, payload: { role, content: parts, ...(phase === undefined ? {} : { phase }) } });
}
