import type { Json, JsonObject } from "./wire.ts";

/**
 * A rejection: the status and the exact body.
 *
 * Texts, codes and params are those of the Responses API, as measured live and as users report them. If a source
 * gives only the text, code is null, as on the wire.
 */
export interface Refusal {
  readonly status: number;
  readonly body: JsonObject;
}

interface ErrorFields {
  readonly status?: number;
  readonly code?: Json;
  readonly param?: string | null;
  readonly type?: string;
}

/** An error in the usual envelope. */
export function refusal(message: string, fields: ErrorFields = {}): Refusal {
  const { status = 400, code = null, param = null, type = "invalid_request_error" } = fields;
  return { status, body: { error: { message, type, param, code } } };
}

const inputRule = (message: string): Refusal => refusal(message, { param: "input" });

export const previousNotFound = (id: string): Refusal =>
  refusal(`Previous response with id '${id}' not found.`, {
    code: "previous_response_not_found",
    param: "previous_response_id",
  });

/** vLLM and SGLang: 404, another param, and vLLM's habit of a numeric code. */
export const previousNotFoundVllm = (id: string): Refusal =>
  refusal(`Response with id '${id}' not found.`, { status: 404, code: 404, param: "response_id" });

export const zeroDataRetention = (): Refusal =>
  refusal("Previous response cannot be used for this organization due to Zero Data Retention.", {
    code: "unsupported_parameter",
    param: "previous_response_id",
  });

/** The ChatGPT backend over HTTP has no error envelope. */
export const unsupportedPreviousDetail = (): Refusal => ({
  status: 400,
  body: { detail: "Unsupported parameter: previous_response_id" },
});

export const unsupportedPreviousLlama = (): Refusal =>
  refusal("llama.cpp does not support 'previous_response_id'.", { code: 400, param: null });

export const invalidType = (param: string, expected: string, actual: string): Refusal =>
  refusal(`Invalid type for '${param}': expected ${expected}, but got ${actual} instead.`, {
    code: "invalid_type",
    param,
  });

// The empty quotes are the real service's own.
export const mutuallyExclusive = (): Refusal =>
  refusal(
    "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
    { code: "mutually_exclusive_parameters" },
  );

export const conversationNotFound = (id: string): Refusal =>
  refusal(`Conversation with id '${id}' not found.`, { status: 404 });

/** The text is inferred, not recorded. */
export const conversationItemNotFound = (itemId: string, id: string): Refusal =>
  refusal(`Item with id '${itemId}' not found in conversation with id '${id}'.`, { status: 404 });

export const tooManyItems = (max: number, actual: number): Refusal =>
  refusal(
    `Invalid 'items': array too long. Expected an array with maximum length ${max}, but got an array with length ${actual} instead.`,
    { code: "array_above_max_length", param: "items" },
  );

export const conversationLocked = (): Refusal =>
  refusal("Another process is currently operating on this conversation. Please retry in a few seconds.", {
    code: "conversation_locked",
    param: "conversation",
  });

export const missingOutput = (label: string, callId: string): Refusal =>
  inputRule(`No tool output found for ${label} ${callId}.`);

export const orphanOutput = (label: string, callId: string): Refusal =>
  inputRule(`No tool call found for ${label} with call_id ${callId}.`);

export const missingFollower = (id: string): Refusal =>
  inputRule(`Item '${id}' of type 'reasoning' was provided without its required following item.`);

export const missingReasoning = (id: string, type: string, reasoningId: string): Refusal =>
  inputRule(`Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${reasoningId}'.`);

export const duplicateItem = (id: string): Refusal =>
  inputRule(`Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`);

export const itemNotFound = (id: string): Refusal =>
  refusal(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    { status: 404, param: "input" },
  );

