import { error, type Row } from "./error-row.ts";

const input = { param: "input" };
const anchor = { param: "previous_response_id" };
const unsupported = "Unsupported parameter: 'temperature' is not supported with this model.";
const notFound = "Previous response with id 'resp_x' not found.";
const noRetention = "Previous response cannot be used for this organization due to Zero Data Retention.";

/** Every refusal that servers of the Responses API are known to send. */
export const catalogue: readonly Row[] = [
  {
    of: "an unknown response id",
    judge: "previous-not-found",
    status: 400,
    body: error(notFound, { code: "previous_response_not_found", ...anchor }),
    kind: "lost-state",
  },
  {
    of: "zero data retention",
    judge: "zero-data-retention",
    status: 400,
    body: error(noRetention, { code: "unsupported_parameter", ...anchor }),
    kind: "chaining-unsupported",
  },
  {
    of: "a response id that is no string",
    judge: "previous-invalid-type",
    status: 400,
    body: error("Invalid type for 'previous_response_id': expected a string, but got an object instead.", {
      code: "invalid_type",
      ...anchor,
    }),
    kind: "invalid-request",
  },
  {
    of: "an id beside a conversation",
    judge: "mutually-exclusive",
    status: 400,
    body: error(
      "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
      { code: "mutually_exclusive_parameters" },
    ),
    kind: "invalid-request",
  },
  {
    of: "an unknown conversation",
    judge: "conversation-not-found",
    status: 404,
    body: error("Conversation with id 'conv_x' not found."),
    kind: "conversation-not-found",
  },
  {
    of: "a busy conversation",
    judge: "conversation-locked",
    status: 400,
    body: error("Another process is currently operating on this conversation. Please retry in a few seconds.", {
      code: "conversation_locked",
      param: "conversation",
    }),
    kind: "conversation-locked",
  },
  {
    of: "a missing tool output",
    judge: "missing-output",
    status: 400,
    body: error("No tool output found for function call call_x.", input),
    kind: "missing-tool-output",
  },
  {
    of: "a missing shell output",
    judge: "missing-output-shell",
    status: 400,
    body: error("No tool output found for shell call call_x.", input),
    kind: "missing-tool-output",
  },
  {
    of: "an orphan tool output",
    judge: "orphan-output",
    status: 400,
    body: error("No tool call found for function call output with call_id call_x.", input),
    kind: "orphan-tool-output",
  },
  {
    of: "reasoning without follower",
    judge: "reasoning-without-follower",
    status: 400,
    body: error("Item 'rs_x' of type 'reasoning' was provided without its required following item.", input),
    kind: "reasoning-pairing",
  },
  {
    of: "a call without reasoning",
    judge: "call-without-reasoning",
    status: 400,
    body: error(
      "Item 'fc_x' of type 'function_call' was provided without its required 'reasoning' item: 'rs_y'.",
      input,
    ),
    kind: "reasoning-pairing",
  },
  {
    of: "a message without reasoning",
    judge: "message-without-reasoning",
    status: 400,
    body: error("Item 'msg_x' of type 'message' was provided without its required 'reasoning' item: 'rs_y'.", input),
    kind: "reasoning-pairing",
  },
  {
    of: "a duplicate id",
    judge: "duplicate-item",
    status: 400,
    body: error("Duplicate item found with id rs_x. Remove duplicate items from your input and try again.", input),
    kind: "duplicate-item",
  },
  {
    of: "a duplicate id through a proxy",
    status: 400,
    body: error("Duplicate item found with id rs_x. Remove duplicate items from your input and try again.", {
      code: "invalid_request_body",
    }),
    kind: "duplicate-item",
  },
  {
    of: "an unknown item",
    judge: "item-not-found",
    status: 404,
    body: error(
      "Item with id 'rs_x' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
      input,
    ),
    kind: "item-not-found",
  },
  {
    of: "a bad blob, 2025",
    judge: "bad-ciphertext-2025",
    status: 400,
    body: error("The encrypted content gAAA...DQ== could not be verified.", { code: "invalid_encrypted_content" }),
    kind: "invalid-encrypted-content",
  },
  {
    of: "a bad blob, 2026",
    judge: "bad-ciphertext",
    status: 400,
    body: error(
      "The encrypted content for item rs_x could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
      { code: "invalid_encrypted_content" },
    ),
    kind: "invalid-encrypted-content",
  },
  {
    of: "a bad blob, 2026, without code",
    status: 400,
    body: error(
      "The encrypted content for item rs_x could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    ),
    kind: "invalid-encrypted-content",
  },
  {
    of: "a context that is too long",
    judge: "context-too-long",
    status: 400,
    body: error("Your input exceeds the context window of this model. Please adjust your input and try again.", {
      code: "context_length_exceeded",
      ...input,
    }),
    kind: "context-length-exceeded",
  },
  {
    of: "a rate limit",
    judge: "rate-limit",
    status: 429,
    body: error(
      "Rate limit reached for M in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 28ms. Visit https://platform.openai.com/account/rate-limits to learn more.",
      { code: "rate_limit_exceeded", type: "tokens" },
    ),
    kind: "rate-limited",
  },
  {
    of: "a plan limit",
    judge: "plan-limit",
    status: 429,
    body: {
      error: {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        plan_type: "pro",
        resets_at: 1,
      },
    },
    kind: "rate-limited",
  },
  {
    of: "an unknown field",
    judge: "unknown-parameter",
    status: 400,
    body: error("Unknown parameter: 'zzz'.", { code: "unknown_parameter", param: "zzz" }),
    kind: "invalid-request",
  },
  {
    of: "an unknown field that is like a known one",
    judge: "unknown-parameter-suggestion",
    status: 400,
    body: error("Unknown parameter: 'stoer'. Did you mean 'store'?", { code: "unknown_parameter", param: "stoer" }),
    kind: "invalid-request",
  },
  {
    of: "a phase of what the user says",
    judge: "phase-on-user",
    status: 400,
    body: error("Unknown parameter: 'input[0].phase'.", { code: "unknown_parameter", param: "input[0].phase" }),
    kind: "invalid-request",
  },
  {
    of: "an unknown member of an item",
    judge: "unknown-item-member",
    status: 400,
    body: error("Unknown parameter: 'input[0].bogus'.", { code: "unknown_parameter", param: "input[0].bogus" }),
    kind: "invalid-request",
  },
  {
    of: "a bad item type",
    judge: "bad-item-type",
    status: 400,
    body: error("Invalid value: 'bogus_item'. Supported values are: 'additional_tools', ...", {
      code: "invalid_value",
      param: "input[0]",
    }),
    kind: "invalid-request",
  },
  {
    of: "a wrong content part",
    judge: "bad-part-type",
    status: 400,
    body: error("Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.", {
      code: "invalid_value",
      param: "input[0].content[0]",
    }),
    kind: "invalid-request",
  },
  {
    of: "an unsupported parameter without code",
    judge: "unsupported-parameter",
    status: 400,
    body: error(unsupported, { param: "temperature" }),
    kind: "invalid-request",
  },
  {
    of: "an unsupported parameter with code",
    judge: "unsupported-parameter-2025",
    status: 400,
    body: error(unsupported, { code: "unsupported_parameter", param: "temperature" }),
    kind: "invalid-request",
  },
  {
    of: "an unsupported value",
    judge: "unsupported-value",
    status: 400,
    body: error("Unsupported value: 'minimal' is not supported with the 'M' model. Supported values are: ...", {
      code: "unsupported_value",
      param: "reasoning.effort",
    }),
    kind: "invalid-request",
  },
  {
    of: "a cache retention of old",
    judge: "invalid-parameter",
    status: 400,
    body: error("This model is compatible only with 24h extended prompt caching", {
      code: "invalid_parameter",
      param: "prompt_cache_retention",
    }),
    kind: "invalid-request",
  },
  {
    of: "too few output tokens",
    judge: "output-tokens-minimum",
    status: 400,
    body: error(
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 0 instead.",
      { code: "integer_below_min_value", param: "max_output_tokens" },
    ),
    kind: "invalid-request",
  },
  {
    of: "a temperature below zero",
    judge: "temperature-minimum",
    status: 400,
    body: error("Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.", {
      code: "decimal_below_min_value",
      param: "temperature",
    }),
    kind: "invalid-request",
  },
  {
    of: "an unknown model",
    judge: "model-not-found",
    status: 400,
    body: error("The requested model 'gpt-x' does not exist.", { code: "model_not_found", param: "model" }),
    kind: "invalid-request",
  },
  {
    of: "a fault of the server",
    judge: "server-error",
    status: 500,
    body: error("The server had an error while processing your request.", { type: "server_error" }),
    kind: "server-error",
    outcome: "unknown",
  },
  {
    of: "a retrieve of an unknown response",
    judge: "response-not-found",
    status: 404,
    body: error("Response with id 'resp_x' not found."),
    kind: "lost-state",
  },
  {
    of: "a socket of sixty minutes",
    status: 400,
    body: error(
      "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.",
      { code: "websocket_connection_limit_reached" },
    ),
    kind: "lost-state",
  },
  {
    of: "too many lanes",
    status: 400,
    body: error("This WebSocket connection has reached its maximum number of distinct stream IDs (32).", {
      code: "websocket_stream_limit_reached",
      param: "stream_id",
    }),
    kind: "invalid-request",
  },
  {
    of: "a bad lane",
    status: 400,
    body: error("The 'stream_id' field must be a non-empty string.", { code: "invalid_stream_id", param: "stream_id" }),
    kind: "invalid-request",
  },
  {
    of: "the ChatGPT backend",
    judge: "unsupported-previous-detail",
    status: 400,
    body: { detail: "Unsupported parameter: previous_response_id" },
    kind: "chaining-unsupported",
  },
];
