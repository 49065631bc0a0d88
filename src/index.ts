/** turnlog: an event-sourced conversation store for LLM agents. */
export type { JsonObject, JsonValue } from "./base/json.ts";
export { type Actor, describeActor } from "./domain/actor.ts";
export { Block, type BlockKind, type Wire } from "./domain/block.ts";
export { type TurnDifference, turnDifference } from "./domain/diff-turns.ts";
export type { ConversationEvent } from "./domain/events/event.ts";
export type { Decision, Divergence, Repair } from "./domain/events/inference-events.ts";
export type { RecordedEvent } from "./domain/events/recorded.ts";
export { assistant, audio, file, image, system, text, toolCall, toolResult, user } from "./domain/make-block.ts";
export { Turn } from "./domain/turn.ts";
export { AccessDeniedError, type AccessRequest, type Authorize } from "./engine/authorized-store.ts";
export { secretReference as secret } from "./engine/codec/references.ts";
export type { Conversation } from "./engine/conversation.ts";
export { StreamContendedError } from "./engine/conversation-stream.ts";
export { createEngine, type Engine, type EngineConfig, type Sink } from "./engine/create-engine.ts";
export {
  EventTooLargeError,
  StoreClosedError,
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "./engine/event-store.ts";
export { defineMiddleware, type Layer, type LayerContext, LayerError, type Next } from "./engine/middleware.ts";
export { type LoadedPast, type PastConversation, RevisionNotFoundError } from "./engine/past.ts";
export { type ChainPolicy, ChainRequiredError } from "./engine/planner/plan.ts";
export { type Provider, ProviderError } from "./engine/provider.ts";
export {
  IterationLimitError,
  RunCancelledError,
  RunFailedError,
  RunInProgressError,
  RunTakenOverError,
} from "./engine/run/errors.ts";
export type { RunResult, RunStep, Usage } from "./engine/run/result.ts";
export { EmptyConversationError } from "./engine/run/run.ts";
export type { RunPart } from "./engine/stream-part.ts";
export { type Tool, type ToolContext, tool } from "./engine/tool.ts";
export { toolLoop } from "./engine/tool-loop.ts";
export type { TurnlogStore } from "./engine/turnlog-store.ts";
export { type EphemeralOptions, ephemeral } from "./middleware/ephemeral.ts";
export { type LensDefinition, lens } from "./middleware/lens.ts";
export { type LogEntry, type LoggingOptions, logging } from "./middleware/logging.ts";
export { type OpenStoreOptions, openStore, UnknownStoreError } from "./open-store.ts";
export { ConversationDamagedError } from "./projections/damage.ts";
export { openaiResponses } from "./providers/openai-responses.ts";
export { scripted } from "./providers/scripted.ts";
