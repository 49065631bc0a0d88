import { readingOf as readMessages } from "../messages/reading.ts";
import type { Reading } from "../options.ts";
import { isArray, type Json, type JsonObject, objectsOf, parseJson, stringOf } from "../wire.ts";

/** What a model reads of a session: what was added to the system prompt, then what the session was given and what it said. */
export function readingOf(messages: readonly JsonObject[], appended: string | undefined): Reading {
  const system = appended === undefined ? [] : [messageItem("system", [{ type: "text", text: appended }])];
  const items = messages.flatMap((message) => transcribed(message) ?? readMessages({ messages: [message] }).items);
  return { items: [...system, ...items], instructions: null, tools: [] };
}

const head = /^This is the conversation so far, one JSON object a line\. .*\n/;

/** What a message tells of a conversation that its session did not have; undefined where it tells none. */
function transcribed({ role, content = null }: JsonObject): readonly JsonObject[] | undefined {
  const [only, ...others] = objectsOf(content);
  const text = stringOf(only?.["text"]);
  if (role !== "user" || text === undefined || others.length > 0 || !head.test(text)) return undefined;
  return text
    .replace(head, "")
    .split("\n")
    .map((line) => itemOf(objectsOf([parseJson(line)])[0] ?? {}));
}

function itemOf({ role = null, text, content, call, tool = null, result, ...said }: JsonObject): JsonObject {
  if (call !== undefined)
    return { type: "function_call", call_id: call, name: tool, arguments: valueText(said["arguments"] ?? null) };
  if (result !== undefined) return { type: "function_call_output", call_id: result, output: said["output"] ?? null };
  if (text !== undefined) return messageItem(role, [{ type: "text", text }]);
  return messageItem(role, isArray(content) ? objectsOf(content).map(partOf) : (content ?? null));
}

const messageItem = (role: Json, content: Json): JsonObject => ({ type: "message", role, content });

/** A model of the CLI has its arguments as values: how they were written is not kept. */
function valueText(given: Json): string {
  if (typeof given !== "string") return JSON.stringify(given);
  try {
    return JSON.stringify(parseJson(given));
  } catch {
    return given;
  }
}

/** Parts of a transcript are what the client's Turn says, whatever wire it came by; images are of one size, as in a session. */
function partOf({ type = null, url, ...part }: JsonObject): JsonObject {
  return type === "image" && url !== undefined ? { type: "input_image", image_url: url } : { type, ...part };
}
