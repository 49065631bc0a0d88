import type { CacheUse } from "./cache/prompt-cache.ts";
import type { Json, JsonObject } from "./wire.ts";

/** The members of a response except its output. */
export interface ResponseHead {
  readonly id: string;
  readonly body: JsonObject;
  readonly model: string;
  readonly createdAt: number;
  readonly completedAt: number;
  readonly status: string;
  readonly previousResponseId: string | null;
  readonly conversationId: string | null;
  readonly isStored: boolean;
  readonly error: JsonObject | null;
  readonly incompleteDetails: JsonObject | null;
  readonly usage: JsonObject;
  /** Reasoning that was withheld from the model (`input_transformations`), if any. */
  readonly transformations: readonly JsonObject[];
  /** What differs from the prompt that the request compares with (`prompt_cache_diagnostics`), if it asks. */
  readonly diagnosis?: JsonObject | undefined;
  /** The findings of Azure's filters. */
  readonly contentFilters?: Json;
}

/** The response as JSON: members, defaults and their order as recorded from the real service. */
export function responseBody(head: ResponseHead, output: readonly JsonObject[]): JsonObject {
  const { body } = head;
  return {
    id: head.id,
    object: "response",
    created_at: head.createdAt,
    status: head.status,
    background: body["background"] ?? false,
    ...(head.contentFilters === undefined ? {} : { content_filters: head.contentFilters }),
    completed_at: head.status === "completed" ? head.completedAt : null,
    ...(head.conversationId === null ? {} : { conversation: { id: head.conversationId } }),
    error: head.error,
    frequency_penalty: 0,
    incomplete_details: head.incompleteDetails,
    ...(head.transformations.length === 0 ? {} : { input_transformations: head.transformations }),
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    model: head.model,
    output,
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    presence_penalty: 0,
    previous_response_id: head.previousResponseId,
    ...(head.diagnosis === undefined ? {} : { prompt_cache_diagnostics: head.diagnosis }),
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    reasoning: body["reasoning"] ?? { effort: null, summary: null },
    safety_identifier: body["safety_identifier"] ?? null,
    service_tier: body["service_tier"] ?? "auto",
    store: head.isStored,
    temperature: body["temperature"] ?? 1,
    text: body["text"] ?? { format: { type: "text" }, verbosity: "medium" },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_logprobs: body["top_logprobs"] ?? 0,
    top_p: body["top_p"] ?? 1,
    truncation: body["truncation"] ?? "disabled",
    usage: head.usage,
    user: body["user"] ?? null,
    metadata: body["metadata"] ?? {},
  };
}

/** The response before any of it exists. */
export function startedBody(head: ResponseHead, status: "in_progress" | "queued" = "in_progress"): JsonObject {
  const started = { ...head, status, error: null, incompleteDetails: null, transformations: [], diagnosis: undefined };
  return { ...responseBody(started, []), usage: null };
}

/** The usage of a request, computed only from sizes, so that it is the same in every run. */
export function usageOf(
  tokens: {
    readonly input: number;
    readonly use?: CacheUse | undefined;
    readonly output: number;
    readonly reasoning: number;
  },
  given: JsonObject = {},
): JsonObject {
  return {
    input_tokens: tokens.input,
    ...cacheDetails(tokens.use),
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.output,
    ...given,
  };
}

/** What was read from the prompt cache, and what was written: by lifetime, if the request named one that OpenAI counts by itself. */
function cacheDetails(use: CacheUse | undefined): JsonObject {
  if (use === undefined) return { input_tokens_details: { cached_tokens: 0 } };
  const { isTold, areWritesTold, read, written } = use;
  if (!isTold) return {};
  const { "30m": short, "12h": long } = written.by;
  const isByLifetime = short !== undefined || long !== undefined;
  const by = { ttl_30m_tokens: short ?? 0, ttl_12h_tokens: long ?? 0 };
  const writes = { cache_write_tokens: written.all, ...(isByLifetime ? { cache_write_tokens_details: by } : {}) };
  return { input_tokens_details: { cached_tokens: read, ...(areWritesTold ? writes : {}) } };
}
