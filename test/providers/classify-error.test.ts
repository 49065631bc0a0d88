import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/base/json.ts";
import { classifyFailure } from "../../src/providers/classify-error.ts";

type Row = {
  readonly of: string;
  readonly status?: number;
  readonly body: JsonValue;
  readonly kind: string;
  readonly outcome?: "rejected" | "unknown";
};

const error = (
  message: string,
  fields: { readonly code?: string | number | null; readonly param?: string | null; readonly type?: string } = {},
) => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...fields },
});
const input = { param: "input" };
const anchor = { param: "previous_response_id" };
const unsupported = "Unsupported parameter: 'temperature' is not supported with this model.";
const notFound = "Previous response with id 'resp_x' not found.";
const noRetention = "Previous response cannot be used for this organization due to Zero Data Retention.";

/** The rows of responses-api.md section 3, in its order. */
const catalogue: readonly Row[] = [
  {
    of: "an unknown response id",
    status: 400,
    body: error(notFound, { code: "previous_response_not_found", ...anchor }),
    kind: "lost-state",
  },
  {
    of: "zero data retention",
    status: 400,
    body: error(noRetention, { code: "unsupported_parameter", ...anchor }),
    kind: "chaining-unsupported",
  },
  {
    of: "a response id that is no string",
    status: 400,
    body: error("Invalid type for 'previous_response_id': expected a string, but got an object instead.", {
      code: "invalid_type",
      ...anchor,
    }),
    kind: "invalid-request",
  },
  {
    of: "an id beside a conversation",
    status: 400,
    body: error(
      "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
      { code: "mutually_exclusive_parameters" },
    ),
    kind: "invalid-request",
  },
  {
    of: "an unknown conversation",
    status: 404,
    body: error("Conversation with id 'conv_x' not found."),
    kind: "conversation-not-found",
  },
  {
    of: "a busy conversation",
    status: 400,
    body: error("Another process is currently operating on this conversation. Please retry in a few seconds.", {
      code: "conversation_locked",
      param: "conversation",
    }),
    kind: "conversation-locked",
  },
  {
    of: "a missing tool output",
    status: 400,
    body: error("No tool output found for function call call_x.", input),
    kind: "missing-tool-output",
  },
  {
    of: "a missing shell output",
    status: 400,
    body: error("No tool output found for shell call call_x.", input),
    kind: "missing-tool-output",
  },
  {
    of: "an orphan tool output",
    status: 400,
    body: error("No tool call found for function call output with call_id call_x.", input),
    kind: "orphan-tool-output",
  },
  {
    of: "reasoning without follower",
    status: 400,
    body: error("Item 'rs_x' of type 'reasoning' was provided without its required following item.", input),
    kind: "reasoning-pairing",
  },
  {
    of: "a call without reasoning",
    status: 400,
    body: error(
      "Item 'fc_x' of type 'function_call' was provided without its required 'reasoning' item: 'rs_y'.",
      input,
    ),
    kind: "reasoning-pairing",
  },
  {
    of: "a message without reasoning",
    status: 400,
    body: error("Item 'msg_x' of type 'message' was provided without its required 'reasoning' item: 'rs_y'.", input),
    kind: "reasoning-pairing",
  },
  {
    of: "a duplicate id",
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
    status: 404,
    body: error(
      "Item with id 'rs_x' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
      input,
    ),
    kind: "item-not-found",
  },
  {
    of: "a bad blob, 2025",
    status: 400,
    body: error("The encrypted content gAAA...DQ== could not be verified.", { code: "invalid_encrypted_content" }),
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
    status: 400,
    body: error("Your input exceeds the context window of this model. Please adjust your input and try again.", {
      code: "context_length_exceeded",
      ...input,
    }),
    kind: "context-length-exceeded",
  },
  {
    of: "a rate limit",
    status: 429,
    body: error(
      "Rate limit reached for M in organization org-x on tokens per min (TPM): Limit 1, Used 1, Requested 1. Please try again in 28ms. Visit https://platform.openai.com/account/rate-limits to learn more.",
      { code: "rate_limit_exceeded", type: "tokens" },
    ),
    kind: "rate-limited",
  },
  {
    of: "a plan limit",
    status: 429,
    body: {
      error: {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        plan_type: "plus",
        resets_at: 1,
      },
    },
    kind: "rate-limited",
  },
  {
    of: "an unknown field",
    status: 400,
    body: error("Unknown parameter: 'zzz'.", { code: "unknown_parameter", param: "zzz" }),
    kind: "invalid-request",
  },
  {
    of: "an unknown member of an item",
    status: 400,
    body: error("Unknown parameter: 'input[0].bogus'.", { code: "unknown_parameter", param: "input[0].bogus" }),
    kind: "invalid-request",
  },
  {
    of: "a bad item type",
    status: 400,
    body: error("Invalid value: 'bogus_item'. Supported values are: 'additional_tools', ...", {
      code: "invalid_value",
      param: "input[0]",
    }),
    kind: "invalid-request",
  },
  {
    of: "a wrong content part",
    status: 400,
    body: error("Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.", {
      code: "invalid_value",
      param: "input[0].content[0]",
    }),
    kind: "invalid-request",
  },
  {
    of: "an unsupported parameter without code",
    status: 400,
    body: error(unsupported, { param: "temperature" }),
    kind: "invalid-request",
  },
  {
    of: "an unsupported parameter with code",
    status: 400,
    body: error(unsupported, { code: "unsupported_parameter", param: "temperature" }),
    kind: "invalid-request",
  },
  {
    of: "an unsupported value",
    status: 400,
    body: error("Unsupported value: 'minimal' is not supported with the 'M' model. Supported values are: ...", {
      code: "unsupported_value",
      param: "reasoning.effort",
    }),
    kind: "invalid-request",
  },
  {
    of: "a cache retention of old",
    status: 400,
    body: error("This model is compatible only with 24h extended prompt caching", {
      code: "invalid_parameter",
      param: "prompt_cache_retention",
    }),
    kind: "invalid-request",
  },
  {
    of: "too few output tokens",
    status: 400,
    body: error(
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 0 instead.",
      { code: "integer_below_min_value", param: "max_output_tokens" },
    ),
    kind: "invalid-request",
  },
  {
    of: "a retrieve of an unknown response",
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
    status: 400,
    body: { detail: "Unsupported parameter: previous_response_id" },
    kind: "chaining-unsupported",
  },
];

