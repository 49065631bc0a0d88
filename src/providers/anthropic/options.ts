import type { JsonObject } from "../../base/json.ts";
import type { OptionNames } from "../../base/options.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import type { KeySource, Secrets, TextOrSecret } from "../settings/connection-options.ts";
import type { MessagesMembers, WithSecrets } from "../settings/request-members.ts";

/** What an endpoint of the Messages API can do. */
export type MessagesCapabilities = {
  /**
   * What it does with thinking whose prefix (instructions, tools, earlier blocks) is not the one that it was made from: refuses the request,
   * drops it, or does not look. `refuse` when absent, but for models that are known not to look.
   */
  readonly reasoningPrefix?: "refuse" | "withhold" | "ignore";
};

/** Where the model is and how it is asked. None of this is recorded. */
export type AnthropicConnection = {
  /**
   * `ANTHROPIC_API_KEY` when absent. Masked wherever the provider repeats it. A function is asked before every request, for keys
   * that do not last; `credentialsOwner` then says whose they are.
   */
  readonly apiKey?: TextOrSecret | KeySource | undefined;
  /** `ANTHROPIC_BASE_URL`, else Anthropic's own, when absent; requests go to `/v1/messages` under it. */
  readonly baseURL?: string | undefined;
  /** The `anthropic-version` of the wire; `2026-10-21` when absent. */
  readonly version?: string | undefined;
  /** What goes into `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined;
  /** Names whose credentials they are in place of the key's own fingerprint, so that a new key keeps what belongs to the endpoint. */
  readonly credentialsOwner?: string | undefined;
  /** The values of `authorization`, and of others whose name ends in key, token, secret or cookie, are masked as the key is. */
  readonly headers?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** Whether answers are streamed; `sse` when absent. */
  readonly transport?: "json" | "sse" | undefined;
  readonly capabilities?: MessagesCapabilities | undefined;
  /** `instructions`: system blocks at the beginning go there, so that changing them is a change of settings. */
  readonly systemAs?: "input" | "instructions" | undefined;
  /** Values for what is `secret("NAME")` in settings, headers and apiKey, of 8 characters or more: sent, and never recorded. */
  readonly secrets?: Secrets | undefined;
  /** For a whole answer, its stream included; ten minutes when absent. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer is taken in, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Further members of the request's body, for servers that know more than is typed here; recorded as settings are. */
  readonly extraBody?: JsonObject | undefined;
};

/** The other members of a request's body, sent and recorded as they stand. */
export type MessagesSettings = {
  readonly [Name in keyof MessagesMembers]?: WithSecrets<MessagesMembers[Name]> | undefined;
} & {
  /** The most tokens that an answer may have, thinking included; 16,000 when absent. */
  readonly max_tokens?: number | undefined;
  /**
   * Has the server keep each answer for five minutes, so that the next request says what is new and no more (message threads, a beta).
   * Not together with `thinking`, `fallbacks`, `context_management` and marks for the cache, which threads refuse.
   */
  readonly threads?: boolean | undefined;
  /**
   * Whether turnlog marks every request for Anthropic's cache of prompts: where earlier requests of the conversation ended, where this one
   * does, and behind the system prompt and tools. True when absent; off with `threads`, which refuse marks, and where a setting
   * holds a `cache_control` of your own. `ttl` is how long the server keeps what is marked: `5m`, unless said.
   */
  readonly cache?: boolean | { readonly ttl: "5m" | "1h" } | undefined;
  /** The system prompt: a text, or blocks of text. */
  readonly instructions?: string | readonly JsonObject[] | undefined;
};

/** The options of `anthropic`: where the model is, and the settings of its requests. */
export type AnthropicOptions = { readonly model: string } & AnthropicConnection &
  MessagesSettings & { readonly [Name in "messages" | "stream" | "system" | "thread"]?: never };

export const connectionNames: OptionNames<AnthropicConnection> = {
  ...{ apiKey: true, baseURL: true, version: true, betas: true, credentialsOwner: true, headers: true },
  ...{ transport: true, capabilities: true, systemAs: true, secrets: true, timeoutMs: true, limits: true, fetch: true },
  extraBody: true,
};

export const settingNames: OptionNames<Pick<AnthropicOptions, "model"> & MessagesSettings> = {
  ...{ model: true, max_tokens: true, instructions: true, billing_policy: true, cache_control: true },
  ...{ compaction: true, container: true, context_management: true, diagnostics: true, fallback_credit_token: true },
  ...{ fallbacks: true, inference_geo: true, mcp_servers: true, metadata: true, output_config: true },
  ...{ output_format: true, service_tier: true, speed: true, stop_sequences: true, thinking: true, tool_choice: true },
  ...{ tools: true, threads: true, cache: true, user_profile_id: true, workspace_id: true },
};
