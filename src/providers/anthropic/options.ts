import type { JsonObject } from "../../base/json.ts";
import { allOf, anything, type OptionTable, required } from "../../base/options.ts";
import {
  type KeyedOptions,
  keyedOptions,
  type TransportOption,
  transportOption,
} from "../settings/connection-options.ts";
import { instructions, modelLike, textList } from "../settings/option-checks.ts";
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
export type AnthropicConnection = KeyedOptions &
  TransportOption & {
    /** `ANTHROPIC_API_KEY` when absent. Masked wherever the provider repeats it. */
    readonly apiKey?: KeyedOptions["apiKey"];
    /** `ANTHROPIC_BASE_URL`, else Anthropic's own, when absent; requests go to `/v1/messages` under it. */
    readonly baseURL?: KeyedOptions["baseURL"];
    /** The `anthropic-version` of the wire; `2026-10-21` when absent. */
    readonly version?: string | undefined;
    /** What goes into `anthropic-beta`. */
    readonly betas?: readonly string[] | undefined;
    readonly capabilities?: MessagesCapabilities | undefined;
    /** `instructions`: system blocks at the beginning go there, so that changing them is a change of settings. */
    readonly systemAs?: "input" | "instructions" | undefined;
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
};
