import type { Refusal } from "../refusals.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { unitsOf } from "./prompt-units.ts";

/** A rejection in the form of the Messages API. */
export const said = (message: string, status = 400, type = "invalid_request_error"): Refusal => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_reference" },
});

/** Top-level members, from MessageCreateParams of @anthropic-ai/sdk 1.12.0 (including beta ones): others are rejected. */
const fields = new Set(
  "model max_tokens messages system tools tool_choice thinking output_config output_format cache_control container diagnostics inference_geo metadata service_tier speed stop_sequences stream thread compaction context_management mcp_servers fallbacks billing_policy fallback_credit_token user_profile_id workspace_id".split(
    " ",
  ),
);

/**
 * What is wrong with a request by itself: its members, its messages, then calls and results.
 *
 * @param held - How many of its messages the server already has: the ids of their calls are valid.
 */
export function checkRequest(
  body: JsonObject,
  models: readonly string[] | undefined,
  held: number,
): Refusal | undefined {
  const model = stringOf(body["model"]);
  if (model === undefined) return said("model: Field required");
  if (typeof body["max_tokens"] !== "number") return said("max_tokens: Field required");
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) return said(`${unknown}: Extra inputs are not permitted`);
  if (models?.includes(model) === false) return said(`model: ${model}`, 404, "not_found_error");
  const { messages } = body;
  if (!isArray(messages)) return said("messages: Field required");
  if (messages.length === 0) return said("messages: at least one message is required");
  for (const [at, message] of messages.entries()) {
    const wrong = checkMessage(message, { at, isLast: at === messages.length - 1 });
    if (wrong !== undefined) return wrong;
  }
  const marks =
    countMarks([body["system"] ?? null, body["tools"] ?? null, messages]) +
    (body["cache_control"] === undefined ? 0 : 1);
  if (marks > 4) return said(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
  const areLong = unitsOf(body).flatMap(({ mark }) => (mark === undefined ? [] : [mark["ttl"] === "1h"]));
  if (areLong.includes(false) && areLong.lastIndexOf(true) > areLong.indexOf(false))
    return said("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block");
  const all = objectsOf(messages);
  return checkSystems(all) ?? checkPairs(all, held) ?? checkEnd(all);
}

/** The content blocks that a message may have, by role. */
const blockTypes: Readonly<Record<string, (type: string) => boolean>> = {
  user: (type) => /^(text|image|document|search_result|container_upload|tool_result)$/.test(type),
  system: (type) => /^(text|tool_addition|tool_removal)$/.test(type),
  assistant: (type) => !/^(image|document|search_result|tool_result|input_text|output_text)$/.test(type),
};

