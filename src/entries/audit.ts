/** Audits of conversations: who changed what, what was sent and why, and whether the log is complete (docs/AUDIT.md). */

export type { CacheOptions, CacheReport } from "../analysis/costs/cache.ts";
export type { CacheAdvice } from "../analysis/costs/cache-advice.ts";
export type { BillRow } from "../analysis/costs/prices/bill.ts";
export type { BillCost, NotPriced } from "../analysis/costs/prices/bill-sum.ts";
export type { CacheSum, MissRow } from "../analysis/costs/prices/cache-sum.ts";
export type { MissPrice } from "../analysis/costs/prices/price-of-miss.ts";
export type { PriceOptions } from "../analysis/costs/prices.ts";
export type { CacheLifetime, CacheRules } from "../analysis/costs/prompt-cache/cache-rules.ts";
export type { CacheCause, CacheTokens } from "../analysis/costs/prompt-cache/cache-verdict.ts";
export type { CacheDiagnosis } from "../analysis/costs/prompt-cache/told-diagnosis.ts";
export type { RequestCache } from "../analysis/costs/request-cache.ts";
export type { BlamedBlock, BlameReport, BlockStory, RemovedBlock } from "../analysis/explain/blame-report.ts";
export type { ContextCandidate } from "../analysis/explain/candidates.ts";
export type { ExplainedBlock, RequestExplanation } from "../analysis/explain/explain.ts";
export type { ComparedReasoning, ReasoningReport } from "../analysis/explain/reasoning-report.ts";
export type { RequestBefore } from "../analysis/explain/request-before.ts";
export type { WalkedEvent } from "../analysis/explain/walk.ts";
export type { OwnCacheRules, WhyOptions } from "../analysis/explain/why-options.ts";
export { compareConversations, type MergeBase, type TurnDeparture } from "../analysis/time-travel/compare.ts";
export type { ConversationDiff, DiffSide, RevisionOf } from "../analysis/time-travel/diff.ts";
export type { PlannedEndpoint } from "../analysis/time-travel/past.ts";
export type { PastRun } from "../analysis/time-travel/past-run.ts";
export type { ReasoningBlock, ReasoningForecast, ReasoningSize } from "../analysis/time-travel/reasoning-forecast.ts";
export type { BlockLabel, ChangedBlock, PlacedBlock, TurnChanges } from "../analysis/time-travel/turn-changes.ts";
export { type ModifiedBlock, type TurnDifference, turnDifference } from "../domain/turn-difference.ts";
export type { BlockOutline, TurnOutline } from "../domain/turn-outline.ts";
export type { ReasoningBreak, ReasoningFate } from "../engine/recorded/reasoning-survival.ts";
export type { SentRequest } from "../engine/recorded/recorded-request.ts";
export type { StreamProblem } from "../operations/audit/stream-check.ts";
export type {
  ReadModel,
  SkippedEvent,
  StoreVerifyOptions,
  StreamReport,
  Verification,
  VerifiedStreamName,
  VerifyOptions,
} from "../operations/audit/verify.ts";
export type { Blame, BlamedVersion, BlockChange } from "../projections/client-turn/blame.ts";
export type { ServerContext, Unusable } from "../projections/server-contexts/server-contexts.ts";
export type { CacheAuthor, PromptDivergence } from "../projections/views/cache-author.ts";
