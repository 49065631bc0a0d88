import { isJsonObject } from "../../base/json.ts";
import { allOf, anything, kindOf, type OptionTable, required } from "../../base/options.ts";
import type { PartCapabilities } from "../../engine/stack/part-capabilities.ts";
import {
  type KeyedOptions,
  keyedOptions,
  type TransportOption,
  transportOption,
} from "../settings/connection-options.ts";
import { instructions, modelLike, wordOf } from "../settings/option-checks.ts";
import type { ChatMembers, WithSecrets } from "../settings/request-members.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { type ChatDialectName, chatDialectNames } from "./chat-dialects.ts";

/** Where the model is and how it is asked. None of this is recorded. */
export type ChatConnectionOptions = KeyedOptions &
  TransportOption & {
    /** Whose Chat Completions the server speaks; `openai` when absent. It decides on thoughts, ids of calls, and the defaults below. */
    readonly dialect?: ChatDialectName | undefined;
    /**
     * The variable of the dialect when absent: `OPENAI_API_KEY`, `DEEPSEEK_API_KEY`, `MISTRAL_API_KEY`, `GROQ_API_KEY`,
     * `OPENROUTER_API_KEY`, `GEMINI_API_KEY`; servers of
     * one's own (vllm, llama.cpp, ollama) ask for none. Masked wherever the provider repeats it. A function is asked before every
     * request; `credentialsOwner` then says whose keys they are.
     */
    readonly apiKey?: KeyedOptions["apiKey"];
    /** Where the server of the dialect usually is when absent; for `openai`, `OPENAI_BASE_URL` comes first. */
    readonly baseURL?: string | undefined;
    /** Which parts of messages the server, or its model, takes, where the dialect says otherwise: what it does not take is left out, and that is on record. */
    readonly capabilities?: PartCapabilities | undefined;
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

export const chatConnection: OptionTable<ChatConnectionOptions> = {
  ...{ dialect: wordOf(...chatDialectNames), capabilities: anything },
  ...{ ...keyedOptions, ...transportOption },
};

export const chatSettings: OptionTable<Pick<ChatCompletionsOptions, "model"> & ChatSettings> = {
  ...{ model: required(modelLike("gpt-5.4")), instructions },
  stream_options(what, given) {
    if (given === null || given === false || isJsonObject(given)) return anything(what, given);
    throw new ProviderSettingsError(
      `${what} is ${kindOf(given)}: give an object, or false where the server refuses it`,
    );
  },
  ...allOf(anything, "audio", "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens"),
  ...allOf(anything, "metadata", "modalities", "moderation", "parallel_tool_calls", "prediction", "presence_penalty"),
  ...allOf(anything, "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort"),
  ...allOf(anything, "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "temperature"),
  ...allOf(anything, "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"),
};
