/** The Messages API: Anthropic's, and that of compatible servers. */
export { anthropic } from "../providers/anthropic/anthropic.ts";
export { messagesCodec } from "../providers/anthropic/messages-codec.ts";
export type {
  AnthropicConnection,
  AnthropicOptions,
  MessagesCapabilities,
  MessagesSettings,
} from "../providers/anthropic/options.ts";
export type { AnswerLimits } from "../providers/settings/answer-limits.ts";
export type {
  HttpOptions,
  KeyAsked,
  KeyedOptions,
  KeySource,
  OwnerOption,
  Secrets,
  TextOrSecret,
  TransportOption,
} from "../providers/settings/connection-options.ts";
export type { WithSecrets } from "../providers/settings/request-members.ts";