/** Other servers: responses-api.md section 5.4, and issue threads. */
const dialects: readonly Row[] = [
  {
    of: "vLLM without the response",
    status: 404,
    body: error("Response with id 'resp_x' not found.", { code: 404, param: "response_id" }),
    kind: "lost-state",
  },
  {
    of: "vLLM's connection cache",
    status: 404,
    body: error("Response 'resp_x' not found in connection cache"),
    kind: "lost-state",
  },
  {
    of: "vLLM at work",
    status: 409,
    body: error("Another response is in progress", { code: "concurrent_request" }),
    kind: "conversation-locked",
  },
  {
    of: "vLLM without background",
    status: 400,
    body: error("background is not supported", { code: 400, param: "background" }),
    kind: "invalid-request",
  },
  {
    of: "vLLM without a store",
    status: 501,
    body: error("`store=True` (default) is not supported."),
    kind: "invalid-request",
  },
  {
    of: "vLLM's context limit",
    status: 400,
    body: {
      object: "error",
      message: "This model's maximum context length is 8192 tokens.",
      type: "BadRequestError",
      code: 400,
    },
    kind: "context-length-exceeded",
  },
  {
    of: "SGLang with a foreign id",
    status: 400,
    body: error("Expected an ID that begins with 'resp'.", { param: "response_id" }),
    kind: "lost-state",
  },
  {
    of: "llama.cpp",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "llama.cpp does not support 'previous_response_id'.",
        type: "invalid_request_error",
      },
    },
    kind: "chaining-unsupported",
  },
  {
    of: "llama.cpp's context limit",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
      },
    },
    kind: "context-length-exceeded",
  },
  {
    of: "xAI, with a text as error",
    status: 404,
    body: { code: "not-found", error: noRetention },
    kind: "chaining-unsupported",
  },
  {
    of: "DigitalOcean",
    status: 404,
    body: { error: { type: "not_found_error", message: "not found" } },
    kind: "lost-state",
  },
  {
    of: "a model that is not there",
    status: 404,
    body: { error: { type: "not_found_error", message: "The model gpt-9 does not exist." } },
    kind: "invalid-request",
  },
  {
    of: "a gateway that keeps no state",
    status: 400,
    body: error("The id cannot be resolved: resend the full conversation.", anchor),
    kind: "lost-state",
  },
  {
    of: "a server with a strict schema",
    status: 422,
    body: { detail: [{ loc: ["body", "previous_response_id"], msg: "Unknown field previous_response_id" }] },
    kind: "chaining-unsupported",
  },
  {
    of: "DeepSeek",
    status: 400,
    body: error("No tool output found for tool call call-a.", { code: "invalid_request_error" }),
    kind: "missing-tool-output",
  },
];

