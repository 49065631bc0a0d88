import { readingOf as readMessages } from "../messages/reading.ts";
import type { Reading } from "../options.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, parseJson, stringOf } from "../wire.ts";

/** What a model reads of a session: the text added to the system prompt, then all messages and answers of the session. */
export function readingOf(messages: readonly JsonObject[], appended: string | undefined): Reading {
  const system = appended === undefined ? [] : [messageItem("system", [{ type: "text", text: appended }])];
  const items = messages.flatMap((message) => transcribed(message) ?? readMessages({ messages: [message] }).items);
  return { items: [...system, ...items], instructions: null, tools: [] };
}

const head = /^This is the conversation so far, one JSON object a line\. .*\n/;

/** The transcript in a message, of a conversation that its session did not have, with the images after it; undefined if there is none. */
function transcribed({ role, content = null }: JsonObject): readonly JsonObject[] | undefined {
  const [only, ...others] = objectsOf(content);
  const text = stringOf(only?.["text"]);
  const areImages = others.every(({ type }) => type === "image");
  if (role !== "user" || text === undefined || !areImages || !head.test(text)) return undefined;
  const images = others.map(imageItem);
  return text
    .replace(head, "")
    .split("\n")
    .map((line) => itemOf(objectsOf([parseJson(line)])[0] ?? {}, images));
}

/** An image of a session's message, as an item of the Responses API. */
function imageItem(image: JsonObject): JsonObject {
  const [item] = readMessages({ messages: [{ role: "user", content: [image] }] }).items;
  return objectsOf(item?.["content"])[0] ?? image;
}

function itemOf(
  { role = null, text, content, call, tool = null, result, ...said }: JsonObject,
  images: readonly JsonObject[],
): JsonObject {
  const read = (parts: Json): Json => (isArray(parts) ? parts.map((part) => partOf(part, images)) : parts);
  if (call !== undefined)
    return { type: "function_call", call_id: call, name: tool, arguments: valueText(said["arguments"] ?? null) };
  if (result !== undefined)
    return { type: "function_call_output", call_id: result, output: read(said["output"] ?? null) };
  if (text !== undefined) return messageItem(role, [{ type: "text", text }]);
  return messageItem(role, read(content ?? null));
}

const messageItem = (role: Json, content: Json): JsonObject => ({ type: "message", role, content });

/** The CLI passes arguments as values: their original text is lost. */
function valueText(given: Json): string {
  if (typeof given !== "string") return JSON.stringify(given);
  try {
    return JSON.stringify(parseJson(given));
  } catch {
    return given;
  }
}

/** A part of a transcript as the client's Turn has it, on any wire; an image is the one with its number after the text. */
function partOf(part: Json, images: readonly JsonObject[]): Json {
  if (!isObject(part) || part["type"] !== "image" || typeof part["shown"] !== "number") return part;
  return images[part["shown"] - 1] ?? part;
}
