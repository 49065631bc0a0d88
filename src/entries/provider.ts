/** For authors of providers: the port, the codec, and the types of blocks (docs/EVENTS.md). */
export { isJsonList, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
export { NumberLiteral } from "../base/number-literal.ts";
export { TurnlogError, type TurnlogErrorCode } from "../base/turnlog-error.ts";
export type { Anchor, AnchorId } from "../domain/anchor.ts";
export { Block, type BlockKind } from "../domain/block.ts";
export type { ContentFilter, Withheld } from "../domain/events/inference-events.ts";
export type { Adjustments } from "../domain/events/run-events.ts";
export type { Counts, ReportedUsage } from "../domain/events/shared.ts";
export {
  assistant,
  audio,
  file,
  image,
  other,
  reasoning,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from "../domain/make-block.ts";
export type { Wire } from "../domain/wire.ts";
export type {
  AnchorKind,
  Answer,
  AnswerContext,
  Call,
  CallPairs,
  Capabilities,
  Codec,
  Draft,
  GroupPlace,
  Lesson,
  NamedAnswer,
  OfferedTool,
  PlannedParts,
  Prompt,
  RecordedAnswer,
  Refusal,
  RequestParts,
  SentBlock,
  Settings,
  SignedPlace,
} from "../engine/stack/codec.ts";
export {
  type ConnectOptions,
  type FailureKind,
  type InferenceRequest,
  type InferenceResponse,
  type ItemKind,
  type ItemStart,
  type Provider,
  ProviderError,
  type RequestConnection,
  type StartedResponse,
  type StreamDelta,
  type TextDelta,
  type WaitOptions,
} from "../engine/stack/provider.ts";
export type { ConversationObjects, StoredChain, StoredResponse } from "../engine/stack/stored-responses.ts";
export { type SecretReference, secretReference as secret } from "../log/codec/references.ts";
export type { Usage } from "../projections/usage.ts";
export type { StreamedAnswer } from "../providers/answers/answer-form.ts";
export { defineChatCodec } from "../providers/chat/chat-codec.ts";
export type { ChatDialect } from "../providers/chat/chat-dialects.ts";
export { chatStream } from "../providers/chat/chat-stream.ts";
export { type CodecDefinition, defineCodec } from "../providers/codec/define-codec.ts";
export { applyResidue, keepResidue } from "../providers/codec/residue.ts";
export {
  type Posted,
  type PostJsonOptions,
  type PostStreamOptions,
  postJson,
  postStream,
} from "../providers/http/post-json.ts";
export { type MaskedOptions, masked } from "../providers/secrets/masked-provider.ts";
export type { AnswerLimits } from "../providers/settings/answer-limits.ts";
export type { HttpOptions, Secrets } from "../providers/settings/connection-options.ts";