const transport: readonly Row[] = [
  {
    of: "a wrong key",
    status: 401,
    body: error("Incorrect API key provided: sk-x.", { code: "invalid_api_key" }),
    kind: "authentication",
  },
  { of: "a forbidden country", status: 403, body: "", kind: "authentication" },
  {
    of: "a body that is too large",
    status: 413,
    body: "<html><head><title>413 Request Entity Too Large</title></head></html>",
    kind: "invalid-request",
  },
  { of: "a 429 without body", status: 429, body: "", kind: "rate-limited" },
  { of: "a 408, which says nothing of what was done", status: 408, body: "", kind: "server-error", outcome: "unknown" },
  {
    of: "a 500",
    status: 500,
    body: error("The server had an error", { type: "server_error" }),
    kind: "server-error",
    outcome: "unknown",
  },
  {
    of: "a 502 in HTML",
    status: 502,
    body: "<html><title>Bad gateway</title></html>",
    kind: "server-error",
    outcome: "unknown",
  },
  {
    of: "a 503 that is overloaded",
    status: 503,
    body: { error: { code: "server_is_overloaded", message: "Busy" } },
    kind: "server-error",
    outcome: "unknown",
  },
  { of: "an empty error", status: 400, body: { error: {} }, kind: "invalid-request" },
  { of: "an error that is a text", status: 400, body: { error: "string" }, kind: "invalid-request" },
  { of: "an empty detail", status: 400, body: { detail: "" }, kind: "invalid-request" },
];

const inStream: readonly Row[] = [
  {
    of: "a flat error event",
    body: { type: "error", code: "previous_response_not_found", message: notFound, param: null },
    kind: "lost-state",
  },
  {
    of: "a nested error event",
    body: {
      type: "error",
      sequence_number: 2,
      error: { type: "invalid_request_error", code: "context_length_exceeded", message: "too long", param: "input" },
    },
    kind: "context-length-exceeded",
  },
  {
    of: "an error frame with its status",
    body: { type: "error", status: 400, error: { code: "previous_response_not_found", message: notFound } },
    kind: "lost-state",
  },
  {
    of: "a failed response",
    body: {
      id: "resp_x",
      status: "failed",
      output: [],
      error: { code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 1.5s." },
    },
    kind: "rate-limited",
  },
  {
    of: "a failed event",
    body: {
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message: "sorry" } },
    },
    kind: "server-error",
    outcome: "unknown",
  },
  {
    of: "a failure for a policy",
    body: { status: "failed", error: { code: "invalid_prompt", message: "no" } },
    kind: "invalid-request",
  },
  {
    of: "an error of an unknown kind",
    body: { type: "error", code: "teapot", message: "short and stout" },
    kind: "unknown",
    outcome: "unknown",
  },
  { of: "an error that says nothing", body: { type: "error" }, kind: "unknown", outcome: "unknown" },
];

