import type { JsonObject, JsonValue } from "../base/json.ts";
import { allOf, anything, kindOf, optionsOf, required, textOf } from "../base/options.ts";
import { Block } from "./block.ts";
import { contentParts, ownParts } from "./message-content.ts";

/** A message of the user, as a text or as parts. */
export const user = (content: string | readonly JsonObject[]): Block => message("user", content);

/** A system or developer message. It becomes part of the conversation; for text that every request repeats use settings. */
export const system = (content: string | readonly JsonObject[], role: "system" | "developer" = "system"): Block =>
  message(role, content);

/** An assistant message that no provider produced: an import, an example, a cached answer. */
export const assistant = (content: string | readonly JsonObject[], phase?: string): Block =>
  message("assistant", content, phase);

export type ToolCallFields = { readonly callId: string; readonly name: string; readonly arguments: string };
const callFields = optionsOf<ToolCallFields>({
  callId: required(textOf("the id that its result names")),
  name: required(textOf("the name of the tool")),
  arguments: required(textOf("them as JSON text")),
});

/** A call of a function tool. */
export function toolCall(fields: ToolCallFields): Block {
  callFields.check("toolCall", fields);
  const { callId, name, arguments: given } = fields;
  const payload = { type: "function", callId, name, arguments: given };
  return new Block({ id: null, kind: "tool_call", payload });
}

export type ToolResultFields = { readonly callId: string; readonly output: JsonValue; readonly type?: string };
const resultFields = optionsOf<ToolResultFields>({
  callId: required(textOf("the id of the call that it answers")),
  ...{ output: anything, type: anything },
});

/**
 * The result of a tool call: a text, parts, or data. Pairing goes by position, so it belongs after the call that it answers. Parts in the
 * vocabulary of a model API (`input_image`) are translated to turnlog's, as in messages.
 */
export function toolResult(fields: ToolResultFields): Block {
  resultFields.check("toolResult", fields);
  const { callId, output, type = "function" } = fields;
  return new Block({ id: null, kind: "tool_result", payload: { type, callId, output: ownParts(output) } });
}

/** A model's reasoning, as far as its provider shows it. The encrypted part is the `ciphertext` in the wire of a draft. */
export const reasoning = (summary: string): Block =>
  new Block({ id: null, kind: "reasoning", payload: { type: "reasoning", summary: [text(summary)] } });

/** An item that only its provider understands, verbatim. */
export const other = (item: JsonObject): Block => new Block({ id: null, kind: "other", payload: item });

/** A text part of a message. */
export const text = (value: string): JsonObject => ({ type: "text", text: value });

/**
 * An image part, by address or data URL.
 *
 * @throws {TypeError} if the URL has no scheme, as in a path or plain base64: no server could read it.
 */
export function image(url: string, detail = "auto"): JsonObject {
  const given: unknown = url;
  if (typeof given === "string" && /^[a-z][a-z0-9+.-]*:/i.test(given)) return { type: "image", url, detail };
  const what = typeof given === "string" ? "has no scheme" : `is ${kindOf(given)}`;
  throw new TypeError(`image: the address ${what}: give https://…, or the content as data:image/png;base64,…`);
}

const fileText = textOf("{ fileId } as the provider calls it, or { name, data } with data:…;base64,…");
const fileFields = optionsOf<{ readonly fileId?: string; readonly name?: string; readonly data?: string }>(
  allOf(anything, "fileId", "name", "data"),
);

/**
 * A file part: by the provider's id, or its content as a data URL with a name.
 *
 * @throws {TypeError} if a member is unknown or missing: no server could read the file.
 */
export function file(
  fields: { readonly fileId: string } | { readonly name: string; readonly data: string },
): JsonObject {
  fileFields.check("file", fields);
  const needed = "fileId" in fields ? { fileId: fields.fileId } : { name: fields.name, data: fields.data };
  for (const [name, value] of Object.entries(needed)) fileText(`file: ${name}`, value);
  return { type: "file", ...fields };
}

/** An audio part: base64 data and its format. */
export const audio = (data: string, format: string): JsonObject => ({ type: "audio", audio: { data, format } });

function message(role: string, content: string | readonly JsonObject[], phase?: string): Block {
  const parts = contentParts(content, role === "developer" ? "system" : role);
  const kind = role === "user" || role === "assistant" ? role : "system";
  return new Block({ id: null, kind, payload: { role, content: parts, ...(phase === undefined ? {} : { phase }) } });
}
