import { anchorName } from "../../domain/anchor.ts";
import type { Divergence } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { divergenceOf } from "../../engine/planning/divergence.ts";
import { withoutFirst } from "../../engine/planning/instruction-blocks.ts";
import { isCandidate, refusalOf } from "../../engine/planning/plan.ts";
import type { PlanRequest } from "../../engine/planning/plan-request.ts";
import { recordedPlan } from "../../engine/recorded/recorded-request.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { FoundRequest } from "../time-travel/find-request.ts";

/** A context that was known when a request was planned, and why the request did not continue from it. */
export type ContextCandidate = Pick<ServerContext, "responseId" | "inferenceId" | "stream" | "revision" | "length"> & {
  /** `taken`; `shorter` or `older` if another saved more; else the reason against it. */
  readonly verdict: string;
  /** Where it stops being a prefix of the Turn; null if it is one, or was not compared. */
  readonly divergence: Divergence | null;
};

type RecordedPlan = ReturnType<typeof recordedPlan>;

/** A part of a list: the place of its first item, and how many. */
export type ListPart = { readonly from: number; readonly n: number };

/**
 * The known contexts, newest first, with the reason against each, under the run's own policy. The planner tries them by length until one
 * can be taken, so none has to be shaped again.
 */
export function candidatesOf(found: FoundRequest, part: ListPart | null = null): readonly ContextCandidate[] {
  const { view, recorded, codecs } = found;
  const asked = recordedPlan(view, recorded);
  const codec = codecs.get(found.request.encoder);
  const planned = codec === undefined ? null : { ...asked, codec };
  const isBeginning = beginningsOf(asked.turn);
  const newestFirst = view.server.contexts.all.toReversed();
  const { from, n } = part ?? { from: 0, n: newestFirst.length };
  return newestFirst.slice(from, from + n).map((context) => {
    const { responseId, inferenceId, stream, revision, length } = context;
    const about = { responseId, inferenceId, stream, revision, length };
    const plain = plainVerdict(found, asked, context);
    if (plain !== null) return { ...about, verdict: plain, divergence: null };
    if (isBeginning(context)) return { ...about, verdict: lostBy(found, planned ?? asked, context), divergence: null };
    return { ...about, ...diverging(found, asked, context) };
  });
}

/** Whether a context is a beginning of a Turn. Looks at no shorter beginning than the shortest context needs. */
function beginningsOf(turn: Turn): (context: ServerContext) => boolean {
  const rest = turn.contexts();
  const digests = new Set<string>();
  let shortest = Number.POSITIVE_INFINITY;
  return (context) => {
    while (shortest > context.length) {
      const next = rest.next();
      if (next.done === true) break;
      digests.add(next.value.digest);
      shortest = next.value.length;
    }
    return digests.has(context.turn);
  };
}

/** The verdict without a look at the Turn; null if that has to be compared. */
function plainVerdict({ request }: FoundRequest, { contexts }: RecordedPlan, context: ServerContext): string | null {
  if (request.decision.anchor?.inferenceId === context.inferenceId) return "taken";
  if (context.unusable !== null) return context.unusable;
  if (context.scope !== request.scope) return "another endpoint";
  return contexts.invalidation(context)?.reason ?? null;
}

/** Why a request did not continue from a context that is a prefix of the Turn. */
function lostBy({ request }: FoundRequest, asked: RecordedPlan | PlanRequest, context: ServerContext): string {
  const { anchor, reason } = request.decision;
  if (asked.policy.mode === "stateless") return "policy";
  const refusal = "codec" in asked ? refusalOf(asked, context) : null;
  const isUnsure = hasLostSettings(asked, context) && (refusal === null || refusal === "settings-changed");
  if (refusal !== null && !isUnsure) return refusal;
  if (anchor !== null && context.length <= anchor.length) return context.length < anchor.length ? "shorter" : "older";
  // The planner tried it, unless the request was not to continue from anything, or from something else.
  const isTried = anchor !== null || !(reason !== null && reasonsForNone.has(reason));
  if (!isTried || ("codec" in asked && !isCandidate(asked, context))) return "not asked for";
  if (isUnsure) return rejectionIn(request, context) ?? "settings-erased";
  return "codec" in asked ? "illegal-continuation" : "unknown without its codec";
}

/** Whether the settings of a context are others than the request's, and some of them were erased. */
const hasLostSettings = ({ contexts, settingsDigest: now }: RecordedPlan, { settingsDigest: then }: ServerContext) =>
  then !== now && [then, now].some(contexts.hasErasedSettings);

/** The reason that the request recorded against a context; null if it named another one. */
function rejectionIn({ scope, decision: { rejected } }: FoundRequest["request"], { anchor }: ServerContext) {
  if (rejected === null || anchor === null) return null;
  return anchorName({ scope, anchor: rejected.anchor }) === anchorName({ scope, anchor }) ? rejected.reason : null;
}

const reasonsForNone: ReadonlySet<string> = new Set(["provider-cannot-chain", "refused", "suspect", "policy", "aside"]);

/** A context that is not a prefix of the Turn, and where they diverge. */
function diverging({ contextTurns }: FoundRequest, asked: RecordedPlan, context: ServerContext) {
  const turn = contextTurns.get(context.inferenceId);
  const held = turn && withoutFirst(context, turn, turn.length - context.length);
  const divergence = held === undefined ? null : divergenceOf(held, asked.turn, asked.provenance);
  return { verdict: divergence === null ? "no-anchor" : "not a prefix of the Turn", divergence };
}
