/**
 * turnlog: an event-sourced conversation store for LLM agents.
 *
 * What a program writes down, and what the signatures of that name. What else there is has the entry of its subject (docs/API.md).
 */

export type { Bill } from "./analysis/costs/prices/bill.ts";
export type { BillBy } from "./analysis/costs/prices/bill-by.ts";
export type { BillOptions } from "./analysis/costs/store-bill.ts";
export type { WalkOptions } from "./analysis/explain/walk-options.ts";
export type { ConversationPage, ListedConversation, ListOptions, OpenRunState } from "./analysis/lists/list.ts";
export type { SearchOptions, SearchResult } from "./analysis/lists/search.ts";
export type { LoadedPast, PastConversation, PlanOptions } from "./analysis/time-travel/past.ts";
export type { JsonObject, JsonValue } from "./base/json.ts";
export { TurnlogError, type TurnlogErrorCode } from "./base/turnlog-error.ts";
export type { ApproveOptions, DenyOptions } from "./conversation/approval-options.ts";
export type { Conversation } from "./conversation/conversation.ts";
export type { ActorOption, Appended, AppendOptions, ConversationLabels } from "./conversation/conversation-options.ts";
export type { DeletedStored, DeleteStoredOptions } from "./conversation/delete-stored.ts";
export type { ImportedConversation, ImportStoredOptions } from "./conversation/import-stored.ts";
export { type OpenStoreOptions, openStore } from "./conversation/open-store.ts";
export type { DiffOptions, ReadableConversation } from "./conversation/readable-conversation.ts";
export type { ResumeAllOptions, ResumedConversation } from "./conversation/resume-all.ts";
export type { AbandonOptions, RunnableConversation } from "./conversation/runnable-conversation.ts";
export type { CloseOptions, StoreSources, TurnlogStore } from "./conversation/turnlog-store.ts";
export { type Actor, describeActor } from "./domain/actor.ts";
export { Block, type BlockKind } from "./domain/block.ts";
export type { AppendInput, ChatCall, ChatContent, ChatMessage } from "./domain/chat-message.ts";
export type { Settlement } from "./domain/events/tool-events.ts";
export type { BlockId, ConversationId, RunId } from "./domain/ids.ts";
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
export { type SecretReference, secretReference as secret } from "./domain/secret-reference.ts";
export { Turn } from "./domain/turn.ts";
export type { ServerWindow } from "./engine/compaction/server-window.ts";
export type { ApprovalDecision, ApprovalHandler, ApprovalQuestion, Approvals } from "./engine/options/approvals.ts";
export { type Budget, BudgetExceededError, type BudgetLimit } from "./engine/options/budget.ts";
export type { CacheLostPolicy } from "./engine/options/cache-lost.ts";
export type { ChainPolicy, Mode } from "./engine/options/chain-policy.ts";
export type { CompactionStep, CompactOptions, CompactPolicy, SummaryOptions } from "./engine/options/compact-policy.ts";
export { createEngine, type EngineConfig } from "./engine/options/create-engine.ts";
export type { InDoubt, InDoubtHandler } from "./engine/options/doubt.ts";
export type { AnyEngine, Engine, Observer, PartPlace } from "./engine/options/engine.ts";
export type { ReasoningPolicy } from "./engine/options/reasoning-policy.ts";
export type { RunResult } from "./engine/options/result.ts";
export type { Route, RouteQuestion } from "./engine/options/route.ts";
export type { RunFailedPart, RunPart } from "./engine/options/run-part.ts";
export { type ToolLoopOptions, toolLoop } from "./engine/options/tool-loop.ts";
export type { ApprovalNeed, ToolApproval } from "./engine/ports/approval-need.ts";
export type { AsideAnswer, AsideRequest } from "./engine/ports/aside.ts";
export type { DeltaContext, DeltaFilter, DeltaRule, ShownItem } from "./engine/ports/deltas.ts";
export { ReplayDivergedError } from "./engine/ports/divergence.ts";
export { EffectFailedError } from "./engine/ports/effect-errors.ts";
export type { RetryPolicy } from "./engine/ports/limits.ts";
export {
  type AsideView,
  defineMiddleware,
  type EffectOptions,
  type EffectWork,
  type Layer,
  type LayerContext,
  type LayerDefinition,
  LayerError,
  type LayerErrorCode,
  type LayerHandler,
  type LayerIdentity,
  type Next,
} from "./engine/ports/middleware.ts";
export { OutputMismatchError } from "./engine/ports/output.ts";
export type { Provider } from "./engine/ports/provider.ts";
export { ProviderError } from "./engine/ports/provider-error.ts";
export type { ModelSettings, RunSettings, ToolChoice } from "./engine/ports/run-settings.ts";
export type { IssuePathSegment, SchemaIssue, StandardSchema, Validation } from "./engine/ports/schema.ts";
export {
  type ExternalToolDefinition,
  externalTool,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  ToolInputError,
  tool,
} from "./engine/ports/tool.ts";
export type { Cancelled, CancelOptions } from "./engine/run/cancel.ts";
export type { Decided } from "./engine/run/decide-call.ts";
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
export { RunCancelledError, RunFailedError, RunParkedError, RunUnfinishedError } from "./engine/session/errors.ts";
export type { OpenTelemetryApi, OpenTelemetryLogs } from "./engine/tracing/open-telemetry.ts";
export type { SpanAttributes } from "./engine/tracing/spans/span.ts";
export type { TracingService } from "./engine/tracing/spans/span-options.ts";
export type { TracedRun, TracingConfig } from "./engine/tracing/tracing.ts";
export type { AccessRequest, Authorize, ErasureRequest, MayErase } from "./log/access/authorized-store.ts";
export { StoreUnavailableError } from "./log/ports/store-errors.ts";
export { RunInProgressError } from "./log/writer/owner.ts";
export type { SkipOutcome } from "./log/writer/skip-event.ts";
export { type EphemeralOptions, ephemeral } from "./middleware/ephemeral.ts";
export { type LensDefinition, type LensPlace, lens } from "./middleware/lens.ts";
export { type LogEntry, type LoggingOptions, logging } from "./middleware/logging.ts";
export { ConversationDamagedError } from "./projections/damage.ts";
export type { Waiting } from "./projections/views/waiting.ts";
export type { OpenEventsOptions } from "./stores/open-events.ts";
