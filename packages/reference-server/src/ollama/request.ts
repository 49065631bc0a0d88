import { nameOfType } from "../item-schema.ts";
import type { Refusal } from "../refusals.ts";
import { isArray, isObject, type Json, type JsonObject, stringOf } from "../wire.ts";

export const said = (message: string, status = 400): Refusal => ({ status, body: { error: message } });

/** Rejects what Go's decoder does not accept, in its words, and an unknown model. Unknown members are ignored. */
export function checkRequest(body: JsonObject, models: readonly string[] | undefined): Refusal | undefined {
  const { messages = null, tools = null } = body;
  const model = stringOf(body["model"]) ?? "";
  if (messages !== null && !isArray(messages)) return wrongType(messages, "messages", "[]api.Message");
  for (const message of messages ?? []) {
    const wrong = checkMessage(message);
    if (wrong !== undefined) return wrong;
  }
  if (tools !== null && !isArray(tools)) return wrongType(tools, "tools", "api.Tools");
  if (model === "") return said("model is required");
  return models?.includes(model) === false ? said(`model '${model}' not found`, 404) : undefined;
}

function checkMessage(message: Json): Refusal | undefined {
  if (!isObject(message)) return wrongType(message, "messages", "api.Message");
  const texts = ["role", "content", "thinking", "tool_name", "tool_call_id"];
  const strange = texts.find((name) => (message[name] ?? null) !== null && typeof message[name] !== "string");
  if (strange !== undefined) return wrongType(message[strange] ?? null, `messages.${strange}`, "string");
  const { images = null, tool_calls: calls = null } = message;
  if (images !== null && !isArray(images)) return wrongType(images, "messages.images", "[]api.ImageData");
  for (const image of images ?? []) {
    if (typeof image !== "string") return wrongType(image, "messages.images", "api.ImageData");
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(image) || image.length % 4 !== 0)
      return said("illegal base64 data at input byte 0");
  }
  if (calls !== null && !isArray(calls)) return wrongType(calls, "messages.tool_calls", "[]api.ToolCall");
  for (const call of calls ?? []) {
    const called = isObject(call) ? (call["function"] ?? {}) : call;
    const given = isObject(called) ? (called["arguments"] ?? {}) : called;
    if (!isObject(given))
      return wrongType(given, "messages.tool_calls.function.arguments", "api.ToolCallFunctionArguments");
  }
  return undefined;
}

const wrongType = (value: Json, field: string, type: string): Refusal =>
  said(
    `json: cannot unmarshal ${nameOfType(value).replace(/^an? /, "")} into Go struct field ChatRequest.${field} of type ${type}`,
  );
