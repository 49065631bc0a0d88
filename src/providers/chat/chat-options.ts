import { isJsonObject } from "../../base/json.ts";
import { allOf, anything, kindOf, type OptionTable, required } from "../../base/options.ts";
import type { PartCapabilities } from "../../engine/ports/part-capabilities.ts";
import { breakpointsFor, type CacheBreakpoints } from "../settings/cache-breakpoints.ts";
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

/** The endpoint of the model. None of this is recorded. */
export type ChatConnectionOptions = KeyedOptions &
  TransportOption & {
    /** The dialect of the server; `openai` by default. It decides on reasoning, call ids, and the defaults below. */
    readonly dialect?: ChatDialectName | undefined;
    /**
     * The variable of the dialect by default: `OPENAI_API_KEY`, `DEEPSEEK_API_KEY`, `MISTRAL_API_KEY`, `GROQ_API_KEY`,
     * `OPENROUTER_API_KEY`, `GEMINI_API_KEY`; local servers (vllm, llama.cpp, ollama) need none. Masked wherever the provider repeats it. A
     * function is called before every request; `credentialsOwner` then names the keys' owner.
     */
    readonly apiKey?: KeyedOptions["apiKey"];
    /** The usual address of the dialect's server by default; for `openai`, `OPENAI_BASE_URL` comes first. */
    readonly baseURL?: string | undefined;
    /**
     * Which parts of messages the server or its model accepts, where that differs from the dialect. turnlog leaves out the others and
     * records that.
     */
    readonly capabilities?: PartCapabilities | undefined;
  };

/** Members of the request body that every request decides anew. */
export type ChatDecidedMember = "messages" | "stream";

/** The other members of the request body, sent and recorded unchanged; any text in them except instructions and tools may be `secret("NAME")`. */
export type ChatSettings = {
  readonly [Name in keyof ChatMembers]?: WithSecrets<ChatMembers[Name]> | undefined;
} & {
  /** The first message of every request, with the role `system`. */
  readonly instructions?: string | undefined;
  /**
   * Has turnlog set explicit breakpoints for the prompt cache: on the last message of the request, where earlier requests ended, and
   * after the instructions, or the system messages at the beginning. `ttl` is the lifetime of their entries. Dialect `openai`: for GPT-5.6 and later
   * (`30m`, `12h`). Dialect `openrouter`: for models whose vendors cache at breakpoints, such as Anthropic's (`5m`, `1h`). Off by
   * default.
   */
  readonly cacheBreakpoints?: CacheBreakpoints<"30m" | "12h" | "5m" | "1h"> | undefined;
  /** Added to `include_usage`, which streamed requests always ask for. False for a server that refuses the member; usage is then unknown. */
  readonly stream_options?:
    | false
    | { readonly include_obfuscation?: boolean; readonly include_usage?: boolean }
    | null
    | undefined;
};

/** The options of `chatCompletions`: the endpoint of the model, and the settings of its requests. */
export type ChatCompletionsOptions = { readonly model: string } & ChatConnectionOptions &
  ChatSettings & { readonly [Name in ChatDecidedMember]?: never };

export const chatConnection: OptionTable<ChatConnectionOptions> = {
  ...{ dialect: wordOf(...chatDialectNames), capabilities: anything },
  ...{ ...keyedOptions, ...transportOption },
};

export const chatSettings: OptionTable<Pick<ChatCompletionsOptions, "model"> & ChatSettings> = {
  ...{ model: required(modelLike("gpt-5.4")), instructions },
  // Which of them the dialect has is checked with the dialect.
  cacheBreakpoints: breakpointsFor("30m", "12h", "5m", "1h"),
  stream_options(what, given) {
    if (given === null || given === false || isJsonObject(given)) return anything(what, given);
    throw new ProviderSettingsError(`${what} is ${kindOf(given)}: give an object, or false if the server rejects it`);
  },
  ...allOf(anything, "audio", "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens"),
  ...allOf(anything, "metadata", "modalities", "moderation", "parallel_tool_calls", "prediction", "presence_penalty"),
  ...allOf(anything, "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort"),
  ...allOf(anything, "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "temperature"),
  ...allOf(anything, "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"),
};
