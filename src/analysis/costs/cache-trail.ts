import { copiedMap, GrowingMap } from "../../base/growing-map.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { quotedCalls } from "../../engine/planning/late-result.ts";
import { hasErasedBody, inputTurn, outgoingTurn } from "../../engine/recorded/recorded-request.ts";
import type { Follower } from "../../log/aggregate/fold.ts";
import type { RunPasses } from "../../projections/client-turn/run-passes.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { codecs } from "../../providers/codecs.ts";
import { type CacheDiagnosis, diagnosisIn } from "./prompt-cache/told-diagnosis.ts";
import { answerCounts } from "./rows/answer-counts.ts";
import { partsOf as tokenPartsOf } from "./rows/billed-parts.ts";
import type { SentPrompt } from "./sent-prompt.ts";

/** What became of a request. */
export type PromptOutcome = {
  /** What its answer, or its failure, reported; null for nothing. */
  readonly counts: Counts | null;
  /** What its vendor says of the prompt; null if the answer does not say. */
  readonly diagnosis: CacheDiagnosis | null;
  /** When its answer began, as a time in milliseconds; null if it had none. */
  readonly answerAt: number | null;
  /** The server rejected it before it acted, and cached nothing. */
  readonly isRejected: boolean;
};

/** All requests of a conversation so far, those of layers included, oldest first. */
export type CacheTrail = {
  readonly prompts: GrowingMap<string, SentPrompt>;
  readonly outcomes: Map<string, PromptOutcome>;
  /** The requests of the open run: what its layers did is not settled yet. */
  ofOpenRun: OfRun;
  /** Names of settings whose content was erased, or that were declared as a difference from such: their prompts are not known. */
  readonly erasedSettings: Set<string>;
  /** The same for all copies of a trail: what is made of its prompts is kept by it. */
  readonly origin: object;
};

/** A list that grows while the run is open. */
type OfRun = { readonly passes: RunPasses | null; readonly inferenceIds: string[] };

export const emptyTrail = (): CacheTrail => ({
  prompts: new GrowingMap(),
  outcomes: new GrowingMap(),
  ofOpenRun: requestsOf(null),
  erasedSettings: new Set(),
  origin: {},
});

const requestsOf = (passes: RunPasses | null, inferenceIds: readonly string[] = []): OfRun => ({
  passes,
  inferenceIds: [...inferenceIds],
});

/** A trail that goes on by itself. The prompts of the open run know its passes, of which the copy has another object. */
export function copiedTrail(
  { prompts, outcomes, ofOpenRun, erasedSettings, origin }: CacheTrail,
  { from, to }: { readonly from: RunPasses | null; readonly to: RunPasses | null },
): CacheTrail {
  const copy = prompts.copy();
  const own = from === null || ofOpenRun.passes !== from ? requestsOf(null) : requestsOf(to, ofOpenRun.inferenceIds);
  for (const id of own.inferenceIds) {
    const prompt = prompts.get(id);
    if (prompt === undefined) continue;
    const before = prompt.before === null ? null : (copy.get(prompt.before.request.inferenceId) ?? prompt.before);
    copy.set(id, { ...prompt, before, passes: to });
  }
  const others = { outcomes: copiedMap(outcomes), erasedSettings: new Set(erasedSettings), origin };
  return { prompts: copy, ofOpenRun: own, ...others };
}

/** Follows a reading of events, also one that starts over. */
export function cacheTrailReader(): { readonly follow: () => Follower; readonly trail: () => CacheTrail } {
  let trail = emptyTrail();
  return {
    follow() {
      const own = emptyTrail();
      trail = own;
      return (recorded, view) => {
        notePrompt(own, recorded, view);
      };
    },
    trail: () => trail,
  };
}

/** Follows the next event, with the view after it. */
export function notePrompt(trail: CacheTrail, recorded: RecordedEvent, view: ConversationView): void {
  const { prompts, outcomes, erasedSettings } = trail;
  const { event, hasErased } = recorded;
  if (event.type === "SettingsDeclared" && (hasErased === true || erasedSettings.has(event.data.base ?? "")))
    erasedSettings.add(event.data.digest);
  if (event.type !== "InferenceRequested" && event.type !== "WarmUpRequested") {
    const prompt = "inferenceId" in event.data ? prompts.get(event.data.inferenceId) : undefined;
    const outcome = prompt === undefined ? null : outcomeOf(recorded, prompt);
    if (prompt !== undefined && outcome !== null) outcomes.set(prompt.request.inferenceId, outcome);
    return;
  }
  const { inferenceId, settingsDigest, decision } = event.data;
  const passes = view.client.run?.turns.passes ?? null;
  if (trail.ofOpenRun.passes !== passes) trail.ofOpenRun = requestsOf(passes);
  if (passes !== null) trail.ofOpenRun.inferenceIds.push(inferenceId);
  const { stream, revision, at, frame } = recorded;
  const input = inputTurn(view, recorded);
  const isErasedSince = hasErasedBody(recorded);
  const wasErased = (call: Block): boolean =>
    call.isErased && (!isErasedSince || view.client.blame?.get(idOf(call))?.erased !== undefined);
  const quoted = quotedCalls(decision.repairs, input).filter(wasErased);
  prompts.set(inferenceId, {
    recorded: { stream, revision, at, frame },
    hasErasedBody: isErasedSince,
    quotedErased: quoted.length === 0 ? none : new Set(quoted.map(({ id }) => id)),
    request: event.data,
    settings: view.server.settings.get(settingsDigest) ?? {},
    outgoing: outgoingTurn(view, recorded),
    input,
    before: prompts.get(decision.anchor?.inferenceId ?? "") ?? null,
    passes,
  });
}

const none: SentPrompt["quotedErased"] = new Set();

/** What an event says about the outcome of a request; null if it says nothing. */
export function outcomeOf(
  { event, at }: { readonly event: ConversationEvent; readonly at: string },
  prompt: SentPrompt,
): PromptOutcome | null {
  const { request, settings, recorded } = prompt;
  switch (event.type) {
    case "ResponseReceived":
    case "WarmUpAnswered": {
      const { usage, rest, echoed, firstMs } = event.data;
      const repeated = Object.fromEntries(echoed.map((name) => [name, settings[name] ?? null]));
      const answered = { members: { ...rest, ...repeated }, encoder: request.encoder };
      return {
        counts: usage === undefined ? null : soundCounts(answerCounts.countsOf({ usage, ...answered })),
        diagnosis: diagnosisIn(familyOf(request.encoder), rest),
        answerAt: firstMs === undefined ? Date.parse(at) : Date.parse(recorded.at) + firstMs,
        isRejected: false,
      };
    }
    case "InferenceFailed":
    case "WarmUpFailed": {
      const { usage, outcome } = event.data;
      const counts =
        usage === undefined
          ? null
          : soundCounts(answerCounts.countsOf({ usage, members: {}, encoder: request.encoder }));
      // Tokens that were counted were read by the model.
      return {
        counts,
        diagnosis: null,
        answerAt: counts === null ? null : Date.parse(at),
        isRejected: outcome === "rejected",
      };
    }
    default:
      return null;
  }
}

const familyOf = (encoder: string): string => codecs.get(encoder)?.family ?? "";

/** Null if they contradict each other: then none of them can be relied on. */
const soundCounts = (counts: Counts): Counts | null => (tokenPartsOf(counts) === null ? null : counts);
