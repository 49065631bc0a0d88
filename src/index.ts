/** turnlog: an event-sourced conversation store for LLM agents. */
export type { JsonObject, JsonValue } from "./base/json.ts";
export { NumberLiteral } from "./base/number-literal.ts";
export { type CounterfactualOptions, counterfactual } from "./counterfactual.ts";
export { type Actor, describeActor } from "./domain/actor.ts";
export { Block, type BlockKind, type Wire } from "./domain/block.ts";
export type { ChatMessage } from "./domain/chat-message.ts";
export { type TurnDifference, turnDifference } from "./domain/diff-turns.ts";
export { type ConversationEvent, InvalidEventError } from "./domain/events/event.ts";
export type { Decision, Divergence, Repair } from "./domain/events/inference-events.ts";
export type { RecordedEvent } from "./domain/events/recorded.ts";
export type { Settlement } from "./domain/events/tool-events.ts";
export type { Exchange } from "./domain/exchanges.ts";
export { assistant, audio, file, image, system, text, toolCall, toolResult, user } from "./domain/make-block.ts";
export { Turn } from "./domain/turn.ts";
export type { BlockOutline, TurnOutline } from "./domain/turn-outline.ts";
export { AccessDeniedError, type AccessRequest, type Authorize } from "./engine/authorized-store.ts";
export { secretReference as secret } from "./engine/codec/references.ts";
export type { Conversation } from "./engine/conversation.ts";
export type { Appended, AppendOptions } from "./engine/conversation-options.ts";
export { StreamContendedError } from "./engine/conversation-stream.ts";
export { type CopiedStream, CopyDivergedError, type CopyOptions, copyConversations } from "./engine/copy/copy.ts";
export { createEngine, type Engine, type EngineConfig, type Sink } from "./engine/create-engine.ts";
export { EventNotDamagedError } from "./engine/damage/skip-event.ts";
export { type InDoubt, type InDoubtHandler, NotInDoubtError } from "./engine/effects/doubt.ts";
export { EffectFailedError } from "./engine/effects/run-effect.ts";
export { EngineDisposedError } from "./engine/engine-life.ts";
export type { RetryPolicy } from "./engine/inference/retry-policy.ts";
export { SettingsTooLargeError } from "./engine/inference/settings-size.ts";
export { compareConversations, type Parting } from "./engine/lineage/compare.ts";
export { ConversationExistsError } from "./engine/lineage/fork.ts";
export { ExchangeNotFoundError } from "./engine/lineage/revert.ts";
export { defineMiddleware, type Layer, type LayerContext, LayerError, type Next } from "./engine/middleware.ts";
export { type LoadedPast, type PastConversation, RevisionNotFoundError } from "./engine/past.ts";
export { FrameNotFoundError, type PastRun } from "./engine/past-run.ts";
export { type ChainPolicy, ChainRequiredError } from "./engine/planner/plan.ts";
export {
  type EventStore,
  EventTooLargeError,
  StoreClosedError,
  StoreCorruptedError,
  StoreNotFoundError,
  StoreReplacedError,
  StoreTooNewError,
  StoreUnavailableError,
} from "./engine/ports/event-store.ts";
export { type Provider, ProviderError } from "./engine/ports/provider.ts";
export type { Quarantine, QuarantinedEvent, ViewStore } from "./engine/ports/view-store.ts";
export { ProjectionOutdatedError } from "./engine/projector/build.ts";
export type { ProjectedView } from "./engine/projector/live-views.ts";
export {
  type CatchUpOptions,
  createProjector,
  NoViewsError,
  type Projector,
  type ProjectorOptions,
} from "./engine/projector/projector.ts";
export type { ProjectorStatus } from "./engine/projector/status.ts";
export { ReplayDivergedError } from "./engine/recovery/divergence.ts";
export type { CounterfactualStep, OtherStep, StepFacts } from "./engine/replay/compared-steps.ts";
export { type Counterfactual, LayerNotFoundError } from "./engine/replay/counterfactual.ts";
export type { ReplayDifference } from "./engine/replay/difference.ts";
export { type FoldReplay, type FoldReplayOptions, replayFolds } from "./engine/replay/fold-replay.ts";
export { type Reexecution, reexecute } from "./engine/replay/re-execute.ts";
export { saveCounterfactual } from "./engine/replay/save.ts";
export {
  EmptyConversationError,
  InstructionsHiddenError,
  IterationLimitError,
  MessageNotFoundError,
  NothingToSendError,
  RunCancelledError,
  RunFailedError,
  RunInProgressError,
  RunTakenOverError,
  RunUnfinishedError,
  RunWithinRunError,
  StackChangedError,
  ToolMissingError,
} from "./engine/run/errors.ts";
export type { Loss, RunResult, RunStep, Usage } from "./engine/run/result.ts";
export type { AnswerOptions, ResumeOptions, RunOptions } from "./engine/run/run-options.ts";
export { type HeldStop, type Stepping, SteppingLeftError } from "./engine/run/stepping.ts";
export type { Stop } from "./engine/run/stop.ts";
export type { RunPart } from "./engine/stream-part.ts";
export { type Tool, type ToolContext, tool } from "./engine/tool.ts";
export { toolLoop } from "./engine/tool-loop.ts";
export type { TurnlogStore } from "./engine/turnlog-store.ts";
export { type EphemeralOptions, ephemeral } from "./middleware/ephemeral.ts";
export { type LensDefinition, lens } from "./middleware/lens.ts";
export { type LogEntry, type LoggingOptions, logging } from "./middleware/logging.ts";
export { type OpenStoreOptions, openStore, UnknownStoreError } from "./open-store.ts";
export {
  type ConversationListView,
  type ConversationSummary,
  conversationList,
} from "./projections/conversation-list.ts";
export { ConversationDamagedError } from "./projections/damage.ts";
export { byStream, type Projection } from "./projections/projection.ts";
export { type UsageRow, usage, usageByDay } from "./projections/usage.ts";
export { codecs } from "./providers/codecs.ts";
export { type OpenaiResponses, type OpenaiResponsesOptions, openaiResponses } from "./providers/openai-responses.ts";
export { scripted } from "./providers/scripted.ts";
export { createMemoryViews } from "./stores/memory/views.ts";
