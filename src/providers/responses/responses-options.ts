import type { OptionNames } from "../../base/options.ts";
import type { Provider } from "../../engine/stack/provider.ts";
import type { ConnectionOptions } from "../settings/connection-options.ts";
import type { ResponsesMembers, WithSecrets } from "../settings/request-members.ts";
import type { ResponsesEndpoints } from "./responses-endpoints.ts";

/** Members of a request's body that every request decides anew, and those that would put the context out of our hands. */
export type DecidedMember = "input" | "previous_response_id" | "stream" | "conversation" | "prompt";

/** The other members of a request's body, sent and recorded as they stand; any text in them may be `secret("NAME")`. */
export type RequestSettings = {
  readonly [Name in keyof ResponsesMembers]?: WithSecrets<ResponsesMembers[Name]> | undefined;
};

/** The options of `openaiResponses`: where the model is, and the settings of its requests. */
export type OpenaiResponsesOptions = { readonly model: string } & ConnectionOptions &
  RequestSettings & { readonly [Name in DecidedMember]?: never };

/** A model behind the Responses API: OpenAI's, Azure's, or one that speaks like them. */
export type OpenaiResponses = Provider &
  Required<Pick<Provider, "waitFor" | "cancel" | "storedChain" | "storedConversation">> &
  ResponsesEndpoints;

export const settingNames: OptionNames<Pick<OpenaiResponsesOptions, "model"> & RequestSettings> = {
  ...{ model: true, access_programs: true, background: true, context_management: true, image: true, include: true },
  ...{ instructions: true, max_output_tokens: true, max_tool_calls: true, metadata: true, moderation: true },
  ...{ parallel_tool_calls: true, prompt_cache_key: true, prompt_cache_options: true, prompt_cache_retention: true },
  ...{ reasoning: true, safety_identifier: true, service_tier: true, store: true, stream_options: true },
  ...{ temperature: true, text: true, tool_choice: true, tools: true, top_logprobs: true, top_p: true },
  ...{ truncation: true, user: true },
};
