import type { JsonObject } from "../../base/json.ts";
import { allOf, anything, type OptionTable, required } from "../../base/options.ts";
import {
  type KeyedOptions,
  keyedOptions,
  type TransportOption,
  transportOption,
} from "../settings/connection-options.ts";
import { flag, instructions, modelLike, textList } from "../settings/option-checks.ts";
import type { MessagesMembers, WithSecrets } from "../settings/request-members.ts";

/** What an endpoint of the Messages API can do. */
export type MessagesCapabilities = {
  /**
   * What it does with thinking whose prefix (instructions, tools, earlier blocks) has changed since: refuses the request, withholds the
   * thinking, or does not check. `refuse` by default, except for models that are known not to check.
   */
  readonly reasoningPrefix?: "refuse" | "withhold" | "ignore";
};

/** The endpoint of the model. None of this is recorded. */
export type AnthropicConnection = KeyedOptions &
  TransportOption & {
    /** `ANTHROPIC_API_KEY` by default. Masked wherever the provider repeats it. */
    readonly apiKey?: KeyedOptions["apiKey"];
    /** `ANTHROPIC_BASE_URL` by default, else Anthropic's own address; requests go to `/v1/messages` below it. */
    readonly baseURL?: KeyedOptions["baseURL"];
    /** The `anthropic-version` of the wire; `2026-10-21` by default. */
    readonly version?: string | undefined;
    /** The values of `anthropic-beta`. */
    readonly betas?: readonly string[] | undefined;
    readonly capabilities?: MessagesCapabilities | undefined;
    /** `instructions`: system blocks at the beginning become instructions, so that changing them is a change of settings. */
    readonly systemAs?: "input" | "instructions" | undefined;
  };

/** The other members of the request body, sent and recorded unchanged. */
export type MessagesSettings = {
  readonly [Name in keyof MessagesMembers]?: WithSecrets<MessagesMembers[Name]> | undefined;
} & {
  /** The limit for the tokens of an answer, thinking included; 16,000 by default. */
  readonly max_tokens?: number | undefined;
  /**
   * Has the server keep each answer for five minutes, so that the next request sends only what is new (message threads, a beta). It
   * excludes `thinking`, `fallbacks`, `context_management` and cache breakpoints, which threads refuse.
   */
  readonly threads?: boolean | undefined;
  /**
   * Whether turnlog sets cache breakpoints for Anthropic's prompt cache in every request: where earlier requests of the conversation ended,
   * at its end, and after the system prompt and tools. True by default; off with `threads`, which refuse breakpoints, and if a setting has
   * a `cache_control` of your own. `ttl` is the lifetime of cache entries; `5m` by default.
   */
  readonly cache?: boolean | { readonly ttl: "5m" | "1h" } | undefined;
  /**
   * With `threads`, sets cache breakpoints on requests of threads too, three at most. Off by default, because it is not established that
   * threads take them: Anthropic's documents disagree. A server that rejects them gets threads without breakpoints from then on.
   */
  readonly cacheOnThreads?: boolean | undefined;
  /**
   * Asks Anthropic's API to compare each prompt with that of the newest answer before it (`diagnostics`). The answer is recorded, and shown
   * beside turnlog's own verdict (`why`). Off by default. An endpoint that rejects it is not asked again.
   */
  readonly cacheDiagnostics?: boolean | undefined;
  /** The system prompt: a text, or blocks of text. */
  readonly instructions?: string | readonly JsonObject[] | undefined;
};

/** The options of `anthropic`: the endpoint of the model, and the settings of its requests. */
export type AnthropicOptions = { readonly model: string } & AnthropicConnection &
  MessagesSettings & { readonly [Name in "messages" | "stream" | "system" | "thread"]?: never };

export const anthropicConnection: OptionTable<AnthropicConnection> = {
  ...{ ...keyedOptions, ...transportOption },
  ...{ version: anything, betas: textList, capabilities: anything, systemAs: anything },
};

export const messagesSettings: OptionTable<Pick<AnthropicOptions, "model"> & MessagesSettings> = {
  ...{ model: required(modelLike("claude-sonnet-5")), max_tokens: anything, instructions },
  ...allOf(anything, "billing_policy", "cache_control", "compaction", "container", "context_management"),
  ...allOf(anything, "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "mcp_servers"),
  ...allOf(anything, "metadata", "output_config", "output_format", "service_tier", "speed", "stop_sequences"),
  ...allOf(anything, "thinking", "tool_choice", "tools", "threads", "cache", "user_profile_id", "workspace_id"),
  ...{ cacheDiagnostics: flag, cacheOnThreads: flag },
};
