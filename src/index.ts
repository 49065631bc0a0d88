/** turnlog: an event-sourced conversation store for LLM agents. */

export type { StreamProblem } from "./audit/stream-check.ts";
export type { StreamReport, Verification } from "./audit/verify.ts";
export type { JsonObject, JsonValue } from "./base/json.ts";
export { NumberLiteral } from "./base/number-literal.ts";
export { TurnlogError, type TurnlogErrorCode } from "./base/turnlog-error.ts";
export { type CopiedStream, type CopyOptions, copyConversations } from "./carry/copy.ts";
export type { BlamedBlock, BlameReport, RemovedBlock } from "./conversation/blame-report.ts";
export type { ContextCandidate } from "./conversation/candidates.ts";
export { compareConversations, type MergeBase } from "./conversation/compare.ts";
export type { Conversation } from "./conversation/conversation.ts";
export type { Appended, AppendOptions } from "./conversation/conversation-options.ts";
export type { ConversationDiff } from "./conversation/diff.ts";
export type { RequestExplanation } from "./conversation/explain.ts";
export type { ConversationPage, ListedConversation, ListOptions } from "./conversation/list.ts";
export type { LoadedPast, PastConversation } from "./conversation/past.ts";
export type { PastRun } from "./conversation/past-run.ts";
export type { ReadableConversation, WalkOptions, WhatIfOptions } from "./conversation/readable-conversation.ts";
export type { SentRequest } from "./conversation/recorded-request.ts";
export type { SearchHit, SearchOptions, SearchResult } from "./conversation/search.ts";
export type { ChangedBlock, PlacedBlock, TurnChanges } from "./conversation/turn-changes.ts";
export type { TurnlogStore } from "./conversation/turnlog-store.ts";
export type { WalkedEvent } from "./conversation/walk.ts";
export { type CounterfactualOptions, counterfactual } from "./counterfactual.ts";
export { type Actor, describeActor } from "./domain/actor.ts";
export { Block, type BlockKind, type Wire } from "./domain/block.ts";
export type { ChatMessage } from "./domain/chat-message.ts";
export { type ConversationEvent, InvalidEventError } from "./domain/events/event.ts";
export type { Decision, Divergence, Repair } from "./domain/events/inference-events.ts";
export type { RecordedEvent } from "./domain/events/recorded.ts";
export type { Settlement } from "./domain/events/tool-events.ts";
export type { Exchange } from "./domain/exchanges.ts";
export { assistant, audio, file, image, system, text, toolCall, toolResult, user } from "./domain/make-block.ts";
export { Turn } from "./domain/turn.ts";
export { type TurnDifference, turnDifference } from "./domain/turn-difference.ts";
export type { BlockOutline, TurnOutline } from "./domain/turn-outline.ts";
export { EffectFailedError } from "./engine/effects/run-effect.ts";
export type { AnswerOptions, ResumeOptions, WithContext } from "./engine/run/run-options.ts";
export type { HeldStop, Stepping } from "./engine/run/stepping.ts";
export type { Breakpoint } from "./engine/session/breakpoint.ts";
export { ReplayDivergedError } from "./engine/session/divergence.ts";
export { RunCancelledError, RunFailedError, RunUnfinishedError } from "./engine/session/errors.ts";
export type { ChainPolicy } from "./engine/stack/chain-policy.ts";
export { createEngine, type Engine, type EngineConfig, type Observer } from "./engine/stack/create-engine.ts";
export type { InDoubt, InDoubtHandler } from "./engine/stack/doubt.ts";
export type { RetryPolicy } from "./engine/stack/limits.ts";
export { defineMiddleware, type Layer, type LayerContext, LayerError, type Next } from "./engine/stack/middleware.ts";
export { type Provider, ProviderError } from "./engine/stack/provider.ts";
export { type Loss, OutputMismatchError, type RunResult, type RunStep, type Usage } from "./engine/stack/result.ts";
export type { RunPart } from "./engine/stack/run-part.ts";
export type { ModelSettings, RunSettings, ToolChoice } from "./engine/stack/run-settings.ts";
export type { SchemaIssue, StandardSchema } from "./engine/stack/schema.ts";
export { type Tool, type ToolContext, type ToolDefinition, ToolInputError, tool } from "./engine/stack/tool.ts";
export { toolLoop } from "./engine/stack/tool-loop.ts";
export type { AccessRequest, Authorize } from "./log/authorized-store.ts";
export { secretReference as secret } from "./log/codec/references.ts";
export {
  type EventStore,
  EventTooLargeError,
  type Head,
  StoreClosedError,
  StoreCorruptedError,
  StoreNotFoundError,
  StoreReplacedError,
  StoreTooNewError,
  StoreUnavailableError,
} from "./log/ports/event-store.ts";
export type { Quarantine, QuarantinedEvent, ViewStore } from "./log/ports/view-store.ts";
export { RunInProgressError } from "./log/writer/owner.ts";
export { type EphemeralOptions, ephemeral } from "./middleware/ephemeral.ts";
export { type LensDefinition, lens } from "./middleware/lens.ts";
export { type LogEntry, type LoggingOptions, logging } from "./middleware/logging.ts";
export { type OpenStoreOptions, openStore } from "./open-store.ts";
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
export type { ProjectedView } from "./read-models/live-views.ts";
export {
  type CatchUpOptions,
  createProjector,
  type Projector,
  type ProjectorOptions,
} from "./read-models/projector.ts";
export type { ProjectorStatus } from "./read-models/status.ts";
export type { CounterfactualStep, OtherStep, StepFacts } from "./replay/compared-steps.ts";
export { type Counterfactual, saveCounterfactual } from "./replay/counterfactual.ts";
export type { ReplayDifference } from "./replay/difference.ts";
export { type FoldReplay, type FoldReplayOptions, replayFolds } from "./replay/fold-replay.ts";
export { type ReexecuteOptions, type Reexecution, reexecute } from "./replay/re-execute.ts";
export { createMemoryViews } from "./stores/memory/views.ts";
