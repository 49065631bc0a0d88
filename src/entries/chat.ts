/** Chat Completions, of whichever server. */
export type { PartCapabilities } from "../engine/stack/part-capabilities.ts";
export type { AnswerLimits } from "../providers/answer-limits.ts";
export type { AzureConnection } from "../providers/azure-endpoint.ts";
export { type AzureChatOptions, azureChat } from "../providers/chat/azure-chat.ts";
export { chatCompletions } from "../providers/chat/chat-completions.ts";
export type { ChatDialectName } from "../providers/chat/chat-dialects.ts";
export type {
  ChatCompletionsOptions,
  ChatConnectionOptions,
  ChatDecidedMember,
  ChatSettings,
} from "../providers/chat/chat-options.ts";
export type { KeySource, TextOrSecret } from "../providers/openai-options.ts";
export type { WithSecrets } from "../providers/request-members.ts";
export type { Secrets } from "../providers/secrets.ts";
