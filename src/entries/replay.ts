/** Replays of runs without side effects: unchanged, with today's layers, or with others, in one conversation or in all of a store. */

export type { ContextOf } from "../engine/options/context-of-run.ts";
export type { DivergencePlace } from "../engine/ports/divergence.ts";
export type { Codecs } from "../engine/recorded/recorded-request.ts";
export type { EventReader } from "../log/codec/event-log.ts";
export type { CounterfactualStep, OtherStep, StepEdit, StepFacts } from "../replay/compared-steps.ts";
export {
  type Counterfactual,
  type OtherFailure,
  saveCounterfactual,
  type UnansweredStep,
  type WhatIfOptions,
  whatIf,
} from "../replay/counterfactual.ts";
export type { ReplayDifference } from "../replay/difference.ts";
export { type FoldReplay, type FoldReplayOptions, replayFolds } from "../replay/fold-replay.ts";
export { type ReexecuteOptions, type Reexecution, reexecute } from "../replay/re-execute.ts";
export type { ChosenConversations } from "../replay/regression/chosen-conversations.ts";
export type { RequestDifference, SentAs } from "../replay/regression/compare-run.ts";
export type {
  ConversationRegression,
  CulpritCount,
  RegressionCounts,
} from "../replay/regression/conversation-result.ts";
export { type Culprit, culpritName } from "../replay/regression/culprit.ts";
export { type RegressOptions, regress } from "../replay/regression/regress.ts";
export type { RequestEffect } from "../replay/regression/request-effect.ts";
export type { CulpritSum, Regression } from "../replay/regression/summary.ts";
export type { RecordedConversation } from "../replay/replay-options.ts";
