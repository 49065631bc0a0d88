import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";

/** The parts that a message of each role may have (`LanguageModelV4Prompt` of `@ai-sdk/provider` 4). */
const partTypes: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "file"],
  assistant: ["text", "file", "custom", "reasoning", "reasoning-file", "tool-call", "tool-result"],
  tool: ["tool-result", "tool-approval-response"],
};

/**
 * What is wrong with the options of a call, in a sentence: an unknown message or part, a system message after the first ones,
 * a call without its result in the next message, a result without its call.
 */
export function checkPrompt({ prompt }: JsonObject): string | undefined {
  if (!isArray(prompt ?? null)) return "The prompt is a list of messages.";
  const messages = objectsOf(prompt ?? null);
  for (const [at, message] of messages.entries()) {
    const wrong = checkMessage(message, at);
    if (wrong !== undefined) return wrong;
  }
  return checkPairs(messages);
}

function checkMessage({ role, content = null }: JsonObject, at: number): string | undefined {
  if (role === "system") return typeof content === "string" ? undefined : `Message ${at}: a system message is a text.`;
  const known = partTypes[stringOf(role) ?? ""];
  if (known === undefined) return `Message ${at}: there is no role ${stringOf(role) ?? "of this name"}.`;
  if (!isArray(content) || content.length === 0) return `Message ${at}: its content is a list of parts.`;
  const strange = content.find((part) => !isKnown(part, known));
  return strange === undefined
    ? undefined
    : `Message ${at}: ${JSON.stringify(strange).slice(0, 200)} is no part of it.`;
}

function isKnown(part: Json, known: readonly string[]): boolean {
  if (!isObject(part) || !known.includes(stringOf(part["type"]) ?? "")) return false;
  const { type, text, toolCallId, toolName, input, output, mediaType, data } = part;
  if (type === "text" || type === "reasoning") return typeof text === "string";
  if (type === "file") return typeof mediaType === "string" && isObject(data);
  const isNamed = typeof toolCallId === "string" && typeof toolName === "string" && toolName !== "";
  if (type === "tool-call") return isNamed && input !== undefined && typeof input !== "string";
  return type !== "tool-result" || (isNamed && isObject(output) && typeof output["type"] === "string");
}

/** A message with calls is followed by one with all their results; results are allowed nowhere else. */
function checkPairs(messages: readonly JsonObject[]): string | undefined {
  let open: readonly string[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    const parts = typeof content === "string" ? [] : objectsOf(content ?? null);
    if (role === "tool") {
      const answered = parts.map(({ toolCallId }) => stringOf(toolCallId) ?? "");
      const orphan = answered.find((id) => !open.includes(id));
      if (orphan !== undefined) return `Message ${at}: no call of ${orphan} stands before its result.`;
      open = open.filter((id) => !answered.includes(id));
    }
    if (open.length > 0 && role !== "tool") return `Message ${at}: the calls ${open.join(", ")} have no result.`;
    if (role === "assistant") {
      open = parts
        .filter(({ type, providerExecuted }) => type === "tool-call" && providerExecuted !== true)
        .map(({ toolCallId }) => stringOf(toolCallId) ?? "");
      if (new Set(open).size < open.length) return `Message ${at}: two calls have one id.`;
    }
  }
  return open.length === 0 ? undefined : `The calls ${open.join(", ")} have no result.`;
}
