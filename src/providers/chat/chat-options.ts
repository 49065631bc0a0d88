import type { OptionNames } from "../../base/options.ts";
import type { PartCapabilities } from "../../engine/stack/part-capabilities.ts";
import type { ConnectionOptions } from "../settings/connection-options.ts";
import type { ChatMembers, WithSecrets } from "../settings/request-members.ts";
import type { ChatDialectName } from "./chat-dialects.ts";

/** Where the model is and how it is asked. None of this is recorded. */
export type ChatConnectionOptions = Omit<
  ConnectionOptions,
  "apiKey" | "baseURL" | "capabilities" | "systemAs" | "transport" | "organization" | "project"
> & {
  /** Whose Chat Completions the server speaks; `openai` when absent. It decides on thoughts, ids of calls, and the defaults below. */
  readonly dialect?: ChatDialectName | undefined;
  /**
   * The variable of the dialect when absent: `OPENAI_API_KEY`, `DEEPSEEK_API_KEY`, `MISTRAL_API_KEY`, `GROQ_API_KEY`,
   * `OPENROUTER_API_KEY`, `GEMINI_API_KEY`; servers of
   * one's own (vllm, llama.cpp, ollama) ask for none. Masked wherever the provider repeats it. A function is asked before every
   * request; `credentialsOwner` then says whose keys they are.
   */
  readonly apiKey?: ConnectionOptions["apiKey"];
  /** Where the server of the dialect usually is when absent; for `openai`, `OPENAI_BASE_URL` comes first. */
  readonly baseURL?: string | undefined;
  /** Which parts of messages the server, or its model, takes, where the dialect says otherwise: what it does not take is left out, and that is on record. */
  readonly capabilities?: PartCapabilities | undefined;
  /** How requests are sent; `sse` when absent. */
  readonly transport?: "json" | "sse" | undefined;
};

/** Members of a request's body that every request decides anew. */
export type ChatDecidedMember = "messages" | "stream";

/**
 * The other members of a request's body, sent and recorded as they stand; any text in them may be `secret("NAME")`, but for
 * instructions and tools.
 */
export type ChatSettings = {
  readonly [Name in keyof ChatMembers]?: WithSecrets<ChatMembers[Name]> | undefined;
} & {
  /** The first message of every request, of role `system`. */
  readonly instructions?: string | undefined;
  /** Said of streamed answers beside `include_usage`, which is always asked for; false for a server that refuses the member: usage is then unknown. */
  readonly stream_options?:
    | false
    | { readonly include_obfuscation?: boolean; readonly include_usage?: boolean }
    | null
    | undefined;
};

/** The options of `chatCompletions`: where the model is, and the settings of its requests. */
export type ChatCompletionsOptions = { readonly model: string } & ChatConnectionOptions &
  ChatSettings & { readonly [Name in ChatDecidedMember]?: never };

export const chatConnectionNames: OptionNames<ChatConnectionOptions> = {
  ...{
    dialect: true,
    capabilities: true,
    apiKey: true,
    baseURL: true,
    credentialsOwner: true,
    headers: true,
    transport: true,
  },
  ...{ secrets: true, timeoutMs: true, limits: true, fetch: true, extraBody: true },
};

export const chatSettingNames: OptionNames<Pick<ChatCompletionsOptions, "model"> & ChatSettings> = {
  ...{
    model: true,
    instructions: true,
    stream_options: true,
    audio: true,
    frequency_penalty: true,
    logit_bias: true,
    logprobs: true,
  },
  ...{ max_completion_tokens: true, max_tokens: true, metadata: true, modalities: true, moderation: true },
  ...{ parallel_tool_calls: true, prediction: true, presence_penalty: true, prompt_cache_key: true },
  ...{ prompt_cache_options: true, prompt_cache_retention: true, reasoning_effort: true, response_format: true },
  ...{ safety_identifier: true, seed: true, service_tier: true, stop: true, store: true, temperature: true },
  ...{ tool_choice: true, tools: true, top_logprobs: true, top_p: true, user: true, verbosity: true },
  web_search_options: true,
};
