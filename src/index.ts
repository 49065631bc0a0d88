/** turnlog: an event-sourced conversation store for LLM agents. */

export type { StreamProblem } from "./audit/stream-check.ts";
export type {
  ReadModel,
  SkippedEvent,
  StoreVerifyOptions,
  StreamReport,
  Verification,
  VerifiedStreamName,
  VerifyOptions,
} from "./audit/verify.ts";
export type { TextRange } from "./base/fold-text.ts";
export type { JsonObject, JsonValue } from "./base/json.ts";
export { NumberLiteral } from "./base/number-literal.ts";
export { TurnlogError, type TurnlogErrorCode } from "./base/turnlog-error.ts";
export type { BlamedBlock, BlameReport, BlockStory, RemovedBlock } from "./conversation/blame-report.ts";
export type { ContextCandidate } from "./conversation/candidates.ts";
export { compareConversations, type MergeBase, type TurnDeparture } from "./conversation/compare.ts";
export type { Conversation } from "./conversation/conversation.ts";
export type { ActorOption, Appended, AppendOptions, ConversationLabels } from "./conversation/conversation-options.ts";
export type { DeletedStored, DeleteStoredOptions } from "./conversation/delete-stored.ts";
export type { ConversationDiff, DiffSide, RevisionOf } from "./conversation/diff.ts";
export type { ExplainedBlock, RequestExplanation } from "./conversation/explain.ts";
export type { ImportedConversation, ImportStoredOptions, LostPart } from "./conversation/import-stored.ts";
export type { ConversationPage, ListedConversation, ListOptions, OpenRunState } from "./conversation/list.ts";
export type { LoadedPast, PastConversation, PlannedEndpoint, PlanOptions } from "./conversation/past.ts";
export type { PastRun } from "./conversation/past-run.ts";
export type { ReadableConversation } from "./conversation/readable-conversation.ts";
export type { ReasoningBlock, ReasoningForecast, ReasoningSize } from "./conversation/reasoning-forecast.ts";
export type { ComparedReasoning, ReasoningReport } from "./conversation/reasoning-report.ts";
export type { RequestBefore } from "./conversation/request-before.ts";
export type { ResumeAllOptions, ResumedConversation } from "./conversation/resume-all.ts";
export type { RunnableConversation } from "./conversation/runnable-conversation.ts";
export type { SearchHit, SearchOptions, SearchResult } from "./conversation/search.ts";
export type { BlockLabel, ChangedBlock, PlacedBlock, TurnChanges } from "./conversation/turn-changes.ts";
export type { CloseOptions, StoreSources, TurnlogStore } from "./conversation/turnlog-store.ts";
export type { WalkedEvent } from "./conversation/walk.ts";
export type { WalkOptions } from "./conversation/walk-options.ts";
export { type Actor, describeActor } from "./domain/actor.ts";
export { Block, type BlockKind, type Wire } from "./domain/block.ts";
export type { AppendInput, ChatCall, ChatContent, ChatMessage } from "./domain/chat-message.ts";
export type { ConversationEvent, ConversationEventOf } from "./domain/events/event.ts";
export type {
  BoundDigest,
  ContentFilter,
  Decision,
  Divergence,
  InferenceRequestedData,
  Repair,
  Withheld,
} from "./domain/events/inference-events.ts";
export type {
  EventHole,
  EventPlace,
  ProposedEvent,
  ReadEvent,
  RecordedEvent,
  SkippedBy,
} from "./domain/events/recorded.ts";
export type { Owner, RunStatus } from "./domain/events/run-events.ts";
export type { Compaction } from "./domain/events/shared.ts";
export type { Settlement } from "./domain/events/tool-events.ts";
export type { Exchange } from "./domain/exchanges.ts";
export type { BlockId, ConversationId, RunId } from "./domain/ids.ts";
export type { Labels } from "./domain/labels.ts";
export {
  assistant,
  audio,
  file,
  image,
  system,
  type ToolCallFields,
  type ToolResultFields,
  text,
  toolCall,
  toolResult,
  user,
} from "./domain/make-block.ts";
export { Turn } from "./domain/turn.ts";
export { type ModifiedBlock, type TurnDifference, turnDifference } from "./domain/turn-difference.ts";
export type { BlockOutline, TurnOutline } from "./domain/turn-outline.ts";
export type { ServerWindow } from "./engine/compaction/server-window.ts";
export { EffectFailedError } from "./engine/effects/run-effect.ts";
export type { ReasoningBreak, ReasoningFate } from "./engine/planning/reasoning-survival.ts";
export type { SentRequest } from "./engine/planning/recorded-request.ts";
export type { Cancelled, CancelOptions } from "./engine/run/cancel.ts";
export type {
  AnswerOptions,
  ResumeOptions,
  RunOptions,
  SummariseOptions,
  UnrecordedOptions,
  WithContext,
} from "./engine/run/run-options.ts";
export type { HeldStop, Stepping } from "./engine/run/stepping.ts";
export type { WarmUpOptions } from "./engine/run/warm-up.ts";
export type { WarmUp } from "./engine/run/warm-up-now.ts";
export type { Breakpoint, BreakpointEffect } from "./engine/session/breakpoint.ts";
export { type DivergencePlace, ReplayDivergedError } from "./engine/session/divergence.ts";
export { RunCancelledError, RunFailedError, RunParkedError, RunUnfinishedError } from "./engine/session/errors.ts";
export type { AsideAnswer, AsideRequest } from "./engine/stack/aside.ts";
export { type Budget, BudgetExceededError, type BudgetLimit } from "./engine/stack/budget.ts";
export type { ChainPolicy, Mode } from "./engine/stack/chain-policy.ts";
export type { CompactionStep, CompactOptions, CompactPolicy, SummaryOptions } from "./engine/stack/compact-policy.ts";
export { createEngine, type EngineConfig } from "./engine/stack/create-engine.ts";
export type { InDoubt, InDoubtHandler } from "./engine/stack/doubt.ts";
export type { AnyEngine, Engine, Observer, PartPlace } from "./engine/stack/engine.ts";
export type { RetryPolicy } from "./engine/stack/limits.ts";
export {
  defineMiddleware,
  type EffectOptions,
  type EffectWork,
  type Layer,
  type LayerContext,
  LayerError,
  type LayerErrorCode,
  type LayerHandler,
  type LayerIdentity,
  type Next,
} from "./engine/stack/middleware.ts";
export { OutputMismatchError } from "./engine/stack/output.ts";
export { type ConnectOptions, type Provider, ProviderError } from "./engine/stack/provider.ts";
export type { ReasoningPolicy } from "./engine/stack/reasoning-policy.ts";
export type { Loss, Repaired, RunResult, RunStep, Usage } from "./engine/stack/result.ts";
export type { FailedProvider, Route, RouteQuestion } from "./engine/stack/route.ts";
export type { RunPart } from "./engine/stack/run-part.ts";
export type { ModelSettings, RunSettings, ToolChoice } from "./engine/stack/run-settings.ts";
export type { IssuePathSegment, SchemaIssue, StandardSchema, Validation } from "./engine/stack/schema.ts";
export { type Tool, type ToolContext, type ToolDefinition, ToolInputError, tool } from "./engine/stack/tool.ts";
export { type ToolLoopOptions, toolLoop } from "./engine/stack/tool-loop.ts";
export type { AccessRequest, Authorize } from "./log/authorized-store.ts";
export type { EventLog, EventLogSources, LogAppendResult } from "./log/codec/event-log.ts";
export type { EventIds } from "./log/codec/ids.ts";
export type { AnyEvent, NewEvent } from "./log/codec/prepare.ts";
export { type SecretReference, secretReference as secret } from "./log/codec/references.ts";
export type { ChangedEvent } from "./log/codec/watched-log.ts";
export { type EventStore, type Head, StoreUnavailableError } from "./log/ports/event-store.ts";
export { RunInProgressError } from "./log/writer/owner.ts";
export type { SkipOutcome } from "./log/writer/skip-event.ts";
export { type EphemeralOptions, ephemeral } from "./middleware/ephemeral.ts";
export { type LensDefinition, type LensPlace, lens } from "./middleware/lens.ts";
export { type LogEntry, type LoggingOptions, logging } from "./middleware/logging.ts";
export type { OpenEventsOptions } from "./open-events.ts";
export { type CreateStoreOptions, createStore, type OpenStoreOptions, openStore } from "./open-store.ts";
export type { Blame, BlamedVersion, BlockChange } from "./projections/blame.ts";
export type { ListSort } from "./projections/conversation-list.ts";
export { ConversationDamagedError } from "./projections/damage.ts";
export type { ServerContext, Unusable } from "./projections/server-contexts.ts";
export type { AzureConnection } from "./providers/http/azure-endpoint.ts";
export { type AzureResponsesOptions, azureResponses } from "./providers/responses/azure-responses.ts";
export {
  type CallOptions,
  type InputItemsOptions,
  type InputItemsPage,
  type OpenaiResponses,
  type OpenaiResponsesOptions,
  openaiResponses,
  type ResponsesEndpoints,
} from "./providers/responses/openai-responses.ts";
export { type MaskedOptions, masked } from "./providers/secrets/masked-provider.ts";
