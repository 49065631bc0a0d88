import { type JsonObject, type JsonValue, jsonOf } from "../../base/json.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";
import { type FailureKind, ProviderError } from "../../engine/ports/provider-error.ts";
import { contentFiltersOfError } from "./content-filters.ts";
import { type ErrorReport, readErrorBody } from "./error-report.ts";
import { classifyNetworkFailure } from "./network-failure.ts";

/** What is known about a failed inference. */
export type FailedAnswer = {
  readonly status?: number | null;
  /** The body as parsed JSON or as text; for a stream event, its `error`. */
  readonly body?: JsonValue | undefined;
  readonly headers?: Pick<Headers, "get"> | null;
  /** The error that was thrown if no answer came. */
  readonly cause?: unknown;
};

export type ClassifiedFailure = {
  readonly kind: FailureKind;
  readonly outcome: "rejected" | "unknown";
  readonly status: number | null;
  readonly providerCode: string | null;
  readonly param: string | null;
  readonly message: string;
  readonly retryAfterMs: number | null;
  readonly shouldRetry: boolean | null;
  readonly requestId: string | null;
  readonly contentFilters: readonly ContentFilter[];
};

/**
 * Classifies a failure and says whether the server may have acted. A 429 is a rate limit. Otherwise a specific code decides, then the
 * wording of the message, then the HTTP status. Pure.
 */
export function classifyFailure({ status, body, headers, cause }: FailedAnswer): ClassifiedFailure {
  if (body === undefined && (status ?? null) === null) {
    return { ...untold, ...classifyNetworkFailure(cause) };
  }
  const report = readErrorBody(body);
  // Some servers report an error under 200, with its status in the body.
  const known = isFailure(status ?? null) ? (status ?? null) : (report.status ?? status ?? null);
  const kind = kindOf(report, known);
  const said = isFailure(status ?? null) ? saidToRetry(headers ?? null) : null;
  const shouldRetry = said ?? (isUsedUp(report, known) ? false : null);
  return {
    kind,
    outcome: shouldRetry === true ? "rejected" : outcomeOf(kind, known),
    status: known,
    providerCode: report.code,
    param: report.param,
    message: messageOf(report, { kind, known }),
    retryAfterMs: retryAfter(headers ?? null, report),
    shouldRetry,
    requestId: requestIdOf(headers ?? null),
    contentFilters: contentFiltersOfError(typeof body === "string" ? jsonOf(body) : body),
  };
}

type Classified = { readonly kind: FailureKind; readonly known: number | null };

/** The server's message. For a missing model it adds what to do, because some servers return only the model's name. */
function messageOf({ message }: ErrorReport, { kind, known }: Classified): string {
  if (message === null)
    return known === null ? "the provider failed without a reason" : `the provider answered HTTP ${known}`;
  return kind === "invalid-request" && unknownModel.test(message) ? `${message}; ${modelAdvice}` : message;
}

const unknownModel = /^(invalid )?model: \S+$|\bmodel\b.* (does not|not) (exist|found)\b|^Model family not found\b/i;
const modelAdvice = "give the provider or the run a model that this server has";

const untold = {
  ...{ status: null, providerCode: null, param: null },
  ...{ retryAfterMs: null, shouldRetry: null, requestId: null, contentFilters: [] },
};

const isFailure = (status: number | null): boolean => status !== null && status >= 400;

/** OpenAI's header that says whether a refused request may be sent again unchanged. */
function saidToRetry(headers: Pick<Headers, "get"> | null): boolean | null {
  const said = headers?.get("x-should-retry");
  return said === "true" || said === "false" ? said === "true" : null;
}

/** A limit that waiting does not lift: the account needs credit or a higher quota. */
const isUsedUp = ({ code, type }: ErrorReport, status: number | null): boolean =>
  status === paymentRequired || [code, type].some((name) => name !== null && usedUp.has(name));

const usedUp: ReadonlySet<string> = new Set([
  ...["insufficient_quota", "insufficient_credits", "usage_not_included"],
  ...["billing_error", "billing_hard_limit_reached", "billing_not_active"],
]);

const paymentRequired = 402;

/** The provider's id of the request: OpenAI, most proxies, Azure. */
export function requestIdOf(headers: Pick<Headers, "get"> | null): string | null {
  const ids = ["x-request-id", "request-id", "apim-request-id", "x-ms-request-id"].map((name) => headers?.get(name));
  return ids.find((id) => id !== undefined && id !== null && id !== "") ?? null;
}

