import { nameOfType } from "../item-schema.ts";
import type { Refusal } from "../refusals.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import type { ChatServerDialect } from "./dialects.ts";
import * as refuse from "./refusals.ts";

/** Top-level fields, from ChatCompletionCreateParams of openai 7.57.0: OpenAI rejects all others. */
const fields = new Set(
  "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options".split(
    " ",
  ),
);

/** What is wrong with a request by itself, in the dialect's words: its fields, its messages, then calls and results. */
export function checkRequest(
  body: JsonObject,
  dialect: ChatServerDialect,
  models: readonly string[] | undefined,
): Refusal | undefined {
  const model = stringOf(body["model"]);
  if (model === undefined) return refuse.missing(dialect, "model");
  const unknown = dialect === "openai" ? Object.keys(body).find((name) => !fields.has(name)) : undefined;
  if (unknown !== undefined) return refuse.unknownArgument(unknown);
  if (models?.includes(model) === false) return refuse.unknownModel(dialect, model);
  const { messages } = body;
  if (!isArray(messages)) return refuse.missing(dialect, "messages");
  if (messages.length === 0) return refuse.emptyMessages(dialect);
  for (const [at, message] of messages.entries()) {
    const wrong = checkMessage(message, dialect, at);
    if (wrong !== undefined) return wrong;
  }
  return checkPairs(objectsOf(messages), dialect) ?? checkThoughts(body, dialect);
}

/** The parts of content that a server accepts, by role. */
const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "input_audio", "file"],
  assistant: ["text", "refusal"],
  tool: ["text"],
};

/** Other parts of user messages, which not every server accepts: from the pages of DeepSeek, Ollama, Groq, Mistral and vLLM. */
const refusedOfUsers: Readonly<Partial<Record<ChatServerDialect, readonly string[]>>> = {
  deepseek: ["image_url", "input_audio", "file"],
  mistral: ["input_audio", "file"],
  groq: ["input_audio", "file"],
  "gemini-openai": ["file"],
  vllm: ["file"],
  "llama.cpp": ["file"],
  ollama: ["input_audio", "file"],
};

function checkMessage(message: Json, dialect: ChatServerDialect, at: number): Refusal | undefined {
  const place = `messages[${at}]`;
  const wrongType = { expected: "an object", actual: nameOfType(message) };
  if (!isObject(message)) return refuse.invalidMember(dialect, place, wrongType);
  const role = stringOf(message["role"]) ?? "";
  const known = partTypes[role];
  const isKnown = known !== undefined && (role !== "developer" || dialect === "openai");
  if (!isKnown) return refuse.unknownRole(dialect, role, at);
  const content = message["content"] ?? null;
  const calls = message["tool_calls"];
  if (role === "tool" && stringOf(message["tool_call_id"]) === undefined)
    return refuse.missing(dialect, `${place}.tool_call_id`);
  if (content === null) {
    const mayBeSilent = role === "assistant" && (calls !== undefined || stringOf(message["refusal"]) !== undefined);
    if (!mayBeSilent) return refuse.noContent(dialect, at);
  } else if (typeof content !== "string" && !isArray(content)) {
    const expected = "one of a string or array of objects";
    return refuse.invalidMember(dialect, `${place}.content`, { expected, actual: nameOfType(content) });
  }
  const isThinking = role === "assistant" && dialect === "mistral";
  const taken = isThinking ? [...known, "thinking"] : known;
  for (const [index, part] of objectsOf(content).entries()) {
    const type = stringOf(part["type"]) ?? "";
    const isRefused = role === "user" && refusedOfUsers[dialect]?.includes(type) === true;
    if (isRefused || !taken.includes(type)) return refuse.unknownPart(dialect, type, `${place}.content[${index}].type`);
  }
  return calls === undefined ? undefined : checkCalls(calls, dialect, place);
}

function checkCalls(calls: Json, dialect: ChatServerDialect, place: string): Refusal | undefined {
  const list = isArray(calls) ? calls : [];
  if (list.length === 0)
    return refuse.invalidMember(dialect, `${place}.tool_calls`, {
      ...{ expected: "an array with minimum length 1", actual: isArray(calls) ? "an empty array" : nameOfType(calls) },
    });
  for (const [index, call] of list.entries()) {
    const param = `${place}.tool_calls[${index}]`;
    const id = isObject(call) ? stringOf(call["id"]) : undefined;
    if (!isObject(call) || id === undefined) return refuse.missing(dialect, `${param}.id`);
    if (dialect === "mistral" && !/^[a-zA-Z0-9]{9}$/.test(id)) return refuse.shortCallId(id);
    if (dialect === "openai" && id.length > 40) return refuse.longCallId(dialect, `${param}.id`, id.length);
    const { custom } = call;
    if (dialect === "openai" && isObject(custom) && typeof custom["input"] === "string") continue;
    const called = call["function"];
    const isSaid = isObject(called) && typeof called["name"] === "string" && typeof called["arguments"] === "string";
    if (!isSaid) return refuse.missing(dialect, `${param}.function`);
  }
  return undefined;
}

/** A message with calls is followed by the results of all of them, and nothing else; results are allowed nowhere else. */
function checkPairs(messages: readonly JsonObject[], dialect: ChatServerDialect): Refusal | undefined {
  let open: readonly string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message["role"] === "tool") {
      const id = stringOf(message["tool_call_id"]) ?? "";
      if (!open.includes(id)) return refuse.orphanResult(dialect, at);
      open = open.filter((each) => each !== id);
      continue;
    }
    if (open.length > 0) return refuse.unansweredCalls(dialect, open);
    open = objectsOf(message["tool_calls"]).map(({ id }) => stringOf(id) ?? "");
    const twice = open.find((id, index) => open.indexOf(id) !== index);
    if (twice !== undefined) return refuse.duplicateCallId(dialect, twice, at);
  }
  return open.length > 0 ? refuse.unansweredCalls(dialect, open) : undefined;
}

/** DeepSeek requires its reasoning in every message of the model if the request has tools. */
function checkThoughts(body: JsonObject, dialect: ChatServerDialect): Refusal | undefined {
  const { thinking, tools, messages } = body;
  const isThinking = !isObject(thinking) || thinking["type"] !== "disabled";
  if (dialect !== "deepseek" || !isThinking || objectsOf(tools).length === 0) return undefined;
  const own = objectsOf(messages).filter(({ role }) => role === "assistant");
  return own.some((message) => typeof message["reasoning_content"] !== "string") ? refuse.thoughtsMissing() : undefined;
}
