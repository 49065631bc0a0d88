/** The Responses API: OpenAI's, Azure's, and that of compatible servers. */
export type { AzureConnection } from "../providers/http/azure-endpoint.ts";
export { type AzureResponsesOptions, azureResponses } from "../providers/responses/azure-responses.ts";
export { openaiResponses } from "../providers/responses/openai-responses.ts";
export { responsesCodec } from "../providers/responses/responses-codec.ts";
export type {
  CallOptions,
  InputItemsOptions,
  InputItemsPage,
  ResponsesEndpoints,
} from "../providers/responses/responses-endpoints.ts";
export type {
  DecidedMember,
  OpenaiResponses,
  OpenaiResponsesOptions,
  RequestSettings,
} from "../providers/responses/responses-options.ts";
export type { AnswerLimits } from "../providers/settings/answer-limits.ts";
export type { CacheBreakpoints } from "../providers/settings/cache-breakpoints.ts";
export type { GivenCapabilities, ResponsesCapabilities } from "../providers/settings/capabilities.ts";
export type {
  ConnectionOptions,
  HttpOptions,
  KeyAsked,
  KeyedOptions,
  KeySource,
  OwnerOption,
  Secrets,
  TextOrSecret,
} from "../providers/settings/connection-options.ts";
export type { WithSecrets } from "../providers/settings/request-members.ts";
