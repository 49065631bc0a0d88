import { canonicalJson } from "../../base/canonical-json.ts";
import { err, ok, type Result, unreachable } from "../../base/result.ts";
import type { ConversationOrigin } from "../events/conversation-events.ts";
import type { ConversationEvent, ConversationEventOf } from "../events/event.ts";
import type { ProposedEvent } from "../events/recorded.ts";
import type { ApprovalDecidedData } from "../events/tool-events.ts";
import type { ConversationFacts, RunFacts } from "./facts.ts";
import { areNews } from "./labels.ts";
import { namesIn } from "./names.ts";

type Proposed = ProposedEvent["event"];

/** Why a proposed event is rejected. */
export type Rejection =
  | { readonly code: "conversation-exists" }
  | { readonly code: "run-open"; readonly runId: string }
  | { readonly code: "run-repeated"; readonly runId: string | null }
  | { readonly code: "run-not-open"; readonly runId: string | null }
  | { readonly code: "run-taken-over"; readonly runId: string }
  | { readonly code: "inference-repeated"; readonly inferenceId: string }
  | { readonly code: "inference-not-open"; readonly inferenceId: string }
  | { readonly code: "tool-repeated"; readonly blockId: string }
  | { readonly code: "tool-not-parked"; readonly blockId: string }
  | { readonly code: "tool-not-approved"; readonly blockId: string }
  | { readonly code: "not-waiting"; readonly blockId: string }
  | { readonly code: "approval-decided"; readonly blockId: string };

type Decision = Result<readonly ConversationEvent[], Rejection>;

/**
 * The events to record for a proposed one, in a run or (null) outside: the event itself, after the conversation's first event if that is
 * missing. A repeated fact gives no events, so that every caller may retry. A repeated permit for an effect is rejected,
 * because an empty list would let two callers proceed.
 */
export function decide(facts: ConversationFacts, event: Proposed, runId: string | null): Decision {
  const { run } = facts;
  const isRepeated = (): boolean => namesIn(event, runId).some((name) => facts.hasName(...name));
  switch (event.type) {
    case "ConversationStarted":
      if (facts.origin === null) return ok([event]);
      return isSameOrigin(facts.origin, event.data.origin) ? ok([]) : err({ code: "conversation-exists" });
    case "ConversationRelabelled":
      return afterStart(facts, event, facts.origin === null || changesLabels(facts, event.data));
    case "BlockAppended":
      return afterStart(facts, event, !isRepeated());
    case "SettingsDeclared":
      return afterStart(facts, event, !facts.isDeclared(event.data.digest));
    case "TurnReverted":
    case "TurnCompacted":
      if (run !== null) return err({ code: "run-open", runId: run.id });
      return once(event, event.data.edits.length > 0);
    case "RunStarted":
      if (run !== null) return err({ code: "run-open", runId: run.id });
      // Runs without an id could not be distinguished.
      if (runId === null || isRepeated()) return err({ code: "run-repeated", runId });
      return afterStart(facts, event);
    case "AnchorInvalidated":
      return once(event, !facts.isLost(event.data));
    case "CapabilityLearned":
      return once(event, facts.learned(event.data) !== event.data.value);
    case "ReasoningQuarantined":
      return once(event, !event.data.blockIds.every((id) => facts.isQuarantined(id)));
    case "ContextImported":
    case "ResponseDeleted":
    case "ServerConversationDeleted":
    case "WarmUpAnswered":
    case "WarmUpFailed":
      return once(event, !isRepeated());
    case "WarmUpRequested": {
      const { inferenceId } = event.data;
      if (run !== null) return err({ code: "run-open", runId: run.id });
      return isRepeated() || facts.hasName("warmed", inferenceId)
        ? err({ code: "inference-repeated", inferenceId })
        : afterStart(facts, event);
    }
    case "ToolFinished":
      // A late result is no longer part of a run.
      if (event.data.late === true) return once(event, !isRepeated());
      return decideInRun(run, event, runId);
    case "ApprovalDecided":
      // A delivery that is repeated may come when the run has long ended.
      return isRepeated() ? ok([]) : decideInRun(run, event, runId);
    default:
      return decideInRun(run, event, runId);
  }
}

type ProposedInRun = Exclude<
  Proposed,
  ConversationEventOf<
    | "ConversationStarted"
    | "ConversationRelabelled"
    | "BlockAppended"
    | "SettingsDeclared"
    | "TurnReverted"
    | "TurnCompacted"
    | "RunStarted"
    | "AnchorInvalidated"
    | "CapabilityLearned"
    | "ReasoningQuarantined"
    | "ContextImported"
    | "ResponseDeleted"
    | "WarmUpRequested"
    | "WarmUpAnswered"
    | "WarmUpFailed"
    | "ServerConversationDeleted"
  >
>;

