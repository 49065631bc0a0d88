/** Runs gone through again, touching nothing: as they were, with today's layers, or with others. */
export { type CounterfactualOptions, counterfactual } from "../counterfactual.ts";
export type { Codecs } from "../engine/planning/recorded-request.ts";
export type { EventReader } from "../log/codec/event-log.ts";
export { codecs } from "../providers/codecs.ts";
export { reexecute, replayFolds } from "../replay/by-conversation.ts";
export type { CounterfactualStep, OtherStep, StepEdit, StepFacts } from "../replay/compared-steps.ts";
export {
  type Counterfactual,
  type CounterfactualOptions as ScratchCounterfactualOptions,
  type ScratchConversation,
  type ScratchRun,
  type ScratchStore,
  saveCounterfactual,
  type UnansweredStep,
} from "../replay/counterfactual.ts";
export type { ReplayDifference } from "../replay/difference.ts";
export type { FoldReplay, FoldReplayOptions } from "../replay/fold-replay.ts";
export type { ReexecuteOptions, Reexecution } from "../replay/re-execute.ts";