/** The same, as the error that a provider throws. */
export function providerError(answer: FailedAnswer): ProviderError {
  const { message, ...failure } = classifyFailure(answer);
  return new ProviderError(message, { ...failure, body: answer.body ?? null, cause: answer.cause });
}

const kindByCode: ReadonlyMap<string, FailureKind> = new Map([
  ["previous_response_not_found", "lost-state"],
  ["websocket_connection_limit_reached", "lost-state"],
  ["conversation_locked", "conversation-locked"],
  ["concurrent_request", "conversation-locked"],
  ["conversation_not_found", "conversation-not-found"],
  ["context_length_exceeded", "context-length-exceeded"],
  ["exceed_context_size_error", "context-length-exceeded"],
  ["invalid_encrypted_content", "invalid-encrypted-content"],
  ["rate_limit_exceeded", "rate-limited"],
  ["slow_down", "rate-limited"],
  ["too_many_requests", "rate-limited"],
  ["insufficient_quota", "rate-limited"],
  ["insufficient_credits", "rate-limited"],
  ["billing_hard_limit_reached", "rate-limited"],
  ["billing_not_active", "rate-limited"],
  ["overloaded_error", "server-error"],
  ["usage_limit_reached", "rate-limited"],
  ["usage_not_included", "rate-limited"],
  ["content_filter", "content-filtered"],
  ["invalid_api_key", "authentication"],
  ["authentication_error", "authentication"],
  ["server_error", "server-error"],
  ["server_is_overloaded", "server-error"],
  ["vector_store_timeout", "server-error"],
  ["model_error", "server-error"],
  ["RESOURCE_EXHAUSTED", "rate-limited"],
  ["UNAUTHENTICATED", "authentication"],
  ["PERMISSION_DENIED", "authentication"],
  ["INTERNAL", "server-error"],
  ["UNAVAILABLE", "server-error"],
  ["DEADLINE_EXCEEDED", "server-error"],
  ["bio_policy", "invalid-request"],
  ["misalignment_policy_violation", "invalid-request"],
  ["data_residency_mismatch", "invalid-request"],
  ["model_not_found", "invalid-request"],
  ["mutually_exclusive_parameters", "invalid-request"],
  ["websocket_stream_limit_reached", "invalid-request"],
]);

