import type { SecretReference } from "../../domain/secret-reference.ts";

/** The same type, read-only, with a reference to a secret allowed for any text that is not a choice. */
export type WithSecrets<Value> = Value extends string
  ? string extends Value
    ? Value | SecretReference
    : Value
  : Value extends object
    ? [keyof Value] extends [never]
      ? Value
      : { readonly [Name in keyof Value]: WithSecrets<Value[Name]> }
    : Value;

/** One of the known words, or one that a server has added since. */
type Word<Known extends string> = Known | (string & {});

type OrNull<Members> = { [Name in keyof Members]?: Members[Name] | null };

/** A tool that the server runs; the server checks everything but its type. */
type HostedTool<Type extends string> = { type: Type } | { type: Type; [member: string]: unknown };

/** A member whose content the server checks. */
type Schema = object;

type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Members of both of OpenAI's APIs. */
type Common = OrNull<{
  metadata: Readonly<Record<string, string>>;
  parallel_tool_calls: boolean;
  prompt_cache_key: string;
  prompt_cache_options: Schema;
  prompt_cache_retention: "in_memory" | "24h";
  moderation: Schema;
  safety_identifier: string;
  store: boolean;
  temperature: number;
  top_logprobs: number;
  top_p: number;
  user: string;
}>;

/** The members of a request body (OpenAI's reference of `POST /responses`) that not every request decides anew. */
export type ResponsesMembers = Common &
  OrNull<{
    access_programs: Schema;
    background: boolean;
    context_management: readonly { type: string; compact_threshold?: number | null }[];
    image: Schema;
    include: readonly Word<"reasoning.encrypted_content" | "file_search_call.results" | "web_search_call.results">[];
    instructions: string;
    max_output_tokens: number;
    max_tool_calls: number;
    reasoning: OrNull<{
      context: "auto" | "current_turn" | "all_turns";
      effort: Effort;
      generate_summary: "auto" | "concise" | "detailed";
      mode: Word<"standard" | "pro">;
      summary: "auto" | "concise" | "detailed";
    }>;
    service_tier: "auto" | "default" | "flex" | "scale" | "priority" | "fast" | "ultrafast";
    stream_options: OrNull<{ include_obfuscation: boolean }>;
    text: { format?: { type: string } | { type: string; [member: string]: unknown }; verbosity?: Verbosity | null };
    tool_choice: "none" | "auto" | "required" | HostedTool<string>;
    tools: readonly (
      | (OrNull<FunctionOptions> & {
          type: "function";
          name: string;
          parameters: Schema | null;
          strict: boolean | null;
        })
      | (OrNull<FunctionOptions> & { type: "custom"; name: string; format?: Schema })
      | HostedTool<"mcp" | "shell" | "computer" | "namespace" | `${string}_${string}`>
    )[];
    truncation: "auto" | "disabled";
  }>;

type FunctionOptions = {
  description: string;
  allowed_callers: readonly string[];
  async: boolean;
  defer_loading: boolean;
  output_schema: Schema;
};

type Verbosity = "low" | "medium" | "high";

/** The same for `POST /chat/completions`. */
export type ChatMembers = Common &
  OrNull<{
    audio: { format: Word<"wav" | "aac" | "mp3" | "flac" | "opus" | "pcm16">; voice: string | Schema };
    frequency_penalty: number;
    logit_bias: Readonly<Record<string, number>>;
    logprobs: boolean;
    max_completion_tokens: number;
    max_tokens: number;
    modalities: readonly ("text" | "audio")[];
    prediction: { type: "content"; content: string | readonly Schema[] };
    presence_penalty: number;
    reasoning_effort: Effort;
    response_format: { type: "text" | "json_object" } | { type: "json_schema"; json_schema: Schema };
    seed: number;
    service_tier: "auto" | "default" | "flex" | "scale" | "priority" | "fast";
    stop: string | readonly string[];
    tool_choice: "none" | "auto" | "required" | HostedTool<string>;
    tools: readonly (
      | {
          type: "function";
          function: { name: string; description?: string; parameters?: Schema; strict?: boolean | null };
        }
      | { type: "custom"; custom: Schema & { name: string } }
      | HostedTool<`${string}_${string}`>
    )[];
    verbosity: Verbosity;
    web_search_options: Schema;
  }>;

type CacheMark = { type: "ephemeral"; ttl?: "5m" | "1h" };

/** How much a model thinks, and how much of that it shows. */
type ThinkingOptions = OrNull<{ display: "summarized" | "omitted" | "updates"; block_binding: Schema }>;

/** The same for Anthropic's `POST /v1/messages`, betas included. */
export type MessagesMembers = OrNull<{
  billing_policy: Schema;
  cache_control: CacheMark;
  compaction: { type: "summarize"; instructions?: string | null };
  container: string | Schema;
  context_management: Schema;
  diagnostics: Schema;
  fallback_credit_token: string | Schema;
  fallbacks: "default" | readonly Schema[];
  inference_geo: string;
  mcp_servers: readonly {
    type: "url";
    name: string;
    url: string;
    authorization_token?: string | null;
    tool_configuration?: Schema | null;
  }[];
  metadata: OrNull<{ user_id: string }>;
  output_config: OrNull<{
    effort: "low" | "medium" | "high" | "xhigh" | "max";
    format: { type: "json_schema"; schema: Schema };
    task_budget: Schema;
  }>;
  output_format: { type: "json_schema"; schema: Schema };
  service_tier: "auto" | "standard_only";
  speed: "standard" | "fast";
  stop_sequences: readonly string[];
  thinking:
    | ({ type: "enabled"; budget_tokens: number } & ThinkingOptions)
    | ({ type: "adaptive" | "disabled" | "between_tools" } & ThinkingOptions);
  tool_choice:
    | { type: "auto" | "any" | "none"; disable_parallel_tool_use?: boolean }
    | { type: "tool"; name: string; disable_parallel_tool_use?: boolean };
  tools: readonly (
    | {
        type?: "custom" | null;
        name: string;
        input_schema: Schema & { type: "object" };
        description?: string;
        cache_control?: CacheMark | null;
        strict?: boolean;
        allowed_callers?: readonly string[];
        defer_loading?: boolean;
        eager_input_streaming?: boolean | null;
        input_examples?: readonly Schema[];
      }
    | HostedTool<`${string}_${string}`>
  )[];
  user_profile_id: string;
  workspace_id: string;
}>;
