import { allOf, anything, type OptionTable, required } from "../../base/options.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { breakpointsFor, type CacheBreakpoints } from "../settings/cache-breakpoints.ts";
import type { ConnectionOptions } from "../settings/connection-options.ts";
import { flag, instructions, modelLike } from "../settings/option-checks.ts";
import type { ResponsesMembers, WithSecrets } from "../settings/request-members.ts";
import type { ResponsesEndpoints } from "./responses-endpoints.ts";

/** Members of the body that every request decides anew, and those that would let the server decide the context. */
export type DecidedMember = "input" | "previous_response_id" | "stream" | "conversation" | "prompt";

/** The other members of the request body, sent and recorded unchanged; any text in them may be `secret("NAME")`. */
export type RequestSettings = {
  readonly [Name in keyof ResponsesMembers]?: WithSecrets<ResponsesMembers[Name]> | undefined;
} & {
  /**
   * Asks OpenAI to compare each prompt with that of the newest answer before it (`comparison_response_id`; GPT-5.6 and later). The answer is
   * recorded, and shown beside turnlog's own verdict (`why`). Off by default. A model that rejects it is not asked again.
   */
  readonly cacheDiagnostics?: boolean | undefined;
  /**
   * Has turnlog set explicit breakpoints for OpenAI's prompt cache (GPT-5.6 and later): on the last message of the request, where earlier
   * requests ended, and after the developer messages at the beginning. `ttl` is the lifetime of their entries. Off by default, because
   * OpenAI caches every prompt up to its newest message anyway, unless `prompt_cache_options.mode` is `explicit`.
   */
  readonly cacheBreakpoints?: CacheBreakpoints | undefined;
};

/** The options of `openaiResponses`: the model, its address and credentials, and the settings of its requests. */
export type OpenaiResponsesOptions = { readonly model: string } & ConnectionOptions &
  RequestSettings & { readonly [Name in DecidedMember]?: never };

/** A model behind the Responses API: OpenAI's, Azure's, or a compatible server's. */
export type OpenaiResponses = Provider &
  Required<Pick<Provider, "waitFor" | "cancel" | "storedChain" | "storedConversation">> &
  ResponsesEndpoints;

export const settingOptions: OptionTable<Pick<OpenaiResponsesOptions, "model"> & RequestSettings> = {
  ...{ model: required(modelLike("gpt-5.4")), cacheDiagnostics: flag },
  cacheBreakpoints: breakpointsFor("30m", "12h"),
  ...allOf(anything, "access_programs", "background", "context_management", "image", "include"),
  instructions,
  ...allOf(anything, "max_output_tokens", "max_tool_calls", "metadata", "moderation", "parallel_tool_calls"),
  ...allOf(anything, "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning"),
  ...allOf(anything, "safety_identifier", "service_tier", "store", "stream_options", "temperature", "text"),
  ...allOf(anything, "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user"),
};