function checkMessage(
  message: Json,
  { at, isLast }: { readonly at: number; readonly isLast: boolean },
): Refusal | undefined {
  const place = `messages.${at}`;
  if (!isObject(message)) return said(`${place}: Input should be an object`);
  const role = stringOf(message["role"]) ?? "";
  const isTaken = blockTypes[role];
  if (isTaken === undefined) return said(`${place}.role: Input should be 'user', 'assistant' or 'system'`);
  const content = message["content"] ?? null;
  const blocks = objectsOf(content);
  const isEmpty = content === "" || (isArray(content) && blocks.length === 0);
  if (isEmpty && !(isLast && role === "assistant"))
    return said(`${place}: all messages must have non-empty content except for the optional final assistant message`);
  if (typeof content !== "string" && !isArray(content)) return said(`${place}.content: Input should be a valid array`);
  for (const [index, block] of blocks.entries()) {
    const type = stringOf(block["type"]) ?? "";
    const path = `${place}.content.${index}`;
    if (!isTaken(type)) return wrongTag(path, type);
    const wrong = checkBlock(block, type, path);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** The content that a result may have. */
const resultTypes = /^(text|image|document|search_result|tool_reference|browser_state)$/;

function checkResult({ content = "" }: JsonObject, path: string): Refusal | undefined {
  if (typeof content === "string") return undefined;
  if (!isArray(content)) return said(`${path}.tool_result.content: Input should be a valid array`);
  for (const [index, part] of content.entries()) {
    const place = `${path}.tool_result.content.${index}`;
    if (!isObject(part)) return said(`${place}: Input should be an object`);
    const type = stringOf(part["type"]) ?? "";
    if (!resultTypes.test(type)) return wrongTag(place, type);
  }
  return undefined;
}

const wrongTag = (path: string, type: string): Refusal =>
  said(`${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`);

function checkBlock(block: JsonObject, type: string, path: string): Refusal | undefined {
  if (type === "text" && (stringOf(block["text"]) ?? "").trim() === "")
    return said("messages: text content blocks must contain non-whitespace text");
  if (block["cache_control"] !== undefined && /thinking$/.test(type))
    return said(`${path}.${type}.cache_control: Extra inputs are not permitted`);
  const { cache_control: mark } = block;
  if (mark !== undefined && !(isObject(mark) && mark["type"] === "ephemeral" && isLifetime(mark["ttl"])))
    return said(`${path}.${type}.cache_control: Input should be {"type": "ephemeral"}, with a ttl of '5m' or '1h'`);
  const lacking = (thoughtMembers[type] ?? []).find((name) => typeof block[name] !== "string");
  if (lacking !== undefined) return said(`${path}.${type}.${lacking}: Field required`);
  if (type === "tool_result") return checkResult(block, path);
  if (type !== "tool_use") return undefined;
  if (!isObject(block["input"])) return said(`${path}.tool_use.input: Input should be a valid dictionary`);
  if (!/^[a-zA-Z0-9_-]+$/.test(stringOf(block["id"]) ?? ""))
    return said(`${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  const strange = Object.keys(block).find((name) => !callMembers.has(name));
  return strange === undefined ? undefined : said(`${path}.tool_use.${strange}: Extra inputs are not permitted`);
}

/** The required members of a thinking block; an empty one is signed, too. */
const thoughtMembers: Readonly<Record<string, readonly string[]>> = {
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"],
};

const isLifetime = (ttl: Json | undefined): boolean => ttl === undefined || ttl === "5m" || ttl === "1h";

const callMembers = new Set(["type", "id", "name", "input", "caller", "toolset_name", "cache_control"]);

/** The number of cache breakpoints in a value. */
export const countMarks = (value: Json): number => {
  if (isArray(value)) return value.reduce<number>((sum, each) => sum + countMarks(each), 0);
  if (!isObject(value)) return 0;
  return (value["cache_control"] === undefined ? 0 : 1) + countMarks(value["content"] ?? null);
};

/** A system message follows a user message, and is the last message or comes before a message of the model. */
function checkSystems(messages: readonly JsonObject[]): Refusal | undefined {
  const at = messages.findIndex(({ role }, index) => {
    if (role !== "system") return false;
    const after = messages[index + 1];
    return messages[index - 1]?.["role"] !== "user" || (after !== undefined && after["role"] !== "assistant");
  });
  return at < 0
    ? undefined
    : said(`messages.${at}: a system message must follow a user message and precede an assistant one`);
}

/** The results of all calls come first in the next user message; consecutive messages of one role count as one. */
function checkPairs(messages: readonly JsonObject[], held: number): Refusal | undefined {
  const turns: { role: string; at: number; blocks: JsonObject[] }[] = [];
  for (const [at, message] of messages.entries()) {
    const role = stringOf(message["role"]) ?? "";
    if (role === "system") continue;
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...objectsOf(message["content"]));
    else turns.push({ role, at, blocks: [...objectsOf(message["content"])] });
  }
  let open: readonly string[] = [];
  for (const { role, at, blocks } of turns) {
    if (role === "assistant") {
      open = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => stringOf(id) ?? "");
      // The real service accepted an id that an earlier turn of the model had used.
      const twice = open.find((id, index) => open.indexOf(id) !== index);
      if (twice !== undefined && at >= held)
        return said(
          `messages.${at}.content.${blocks.findLastIndex(({ id }) => id === twice)}: \`tool_use\` ids must be unique`,
        );
      continue;
    }
    const others = blocks.findIndex(({ type }) => type !== "tool_result");
    for (const [index, block] of blocks.entries()) {
      if (block["type"] !== "tool_result") continue;
      const id = stringOf(block["tool_use_id"]) ?? "";
      const isFirst = others < 0 || index < others;
      if (!isFirst || !open.includes(id))
        return said(
          `messages.${at}.content.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      open = open.filter((each) => each !== id);
    }
    if (open.length > 0) return unanswered(at - 1, open);
  }
  return open.length > 0 ? unanswered(messages.length - 1, open) : undefined;
}

const unanswered = (at: number, ids: readonly string[]): Refusal =>
  said(
    `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );

function checkEnd(messages: readonly JsonObject[]): Refusal | undefined {
  const last = messages.at(-1);
  const [end] = objectsOf(last?.["content"]).slice(-1);
  const isPaused =
    end !== undefined &&
    end["type"] !== "text" &&
    end["type"] !== "tool_use" &&
    !/thinking$/.test(stringOf(end["type"]) ?? "");
  return last?.["role"] === "assistant" && !isPaused
    ? said("This model does not support assistant message prefill. The conversation must end with a user message.")
    : undefined;
}
