import { itemTypes } from "./item-schema.ts";
import * as refuse from "./refusals.ts";
import { isObject, type Json, type JsonObject, stringOf } from "./wire.ts";

/** One row of the error catalogue, in the form that a client receives. */
export interface ErrorRow {
  readonly name: string;
  readonly status: number;
  readonly code: Json;
  readonly param: Json;
  readonly type: Json;
  /** With sample ids: `resp_x`, `call_x`, `rs_x`. */
  readonly message: string;
  /** The exact body; some have no `error` object. */
  readonly body: JsonObject;
  /** How to provoke it: by a request that breaks a rule, or only by `cannedError(name)`. */
  readonly provoke: "rule" | "canned";
}

const rule = (name: string, refusal: refuse.Refusal): ErrorRow => row(name, refusal, "rule");
const canned = (name: string, refusal: refuse.Refusal): ErrorRow => row(name, refusal, "canned");

/** Every row of the error catalogue that is sent over HTTP. */
export const errorRows: readonly ErrorRow[] = [
  rule("previous-not-found", refuse.previousNotFound("resp_x")),
  rule("zero-data-retention", refuse.zeroDataRetention()),
  rule("previous-invalid-type", refuse.invalidType("previous_response_id", "a string", "an object")),
  rule("mutually-exclusive", refuse.mutuallyExclusive()),
  rule("conversation-not-found", refuse.conversationNotFound("conv_x")),
  rule("conversation-locked", refuse.conversationLocked()),
  rule("missing-output", refuse.missingOutput("function call", "call_x")),
  rule("missing-output-shell", refuse.missingOutput("shell call", "call_x")),
  rule("orphan-output", refuse.orphanOutput("function call output", "call_x")),
  rule("reasoning-without-follower", refuse.missingFollower("rs_x")),
  rule("call-without-reasoning", refuse.missingReasoning("fc_x", "function_call", "rs_y")),
  rule("message-without-reasoning", refuse.missingReasoning("msg_x", "message", "rs_y")),
  rule("duplicate-item", refuse.duplicateItem("rs_x")),
  rule("item-not-found", refuse.itemNotFound("rs_x")),
  rule("bad-ciphertext", refuse.badCiphertext("rs_x", "gAAAx")),
  rule("bad-ciphertext-2025", refuse.badCiphertext(undefined, "gAAAAABsecretDQ==")),
  rule("context-too-long", refuse.contextTooLong()),
  canned("rate-limit", rateLimit()),
  canned("plan-limit", planLimit()),
  rule("unknown-parameter", refuse.unknownParameter("zzz")),
  rule("unknown-parameter-suggestion", refuse.unknownParameter("stoer", "store")),
  rule("unknown-item-member", refuse.unknownParameter("input[0].bogus")),
  rule("bad-item-type", refuse.invalidValue("input[0]", "bogus_item", itemTypes)),
  rule("bad-part-type", refuse.invalidValue("input[0].content[0]", "input_text", ["output_text", "refusal"])),
  rule("phase-on-user", refuse.unknownParameter("input[0].phase")),
  rule("unsupported-parameter", refuse.unsupportedParameter("temperature")),
  canned("unsupported-parameter-2025", unsupportedParameter2025()),
  rule(
    "unsupported-value",
    refuse.unsupportedValue("reasoning.effort", "minimal", { model: "M", supported: ["low", "high"] }),
  ),
  canned("invalid-parameter", cacheRetention()),
  rule("output-tokens-minimum", refuse.belowMinimum("max_output_tokens", "integer", { min: 16, actual: 0 })),
  rule("temperature-minimum", refuse.belowMinimum("temperature", "decimal", { min: 0, actual: -1 })),
  rule("model-not-found", refuse.modelNotFound("gpt-x")),
  rule("response-not-found", refuse.responseNotFound("resp_x")),
  rule("unsupported-previous-detail", refuse.unsupportedPreviousDetail()),
  rule("unsupported-previous-llama", refuse.unsupportedPreviousLlama()),
  rule("previous-not-found-vllm", refuse.previousNotFoundVllm("resp_x")),
  canned("previous-unusable-xai", unusableXai()),
  canned("server-error", refuse.serverError("The server had an error while processing your request.")),
];

/** The row with that name. */
export function errorRow(name: string): ErrorRow {
  const found = errorRows.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no error row is called ${name}`);
  return found;
}

function row(name: string, { status, body }: refuse.Refusal, provoke: "rule" | "canned"): ErrorRow {
  const error = isObject(body["error"]) ? body["error"] : {};
  const { code = null, param = null, type = null } = error;
  const message = stringOf(error["message"]) ?? stringOf(body["error"]) ?? stringOf(body["detail"]) ?? "";
  return { name, status, code, param, type, message, body, provoke };
}

// `type` is "tokens" here, not the usual one.
function rateLimit(): refuse.Refusal {
  return refuse.refusal(
    "Rate limit reached for M in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 28ms. Visit https://platform.openai.com/account/rate-limits to learn more.",
    { status: 429, code: "rate_limit_exceeded", type: "tokens" },
  );
}

function planLimit(): refuse.Refusal {
  const error = {
    type: "usage_limit_reached",
    message: "The usage limit has been reached",
    plan_type: "pro",
    resets_at: 1,
  };
  return { status: 429, body: { error } };
}

function unsupportedParameter2025(): refuse.Refusal {
  const message = "Unsupported parameter: 'temperature' is not supported with this model.";
  return refuse.refusal(message, { code: "unsupported_parameter", param: "temperature" });
}

function cacheRetention(): refuse.Refusal {
  const message = "This model is compatible only with 24h extended prompt caching";
  return refuse.refusal(message, { code: "invalid_parameter", param: "prompt_cache_retention" });
}

// xAI: `error` is a string.
function unusableXai(): refuse.Refusal {
  return { status: 404, body: { code: "not-found", error: "Previous response cannot be used." } };
}
