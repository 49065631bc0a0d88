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
export { type SecretReference, secretReference as secret } from "../domain/secret-reference.ts";
export type { Wire } from "../domain/wire.ts";
export type { AnchorKind } from "../engine/ports/anchor-kind.ts";
export type { Capabilities, Lesson } from "../engine/ports/capabilities.ts";
export type {
  Answer,
  AnswerContext,
  Call,
  CallPairs,
  Codec,
  Draft,
  GroupPlace,
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
} from "../engine/ports/codec.ts";
export type {
  ConnectOptions,
  InferenceRequest,
  InferenceResponse,
  ItemKind,
  ItemStart,
  Provider,
  RequestConnection,
  StartedResponse,
  StreamDelta,
  TextDelta,
  WaitOptions,
} from "../engine/ports/provider.ts";
export { type FailureKind, ProviderError } from "../engine/ports/provider-error.ts";
export type { ConversationObjects, StoredChain, StoredResponse } from "../engine/ports/stored-responses.ts";
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
