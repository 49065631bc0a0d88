import type { JsonObject, JsonValue } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";

/** The error code if a call in the answer cannot be read; also the kind of the run's failure. */
export const unreadableCall = "unreadable-call";

/** Why an inference failed, in terms that all providers share. */
export type FailureKind = (typeof failureKinds)[number];

export const failureKinds = [
  "lost-state",
  /** The anchor can be continued only once, and was; or another request is about to continue it. */
  "already-continued",
  /** A setting differs from the one that the anchor was made with. */
  "anchor-mismatch",
  "chaining-unsupported",
  "missing-tool-output",
  "orphan-tool-output",
  "reasoning-pairing",
  "duplicate-item",
  "item-not-found",
  "invalid-encrypted-content",
  "context-length-exceeded",
  "rate-limited",
  /** `circuitBreaker` refused the request: the endpoint kept failing. */
  "circuit-open",
  /** `rateLimit` refused the request: its limiter has too few points left. */
  "limit-reached",
  /** `rateLimit` refused the request: its limiter does not answer. */
  "limiter-down",
  "conversation-locked",
  "conversation-not-found",
  "authentication",
  /** The server's content filters blocked the prompt; `contentFilters` has the findings. */
  "content-filtered",
  "invalid-request",
  "server-error",
  "connection",
  /** The transport is unavailable; nothing was sent. */
  "transport-unavailable",
  "stream-cut",
  /** The answer exceeded a limit of the provider (`openaiResponses({ limits })`). */
  "body-too-large",
  "item-too-large",
  "stream-too-large",
  "answer-stalled",
  /** The call did not end by its deadline, so the engine abandoned it. */
  "timeout",
  "aborted",
  /** The process that sent the request ended before the answer came. */
  "interrupted",
  /** A response that was made in the background no longer exists. */
  "lost-response",
  /** The provider threw an error that is not a `ProviderError`: a bug in the provider. */
  "provider-failed",
  /** The answer came, but no store accepts it. */
  "unstorable",
  /** The answer came, but a call in it has no name, or arguments that are neither a text nor an object. */
  unreadableCall,
  "unknown",
] as const;

/** The provider rejected the request or failed. `outcome` says whether the server may have acted on it. */
export class ProviderError extends TurnlogError<"provider-failed"> {
  override readonly name = "ProviderError";
  readonly kind: FailureKind;
  readonly outcome: "rejected" | "unknown";
  /** The HTTP status, if there was one. */
  readonly status: number | null;
  readonly providerCode: string | null;
  readonly param: string | null;
  /** The items that were complete before a stream broke, and the text so far. */
  readonly partial: readonly JsonObject[];
  /** How long the server asked to wait before a retry. */
  readonly retryAfterMs: number | null;
  /** Whether the server allows a retry (`x-should-retry`; also false for a quota that is used up); null if it did not say. */
  readonly shouldRetry: boolean | null;
  /** The provider's id of the request, for its support (`x-request-id`). */
  readonly requestId: string | null;
  /** The findings of the server's content filters, if it reports them. */
  readonly contentFilters: readonly ContentFilter[];
  /** The provider's answer, verbatim: an error body, or the failed response. */
  readonly body: JsonValue;

  constructor(
    message: string,
    fields: {
      readonly kind: FailureKind;
      readonly outcome: "rejected" | "unknown";
      readonly status?: number | null;
      readonly providerCode?: string | null;
      readonly param?: string | null;
      readonly partial?: readonly JsonObject[];
      readonly retryAfterMs?: number | null;
      readonly shouldRetry?: boolean | null;
      readonly requestId?: string | null;
      readonly contentFilters?: readonly ContentFilter[];
      readonly body?: JsonValue;
      readonly cause?: unknown;
    },
  ) {
    super("provider-failed", message, { cause: fields.cause });
    this.kind = fields.kind;
    this.outcome = fields.outcome;
    this.status = fields.status ?? null;
    this.providerCode = fields.providerCode ?? null;
    this.param = fields.param ?? null;
    this.partial = fields.partial ?? [];
    this.retryAfterMs = fields.retryAfterMs ?? null;
    this.shouldRetry = fields.shouldRetry ?? null;
    this.requestId = fields.requestId ?? null;
    this.contentFilters = fields.contentFilters ?? [];
    this.body = fields.body ?? null;
  }
}