/** An effect begins once, and once more for each settlement that allows it. */
function decideInRun(run: RunFacts | null, event: ProposedInRun, runId: string | null): Decision {
  if (run === null || run.id !== runId) return err({ code: "run-not-open", runId });
  switch (event.type) {
    case "RunResumed":
      return event.data.epoch === run.epoch + 1 ? ok([event]) : err({ code: "run-taken-over", runId: run.id });
    case "InferenceRequested": {
      const { inferenceId } = event.data;
      return run.inference(inferenceId) !== undefined ? err({ code: "inference-repeated", inferenceId }) : ok([event]);
    }
    case "ResponseStarted":
    case "ResponseReceived":
    case "InferenceFailed": {
      const { inferenceId } = event.data;
      const inference = run.inference(inferenceId);
      return inference === undefined
        ? err({ code: "inference-not-open", inferenceId })
        : once(event, inference === "open");
    }
    case "ToolStarted":
      return decideStart(run, event);
    case "EffectStarted":
      return mayStart(run, event.data.effectId)
        ? ok([event])
        : err({ code: "tool-repeated", blockId: event.data.effectId });
    case "ToolFinished":
      return once(event, run.effect(event.data.blockId) !== "finished");
    case "EffectFinished":
      return once(event, run.effect(event.data.effectId) !== "finished");
    case "ToolParked":
      // A call that has not begun is one of an external tool.
      return once(event, ["started", undefined].includes(run.effect(event.data.blockId)));
    case "ToolSettled": {
      const { blockId } = event.data;
      // A settlement permits an effect or replaces it, so only the first one counts.
      return run.effect(blockId) === "parked" ? ok([event]) : err({ code: "tool-not-parked", blockId });
    }
    case "ApprovalRequested":
      return decideAsking(run, event);
    case "ApprovalDecided":
      return decideDecision(run, event);
    case "RunCancelRequested":
      return once(event, !run.isCancelRequested);
    case "TurnEdited":
    case "StepRouted":
    case "ServerConversationChanged":
    case "RunParked":
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      return ok([event]);
    default:
      return unreachable(event);
  }
}

/** A call that a person was asked about begins only once it is approved: also in a process that has no policy for it. */
function decideStart(run: RunFacts, event: ConversationEventOf<"ToolStarted">): Decision {
  const { blockId } = event.data;
  const state = run.effect(blockId);
  if (state === "asked" || state === "denied") return err({ code: "tool-not-approved", blockId });
  return state === "approved" || mayStart(run, blockId) ? ok([event]) : err({ code: "tool-repeated", blockId });
}

/** Asking is always safe before a call begins. To ask anew withdraws the decision, because that holds for other arguments. */
function decideAsking(run: RunFacts, event: ConversationEventOf<"ApprovalRequested">): Decision {
  const { blockId, inputDigest } = event.data;
  switch (run.effect(blockId)) {
    case undefined:
    case "approved":
    case "denied":
      return ok([event]);
    case "asked":
      return once(event, run.approval(blockId)?.inputDigest !== inputDigest);
    default:
      return err({ code: "tool-repeated", blockId });
  }
}

/** Only the first decision about the arguments that were asked about counts. */
function decideDecision(run: RunFacts, event: ConversationEventOf<"ApprovalDecided">): Decision {
  const { blockId, inputDigest } = event.data;
  const asked = run.approval(blockId);
  if (asked === undefined || asked.inputDigest !== inputDigest) return err({ code: "not-waiting", blockId });
  if (asked.decision === null)
    return run.effect(blockId) === "asked" ? ok([event]) : err({ code: "not-waiting", blockId });
  return isSameDecision(asked.decision, event.data) ? ok([]) : err({ code: "approval-decided", blockId });
}

/** Their actors and deliveries do not count. */
const isSameDecision = (left: ApprovalDecidedData, right: ApprovalDecidedData): boolean =>
  canonicalJson({ ...left, key: undefined }) === canonicalJson({ ...right, key: undefined });

function mayStart(run: RunFacts, id: string): boolean {
  const state = run.effect(id);
  return state === undefined || state === "may-rerun";
}

const once = (event: ConversationEvent, isNews: boolean): Decision => ok(isNews ? [event] : []);

const begun: ConversationEvent = { type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } };

/** A conversation starts by itself; one whose first event was skipped starts again, not in the middle of a run, which that would end. */
function afterStart({ origin, run }: ConversationFacts, event: ConversationEvent, isNews = true): Decision {
  return origin === null && run === null && isNews ? ok([begun, event]) : once(event, isNews);
}

const isSameOrigin = (left: ConversationOrigin, right: ConversationOrigin): boolean =>
  canonicalJson(left) === canonicalJson(right);

const changesLabels = (
  facts: ConversationFacts,
  { title, labels = {} }: ConversationEventOf<"ConversationRelabelled">["data"],
): boolean => (title !== undefined && title !== facts.title) || areNews(facts.labels, labels);