/** With an item id, the wording of 2026; without one, that of 2025. */
export const badCiphertext = (id: string | undefined, blob: string): Refusal => {
  const cut = blob.length > 12 ? `${blob.slice(0, 4)}...${blob.slice(-4)}` : blob;
  const text =
    id === undefined
      ? `The encrypted content ${cut} could not be verified.`
      : `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
  return refusal(text, { code: "invalid_encrypted_content" });
};

/** Authentic, but bound to another conversation. */
export const badReasoning = (id: string): Refusal =>
  refusal(
    `The encrypted content for item ${id} could not be verified. Reason: It is bound to a different conversation.`,
    {
      code: "invalid_encrypted_content",
    },
  );

export const contextTooLong = (): Refusal =>
  refusal("Your input exceeds the context window of this model. Please adjust your input and try again.", {
    code: "context_length_exceeded",
    param: "input",
  });

export const unknownParameter = (path: string, suggestion?: string): Refusal =>
  refusal(`Unknown parameter: '${path}'.${suggestion === undefined ? "" : ` Did you mean '${suggestion}'?`}`, {
    code: "unknown_parameter",
    param: path,
  });

export const missingParameter = (path: string): Refusal =>
  refusal(`Missing required parameter: '${path}'.`, { code: "missing_required_parameter", param: path });

export const invalidValue = (param: string, value: string, supported: readonly string[]): Refusal =>
  refusal(`Invalid value: '${value}'. Supported values are: ${listed(supported)}.`, { code: "invalid_value", param });

export const triggerNotLast = (param: string): Refusal =>
  refusal("Invalid value: 'compaction_trigger'. It must be the final input item.", { code: "invalid_value", param });

export const emptyInput = (): Refusal =>
  refusal("Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.", {
    code: "empty_array",
    param: "input",
  });

export const unsupportedParameter = (name: string): Refusal =>
  refusal(`Unsupported parameter: '${name}' is not supported with this model.`, { param: name });

export const unsupportedValue = (path: string, value: string, rest: { model: string; supported: readonly string[] }) =>
  refusal(
    `Unsupported value: '${value}' is not supported with the '${rest.model}' model. Supported values are: ${listed(rest.supported)}.`,
    { code: "unsupported_value", param: path },
  );

/** `what` is "integer" or "decimal": both kinds were recorded. */
export const belowMinimum = (param: string, what: "integer" | "decimal", bounds: { min: number; actual: number }) =>
  refusal(
    `Invalid '${param}': ${what} below minimum value. Expected a value >= ${bounds.min}, but got ${bounds.actual} instead.`,
    { code: `${what}_below_min_value`, param },
  );

export const modelNotFound = (model: string): Refusal =>
  refusal(`The requested model '${model}' does not exist.`, { code: "model_not_found", param: "model" });

export const connectionLimit = (): Refusal =>
  refusal("Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.", {
    code: "websocket_connection_limit_reached",
  });

export const laneLimit = (): Refusal =>
  refusal(
    "This WebSocket connection has reached its maximum number of distinct stream IDs (32). Reuse an existing stream_id or open a new WebSocket connection.",
    { code: "websocket_stream_limit_reached", param: "stream_id" },
  );

export const badLane = (): Refusal =>
  refusal(
    "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, underscores, hyphens, and periods.",
    { code: "invalid_stream_id", param: "stream_id" },
  );

/** The server has no lanes, and got a request while it was answering (vLLM's code; Azure documents one response in flight). */
export const concurrentRequest = (): Refusal =>
  refusal("Another response is in progress on this connection.", { status: 409, code: "concurrent_request" });

export const upgradeRefused = (status: number): Refusal =>
  refusal("WebSocket connections are not supported by this endpoint.", { status });

export const notOnSocket = (param: string): Refusal =>
  refusal(`Unsupported parameter: '${param}' is not supported over WebSocket.`, {
    code: "unsupported_parameter",
    param,
  });

export const unknownFrame = (type: string): Refusal => invalidValue("type", type, ["response.create"]);

export const responseNotFound = (id: string): Refusal =>
  refusal(`Response with id '${id}' not found.`, { status: 404 });

export const notBackground = (): Refusal => refusal("Cannot cancel a synchronous response.");

export const badStartingAfter = (given: string): Refusal =>
  refusal(`Invalid type for 'starting_after': expected an integer, but got '${given}' instead.`, {
    code: "invalid_type",
    param: "starting_after",
  });

export const noRoute = ({ method, path }: { readonly method: string; readonly path: string }): Refusal =>
  refusal(`Invalid URL (${method} ${path})`, { status: 404 });

export const badJson = (): Refusal =>
  refusal("We could not parse the JSON body of your request. The body must be valid JSON.");

export const serverError = (message: string): Refusal => refusal(message, { status: 500, type: "server_error" });

function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.at(-1) ?? "";
  return quoted.length < 2 ? last : `${quoted.slice(0, -1).join(", ")}${quoted.length > 2 ? "," : ""} and ${last}`;
}