/** Most refusals of the state phase have no code: only their message distinguishes them (as seen). */
const kindByMessage: readonly (readonly [RegExp, FailureKind])[] = [
  [/^No tool output found for/, "missing-tool-output"],
  [/^No tool call found for/, "orphan-tool-output"],
  [/^Item '.+' of type '.+' was provided without its required/, "reasoning-pairing"],
  [/^Duplicate item found with id \S+/, "duplicate-item"],
  [/^Item with id '.+' not found/, "item-not-found"],
  [/^Conversation with id '.+' not found/, "conversation-not-found"],
  [/^Another process is currently operating on this conversation/, "conversation-locked"],
  [/^The encrypted content .*could not be verified/s, "invalid-encrypted-content"],
  [/^(Previous )?response (with id )?'.+' not found/i, "lost-state"],
  [/^Responses websocket connection limit reached/, "lost-state"],
  [/^Previous response cannot be used/, "chaining-unsupported"],
  [/^(Unsupported|Unknown|Unrecognized) .*\bprevious_response_id\b/i, "chaining-unsupported"],
  [/\bprevious_response_id\b.* (not|un)\s?(supported|permitted|implemented|allowed)/i, "chaining-unsupported"],
  [/\bnot support '?previous_response_id\b/i, "chaining-unsupported"],
  [/^Please ensure that (the )?function response turn comes immediately after/i, "orphan-tool-output"],
  [/^Please ensure that the number of function response parts/, "missing-tool-output"],
  [/\bis missing a `?thought_signature\b|\bThought signature is not valid/, "reasoning-pairing"],
  [/^API key (not valid|expired)/, "authentication"],
  [/\binput token count .*exceeds the maximum number of tokens allowed/i, "context-length-exceeded"],
  [/^Your input exceeds the context window/, "context-length-exceeded"],
  [/\b(maximum context length|exceeds the (available context size|context length))\b/i, "context-length-exceeded"],
  [/^The response was filtered due to the prompt triggering/, "content-filtered"],
  [/^Rate limit reached/i, "rate-limited"],
  [/^The usage limit has been reached/, "rate-limited"],
];

function kindOf(report: ErrorReport, status: number | null): FailureKind {
  const { code, type, message } = report;
  // Whatever the body says: proxies send all kinds of bodies with a 429.
  if (status === 429) return "rate-limited";
  const byCode = code === null ? undefined : kindByCode.get(code);
  const byMessage = kindByMessage.find(([pattern]) => message !== null && pattern.test(message))?.[1];
  const byType = type === null ? undefined : kindByCode.get(type);
  return byCode ?? byMessage ?? ofAnchor(report, status) ?? byType ?? byStatus(status) ?? byFamily(report) ?? "unknown";
}

/** A refusal of the response id itself, worded by a server that has no specific code for it. */
function ofAnchor({ code, type, param, message }: ErrorReport, status: number | null): FailureKind | null {
  const isAnchor = param === "previous_response_id" || param === "response_id";
  if (isAnchor && (code === "unsupported_parameter" || code === "unknown_parameter")) return "chaining-unsupported";
  if (isAnchor && code !== "invalid_type" && (status === null || isRefusal(status))) return "lost-state";
  const isNotFound = status === 404 && [code, type].some((name) => name !== null && /^not[-_]found/.test(name));
  return isNotFound && !/\bmodel\b/i.test(message ?? "") ? "lost-state" : null;
}

function byStatus(status: number | null): FailureKind | null {
  if (status === null || status < 400) return null;
  if (status === 401 || status === 403) return "authentication";
  if (status === paymentRequired || status === 429) return "rate-limited";
  return isRefusal(status) ? "invalid-request" : "server-error";
}

/** Errors inside a stream have no status: the family of their code or type says whose fault it was, or else their first words. */
function byFamily({ code, type, message }: ErrorReport): FailureKind | null {
  const names = [code, type].filter((name) => name !== null);
  if (names.some((name) => /^(invalid|unsupported|unknown|missing|integer|decimal|string|array)_/.test(name)))
    return "invalid-request";
  if (names.some((name) => /^(server|internal|overloaded)/.test(name))) return "server-error";
  if (/^(Unsupported|Unknown|Invalid|Missing required) (parameter|value|type)\b/.test(message ?? ""))
    return "invalid-request";
  return /^The server had an error\b/.test(message ?? "") ? "server-error" : null;
}

/** Whether the server refused before it inferred; 408 is a timeout and does not say. */
const isRefusal = (status: number): boolean => status === 501 || (status >= 400 && status < 500 && status !== 408);

/** The server has no capacity now; 529 comes from Anthropic and from servers with its wire. */
const unavailable: ReadonlySet<number | null> = new Set([503, 529]);

const mayHaveActed: ReadonlySet<FailureKind> = new Set(["server-error", "unknown"]);

function outcomeOf(kind: FailureKind, status: number | null): "rejected" | "unknown" {
  if (status !== null && (isRefusal(status) || unavailable.has(status))) return "rejected";
  return mayHaveActed.has(kind) ? "unknown" : "rejected";
}

/** `retry-after-ms`, `retry-after` in seconds or as a date (against the answer's own date), the body, or else the text of the message. */
function retryAfter(headers: Pick<Headers, "get"> | null, { message, retryAfterMs }: ErrorReport): number | null {
  const ms = numberOf(headers?.get("retry-after-ms"));
  if (ms !== null) return ms;
  const after = headers?.get("retry-after") ?? null;
  const seconds = numberOf(after);
  if (seconds !== null) return Math.min(seconds * 1000, Number.MAX_SAFE_INTEGER);
  const until = Date.parse(after ?? "") - Date.parse(headers?.get("date") ?? "");
  if (!Number.isNaN(until)) return Math.max(0, until);
  if (retryAfterMs !== null) return retryAfterMs;
  const [, amount, unit] = /\b(?:try again|retry) in (\d+(?:\.\d+)?)(ms|s)\b/.exec(message ?? "") ?? [];
  const said = numberOf(amount);
  return said === null ? null : unit === "ms" ? said : said * 1000;
}

function numberOf(text: string | null | undefined): number | null {
  const value = text === null || text === undefined || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** The same error with the part of the answer that came, which shows that the server acted. */
export function withPartial(error: ProviderError, partial: readonly JsonObject[]): ProviderError {
  const {
    message,
    kind,
    status,
    providerCode,
    param,
    retryAfterMs,
    shouldRetry,
    requestId,
    contentFilters,
    body,
    cause,
  } = error;
  const told = { kind, status, providerCode, param, retryAfterMs, shouldRetry, requestId, contentFilters, body, cause };
  return new ProviderError(message, { ...told, outcome: "unknown", partial });
}

/** The same error with a message that also says what to do. */
export function withMessage(error: ProviderError, message: string): ProviderError {
  const { cause, ...fields } = error;
  return new ProviderError(message, { ...fields, cause });
}
