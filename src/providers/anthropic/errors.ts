import { type JsonValue, jsonOf, objectOf } from "../../base/json.ts";
import { type FailureKind, ProviderError } from "../../engine/ports/provider-error.ts";
import { type ClassifiedFailure, classifyFailure, type FailedAnswer } from "../failures/classify-error.ts";

/** The error of a request that the Messages API refused or could not answer (Anthropic's API reference). */
export function messagesError(answer: FailedAnswer): ProviderError {
  const { message, ...failure } = classifyMessagesFailure(answer);
  return new ProviderError(message, { ...failure, body: answer.body ?? null, cause: answer.cause });
}

/** Classifies a failed request: by `details.error_code`, else by the wording of the message, else by the type. Pure. */
function classifyMessagesFailure(answer: FailedAnswer): ClassifiedFailure {
  const failure = classifyFailure(answer);
  const { error } = objectOf(typeof answer.body === "string" ? jsonOf(answer.body) : answer.body);
  const { type, details } = objectOf(error);
  const { error_code: code } = objectOf(details);
  const kind = kindOf(failure, { type, code });
  const isOverloaded = failure.status === 529 || type === "overloaded_error";
  return {
    ...failure,
    kind,
    // An overloaded server has not begun; without a status the stream had begun.
    outcome: isOverloaded && failure.status !== null ? "rejected" : failure.outcome,
    providerCode: typeof code === "string" ? code : typeof type === "string" ? type : failure.providerCode,
    param: pathIn(failure.message) ?? failure.param,
  };
}

type Said = { readonly type: JsonValue | undefined; readonly code: JsonValue | undefined };

function kindOf({ kind, status, message }: ClassifiedFailure, { type, code }: Said): FailureKind {
  if (status === 429) return "rate-limited";
  // Threads without breakpoints are another question.
  const isAboutMarks = /cache_control/.test(message) && !/thinking|fallbacks|context_management/.test(message);
  if (code === "thread_unsupported_request" && isAboutMarks) return "invalid-request";
  const byCode = typeof code === "string" ? kindByCode.get(code) : undefined;
  const byMessage = kindByMessage.find(([pattern]) => pattern.test(message))?.[1];
  const byType = typeof type === "string" ? kindByType.get(type) : undefined;
  return byCode ?? byMessage ?? byType ?? kind;
}

const kindByCode: ReadonlyMap<string, FailureKind> = new Map([
  ["thread_not_found", "lost-state"],
  ["thread_already_continued", "already-continued"],
  ["thread_continue_in_flight", "already-continued"],
  ["thread_fingerprint_mismatch", "anchor-mismatch"],
  ["thread_unsupported_request", "chaining-unsupported"],
]);

const kindByMessage: readonly (readonly [RegExp, FailureKind])[] = [
  [/`tool_use` ids were found without `tool_result` blocks immediately after/, "missing-tool-output"],
  [/unexpected `tool_use_id` found in `tool_result` blocks/, "orphan-tool-output"],
  [/`tool_use` ids must be unique/, "duplicate-item"],
  [/Invalid `signature` in `thinking` block/, "invalid-encrypted-content"],
  [
    /`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified/,
    "invalid-encrypted-content",
  ],
  // The Claude CLI sends it without the numbers.
  [/^prompt is too long\b/i, "context-length-exceeded"],
];

/** Errors inside a stream have no status. */
const kindByType: ReadonlyMap<string, FailureKind> = new Map([
  ["invalid_request_error", "invalid-request"],
  ["authentication_error", "authentication"],
  ["permission_error", "authentication"],
  ["billing_error", "rate-limited"],
  ["not_found_error", "invalid-request"],
  ["conflict_error", "invalid-request"],
  ["request_too_large", "context-length-exceeded"],
  ["rate_limit_error", "rate-limited"],
  ["api_error", "server-error"],
  ["timeout_error", "server-error"],
  ["overloaded_error", "server-error"],
]);

/** `messages.1.content.0: …`: the part of the request that the message is about. */
const pathIn = (message: string): string | null => /^([a-z_]+(?:\.[a-z_\d]+)+): /.exec(message)?.[1] ?? null;