describe.each([
  ["the error catalogue", catalogue],
  ["other servers", dialects],
  ["HTTP", transport],
  ["streams", inStream],
])("%s", (_, rows) => {
  test.each(rows.map((row) => [row.of, row.kind, row] as const))("%s: %s", (_of, kind, row) => {
    const { status = null, body, outcome = "rejected" } = row;
    const failure = classifyFailure({ status, body });
    expect(failure).toMatchObject({ kind, outcome });
    expect(failure.message).not.toBe("");
    // The content type is not asked: the same body as text means the same.
    expect(classifyFailure({ status, body: typeof body === "string" ? body : JSON.stringify(body) })).toEqual(failure);
  });
});

describe("when to come back", () => {
  const retryAfter = (headers: Record<string, string>, message = "Slow down") =>
    classifyFailure({ status: 429, headers: new Headers(headers), body: error(message) }).retryAfterMs;

  test("is read from the header in milliseconds first", () => {
    expect(retryAfter({ "retry-after-ms": "150", "retry-after": "2" })).toBe(150);
  });
  test("is read from the header in seconds", () => {
    expect(retryAfter({ "retry-after": "2" })).toBe(2000);
  });
  test("is read from a date, against the date of the answer", () => {
    const dates = { date: "Sat, 21 Nov 2026 10:00:00 GMT", "retry-after": "Sat, 21 Nov 2026 10:00:30 GMT" };
    expect(retryAfter(dates)).toBe(30_000);
  });
  test("is read from the message where no header says it", () => {
    expect(retryAfter({}, "Rate limit reached. Please try again in 28ms. Visit us.")).toBe(28);
    expect(retryAfter({}, "Rate limit reached. Please try again in 1.5s.")).toBe(1500);
  });
  test("is not known otherwise", () => {
    expect(retryAfter({ "retry-after": "soon" })).toBeNull();
  });
});

describe("what is thrown instead of an answer", () => {
  const failed = (fields: { readonly code?: string; readonly syscall?: string }, name = "Error"): Error =>
    Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("low level"), fields, { name }) });

  test.each(["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT", "DEPTH_ZERO_SELF_SIGNED_CERT"])(
    "%s means that nothing was sent",
    (code) => {
      expect(classifyFailure({ cause: failed({ code }) })).toMatchObject({ kind: "connection", outcome: "rejected" });
    },
  );
  test("a refusal of every address of a host means that nothing was sent", () => {
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const cause = new TypeError("fetch failed", { cause: new AggregateError([refused, refused]) });
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "rejected" });
  });
  test("a time limit while connecting means that nothing was sent", () => {
    const cause = failed({ code: "ETIMEDOUT", syscall: "connect" });
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "rejected" });
  });
  test.each(["ECONNRESET", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT"])(
    "%s leaves open what the server did",
    (code) => {
      expect(classifyFailure({ cause: failed({ code }) })).toMatchObject({ kind: "connection", outcome: "unknown" });
    },
  );
  test("a time limit of our own leaves open what the server did", () => {
    const cause = new DOMException("late", "TimeoutError");
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "unknown" });
  });
  test("an abort is an abort", () => {
    const cause = new DOMException("stop", "AbortError");
    expect(classifyFailure({ cause })).toMatchObject({ kind: "aborted", outcome: "unknown" });
  });
  test("what is no error at all is a connection that broke", () => {
    expect(classifyFailure({ cause: "?" })).toMatchObject({ kind: "connection", outcome: "unknown" });
  });
});
