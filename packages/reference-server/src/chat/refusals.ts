import { type Refusal, refusal } from "../refusals.ts";
import type { Json } from "../wire.ts";
import type { ChatServerDialect } from "./dialects.ts";

/**
 * Rejections by servers of Chat Completions, in their words. If no source has a server's own words,
 * those of OpenAI are used.
 */
interface Fields {
  readonly status?: number;
  /** In `{error}` everywhere except for Mistral, whose errors are flat. */
  readonly type?: string;
  readonly param?: string;
  readonly code?: Json;
}

function said(dialect: ChatServerDialect, message: string, fields: Fields = {}): Refusal {
  const { status = 400, type = "invalid_request_error", param = null, code = null } = fields;
  switch (dialect) {
    case "mistral":
      return { status, body: { object: "error", message, type, param, code } };
    case "deepseek":
      return refusal(message, { status, type, code: "invalid_request_error" });
    case "vllm":
      return refusal(message, { status, type: status === 404 ? "NotFoundError" : "BadRequestError", code: status });
    case "llama.cpp":
      return { status, body: { error: { code: status, message, type } } };
    default:
      return refusal(message, { status, type, param, code });
  }
}

export const badBody = (dialect: ChatServerDialect): Refusal =>
  said(dialect, "We could not parse the JSON body of your request.");

export const missing = (dialect: ChatServerDialect, param: string): Refusal =>
  said(dialect, `Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });

export const unknownArgument = (name: string): Refusal =>
  said("openai", `Unrecognized request argument supplied: ${name}`);

export const emptyMessages = (dialect: ChatServerDialect): Refusal =>
  said(
    dialect,
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    { param: "messages", code: "empty_array" },
  );

export function unknownRole(dialect: ChatServerDialect, role: string, at: number): Refusal {
  if (dialect === "deepseek")
    return said(
      dialect,
      `Failed to deserialize the JSON body into the target type: messages[${at}].role: unknown variant \`${role}\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\``,
    );
  return said(
    dialect,
    `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
    { param: `messages[${at}].role`, code: "invalid_value" },
  );
}

export const invalidMember = (
  dialect: ChatServerDialect,
  param: string,
  { expected, actual }: { readonly expected: string; readonly actual: string },
): Refusal =>
  said(dialect, `Invalid type for '${param}': expected ${expected}, but got ${actual} instead.`, {
    ...{ param, code: "invalid_type" },
  });

export const noContent = (dialect: ChatServerDialect, at: number): Refusal =>
  said(dialect, "Invalid value for 'content': expected a string, got null.", { param: `messages.[${at}].content` });

export const unknownPart = (dialect: ChatServerDialect, type: string, param: string): Refusal =>
  dialect === "deepseek"
    ? said(
        dialect,
        `Failed to deserialize the JSON body into the target type: ${param}: unknown variant \`${type}\`, expected \`text\``,
      )
    : said(dialect, `Invalid value: '${type}'. This part is not supported in this message.`, {
        ...{ param, code: "invalid_value" },
      });

export const longCallId = (dialect: ChatServerDialect, param: string, length: number): Refusal =>
  said(
    dialect,
    `Invalid '${param}': string too long. Expected a string with maximum length 40, but got a string with length ${length} instead.`,
    { param, code: "string_above_max_length" },
  );

/** From the open validator (mistral-common). */
export const shortCallId = (id: string): Refusal =>
  said("mistral", `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`, {
    ...{ type: "invalid_request_message_order", code: "3280" },
  });

export function unansweredCalls(dialect: ChatServerDialect, callIds: readonly string[]): Refusal {
  if (dialect === "mistral") return unequalCalls();
  return said(
    dialect,
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${callIds.join(", ")}`,
    { param: "messages" },
  );
}

/** The spelling "preceeding" is the real service's own. */
export function orphanResult(dialect: ChatServerDialect, at: number): Refusal {
  if (dialect === "mistral") return unequalCalls();
  return said(
    dialect,
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: `messages.[${at}].role` },
  );
}

const unequalCalls = (): Refusal =>
  said("mistral", "Not the same number of function calls and responses", {
    ...{ type: "invalid_request_message_order", code: "3230" },
  });

export const duplicateCallId = (dialect: ChatServerDialect, id: string, at: number): Refusal =>
  said(dialect, `Duplicate value for 'tool_call_id' of '${id}' in message[${at}]`, { param: "messages" });

export const thoughtsMissing = (): Refusal =>
  said("deepseek", "The `reasoning_content` in the thinking mode must be passed back to the API.");

export function unknownModel(dialect: ChatServerDialect, model: string): Refusal {
  switch (dialect) {
    case "mistral":
      return said(dialect, `Invalid model: ${model}`, { type: "invalid_model", code: "1500" });
    case "deepseek":
      return said(dialect, "Model Not Exist");
    case "vllm":
      return said(dialect, `The model \`${model}\` does not exist.`, { status: 404 });
    case "ollama":
      return said(dialect, `model '${model}' not found`, { status: 404, type: "not_found_error" });
    default:
      return said(dialect, `The model \`${model}\` does not exist or you do not have access to it.`, {
        ...{ status: 404, code: "model_not_found" },
      });
  }
}

/** Sizes are in the server's own tokens. */
export function tooLong(dialect: ChatServerDialect, tokens: number, max: number): Refusal {
  switch (dialect) {
    case "llama.cpp": {
      const message = `request (${tokens} tokens) exceeds the available context size (${max} tokens), try increasing it`;
      const error = { code: 400, message, type: "exceed_context_size_error", n_prompt_tokens: tokens, n_ctx: max };
      return { status: 400, body: { error } };
    }
    case "mistral":
      return said(
        dialect,
        `Prompt contains ${tokens} tokens and 0 draft tokens, too large for model with ${max} maximum context length`,
        { type: "invalid_request_prompt", code: "3051" },
      );
    case "groq":
      return said(dialect, "Please reduce the length of the messages or completion.", {
        ...{ param: "messages", code: "context_length_exceeded" },
      });
    default:
      return said(
        dialect,
        `This model's maximum context length is ${max} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
        { param: "messages", code: "context_length_exceeded" },
      );
  }
}

/** Anthropic's words, which OpenRouter passes on. */
export const tooManyMarks = (dialect: ChatServerDialect, count: number): Refusal =>
  said(dialect, `A maximum of 4 blocks with cache_control may be provided. Found ${count}.`);

export const failed = (dialect: ChatServerDialect, message: string): Refusal =>
  said(dialect, message, { status: 500, type: "server_error" });
