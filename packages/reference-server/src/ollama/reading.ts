import type { Reading } from "../options.ts";
import { functionsOf } from "../readings.ts";
import { isArray, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";

/** What a model reads of a request: its messages, as items of the Responses API. */
export const readingOf = (body: JsonObject, messages: readonly JsonObject[]): Reading => ({
  items: itemsOf(collated(messages)),
  // On this wire, instructions are a message.
  instructions: null,
  tools: functionsOf(body),
});

/**
 * Consecutive messages of one role become one message, except for results: their texts are joined, images are marked in them, and only
 * the first message's calls and reasoning are kept (Ollama, template/template.go).
 */
function collated(messages: readonly JsonObject[]): readonly JsonObject[] {
  const all: JsonObject[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (last === undefined || last["role"] !== message["role"] || message["role"] === "tool") {
      all.push(message);
      continue;
    }
    const texts = [last, message].flatMap(textOf);
    const images = [...imagesOf(last), ...imagesOf(message)];
    all[all.length - 1] = { ...last, content: texts.join("\n\n"), ...(images.length === 0 ? {} : { images }) };
  }
  return all;
}

/** The text of a message. A message with only images contributes only their marks, which are read as the images. */
function textOf(message: JsonObject): readonly string[] {
  const text = stringOf(message["content"]) ?? "";
  return text === "" && imagesOf(message).length > 0 ? [] : [text];
}

const imagesOf = ({ images = null }: JsonObject): readonly Json[] => (isArray(images) ? images : []);

/** A result names its call by id, or else answers the first open call. */
function itemsOf(messages: readonly JsonObject[]): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let open: string[] = [];
  let made = 0;
  for (const message of messages) {
    const { role = "", content = "" } = message;
    const images = imagesOf(message).map((data) => ({ type: "input_image", image_url: stringOf(data) ?? "" }));
    if (role === "tool") {
      const id = stringOf(message["tool_call_id"]) ?? open[0] ?? null;
      open = open.filter((each) => each !== id);
      const parts = [...images, { type: "input_text", text: content }];
      items.push({ type: "function_call_output", call_id: id, output: images.length === 0 ? content : parts });
      continue;
    }
    const thinking = stringOf(message["thinking"]) ?? "";
    if (role === "assistant" && thinking !== "")
      items.push({ type: "reasoning", summary: [{ type: "summary_text", text: thinking }] });
    if (content !== "" || images.length > 0)
      items.push({
        type: "message",
        role,
        content: [...images, ...(content === "" ? [] : [{ type: "text", text: content }])],
      });
    for (const { id, function: called } of role === "assistant" ? objectsOf(message["tool_calls"]) : []) {
      const { name = "", arguments: given = {} } = objectsOf([called ?? null])[0] ?? {};
      made += 1;
      const callId = stringOf(id) ?? `unnamed ${made}`;
      open.push(callId);
      items.push({ type: "function_call", call_id: callId, name, arguments: JSON.stringify(given) });
    }
  }
  return items;
}
