/** Chat Completions of any server. */
export type { PartCapabilities } from "../engine/ports/part-capabilities.ts";
export { type AzureChatOptions, azureChat } from "../providers/chat/azure-chat.ts";
export { chatCodecs } from "../providers/chat/chat-codec.ts";
export { chatCompletions } from "../providers/chat/chat-completions.ts";
export type { ChatDialectName } from "../providers/chat/chat-dialects.ts";
export type {
  ChatCompletionsOptions,
  ChatConnectionOptions,
  ChatDecidedMember,
  ChatSettings,
} from "../providers/chat/chat-options.ts";
export type { AzureConnection } from "../providers/http/azure-endpoint.ts";
export type { AnswerLimits } from "../providers/settings/answer-limits.ts";
export type { CacheBreakpoints } from "../providers/settings/cache-breakpoints.ts";
export type {
  HttpOptions,
  KeyedOptions,
  KeySource,
  OwnerOption,
  Secrets,
  TextOrSecret,
  TransportOption,
} from "../providers/settings/connection-options.ts";
export type { WithSecrets } from "../providers/settings/request-members.ts";
