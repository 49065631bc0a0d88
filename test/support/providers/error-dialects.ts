import { error, type Row } from "./error-row.ts";

const anchor = { param: "previous_response_id" };
const notFound = "Previous response with id 'resp_x' not found.";
const noRetention = "Previous response cannot be used for this organization due to Zero Data Retention.";

/** Other servers: as their documentation and their users report. */
export const dialects: readonly Row[] = [
  {
    of: "vLLM without the response",
    judge: "previous-not-found-vllm",
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
    of: "llama.cpp, told in full",
    judge: "unsupported-previous-llama",
    status: 400,
    body: error("llama.cpp does not support 'previous_response_id'.", { code: 400 }),
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
    of: "xAI, without a reason",
    judge: "previous-unusable-xai",
    status: 404,
    body: { code: "not-found", error: "Previous response cannot be used." },
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

export const transport: readonly Row[] = [
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
    outcome: "rejected",
  },
  {
    of: "a 429 whose body tells of a fault of the server",
    status: 429,
    body: { error: { code: "server_error", message: "The server had an error" } },
    kind: "rate-limited",
  },
  {
    of: "a 429 whose body tells of a lost response",
    status: 429,
    body: { error: { code: "previous_response_not_found", message: "Previous response with id 'x' not found." } },
    kind: "rate-limited",
  },
  { of: "an empty error", status: 400, body: { error: {} }, kind: "invalid-request" },
  { of: "an error that is a text", status: 400, body: { error: "string" }, kind: "invalid-request" },
  { of: "an empty detail", status: 400, body: { detail: "" }, kind: "invalid-request" },
];

/** Servers that repeat the HTTP status as the code, in a stream or under 200 (OpenRouter, vLLM, Google). */
export const numbered: readonly Row[] = [
  { of: "OpenRouter, a key", body: error("No auth credentials found", { code: 401 }), kind: "authentication" },
  { of: "OpenRouter, credits", body: { error: { code: 402, message: "Insufficient credits" } }, kind: "rate-limited" },
  {
    of: "OpenRouter, a limit",
    body: { error: { code: 429, message: "Provider returned error" } },
    kind: "rate-limited",
  },
  {
    of: "OpenRouter, a provider that is down, in mid-stream",
    body: { id: "gen-1", choices: [], error: { code: 502, message: "Provider disconnected" } },
    kind: "server-error",
    outcome: "unknown",
  },
  {
    of: "OpenRouter, no provider left",
    body: { error: { code: 503, message: "No instances available" } },
    kind: "server-error",
  },
  {
    of: "vLLM, flat",
    body: { object: "error", message: "The model `x` does not exist.", type: "NotFoundError", param: null, code: 404 },
    kind: "invalid-request",
  },
  { of: "a code that is a text of digits", body: { error: { code: "429", message: "?" } }, kind: "rate-limited" },
  { of: "an overloaded server", body: { error: { code: 529, message: "Overloaded" } }, kind: "server-error" },
  { of: "a number that is no status", body: error("?", { code: 7, type: "?" }), kind: "unknown", outcome: "unknown" },
];

export const inStream: readonly Row[] = [
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
