import { canonicalJson } from "../../base/canonical-json.ts";
import type { Anchor } from "../../domain/anchor.ts";
import type { Block } from "../../domain/block.ts";
import type { Decision, Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ServerContext, ServerObject } from "../../projections/server-contexts/server-contexts.ts";
import { type AnchorKind, anchorKind } from "../ports/anchor-kind.ts";
import { abortedResult } from "../ports/codec.ts";
import { reasoningCheck } from "./bound-reasoning.ts";
import { divergenceOf } from "./divergence.ts";
import { toldLate } from "./late-result.ts";
import type { FullReason, PlanRequest } from "./plan-request.ts";
import { repairIndexOf } from "./repairs.ts";
import { changedBefore, changedSettings } from "./request-settings.ts";
import { codecDetails } from "./sent-before.ts";
import { isPausedAt, shape } from "./shape.ts";
import { unwantedReason } from "./unwanted-reasoning.ts";

type Rejected = { readonly context: ServerContext; readonly reason: FullReason };
type AnchorCandidate = {
  readonly anchor: ServerContext;
  readonly repairs: readonly Repair[];
  readonly changed: readonly string[];
};

/**
 * Decides how a request is sent: from the deepest recorded context that is a prefix of the Turn, may be continued from, and leaves
 * a legal continuation; or else in full. Pure. It walks by digest from the end: after n new blocks it checks n places, whatever the
 * length of the conversation.
 */
export function plan(request: PlanRequest): Decision {
  const { scope, turn, contexts } = request;
  const newest = contexts.newest(scope);
  const object = objectOf(request);
  const forced = forcedReason(request);
  const rejections: Rejected[] = [];
  const found = forced === null && newest !== null ? findAnchor(request, rejections) : null;
  if (found === null) {
    const reason = forced ?? reasonForNone(request, rejections);
    const repairs = shape(turn, 0, shapeOptions(request, null));
    return decision(request, {
      strategy: "full",
      reason,
      // An empty object takes the whole Turn.
      ...(object?.exchanges.length === 0 ? { anchor: { ...object.anchor, inferenceId: null, length: 0 } } : {}),
      repairs: [...repairs],
      rejected: rejectedNewest(request, null, { rejections, forced }),
    });
  }
  const { anchor, repairs, changed } = found;
  const rejected = rejectedNewest(request, anchor, { rejections, forced });
  return decision(request, {
    strategy: rejected === null ? "chained" : "rebased",
    reason: rejected?.reason ?? null,
    anchor: { ...(object?.anchor ?? named(anchor)), inferenceId: anchor.inferenceId, length: anchor.length },
    sendFrom: anchor.length,
    back: rejected === null ? 0 : stepsBack(request, anchor),
    changedSettings: [...changed],
    repairs: [...repairs],
    rejected,
  });
}

/** Why the request may not continue from anything. */
function forcedReason({ full, policy, capabilities, contexts, scope }: PlanRequest): FullReason | null {
  if (full !== undefined) return full;
  if (policy.mode === "stateless") return "policy";
  if (policy.mode === "conversation") return capabilities.conversations === true ? null : "provider-cannot-chain";
  if (contexts.newest(scope)?.context.unusable === "suspect") return "suspect";
  return capabilities.chain === true ? null : "provider-cannot-chain";
}

/** The object that a request adds to; null if it continues from a response, or from nothing. */
const objectOf = ({ policy, full, contexts, scope, capabilities }: PlanRequest): ServerObject | null =>
  policy.mode === "conversation" && full !== "aside" && capabilities.conversations === true
    ? contexts.object(scope)
    : null;

/** Why there is no anchor, if the request was not forced to be full. */
function reasonForNone(request: PlanRequest, rejections: readonly Rejected[]): FullReason {
  const { contexts, scope, turn, policy } = request;
  const newest = contexts.newest(scope)?.context;
  if (newest === undefined) return "first-request";
  const isPrefix = newest.length <= turn.length && turn.contextAt(newest.length) === newest.turn;
  // Nothing was lost: the object is new to the conversation, or to its fork.
  if (policy.mode === "conversation" && isPrefix && rejections.length === 0) return "new-conversation";
  return rejections[0]?.reason ?? "no-anchor";
}

/** Whether a context is a candidate: for an object only what it holds now, else the contexts of responses. */
export function isCandidate(request: PlanRequest, { index, scope, parent }: ServerContext): boolean {
  if (request.policy.mode === "conversation") return objectOf(request)?.exchanges.includes(index) === true;
  return parent === null || !request.contexts.isCut({ scope, anchor: parent });
}

function findAnchor(request: PlanRequest, rejections: Rejected[]): AnchorCandidate | null {
  const { turn, contexts, scope } = request;
  const only = request.candidates === "newest" ? contexts.newest(scope)?.context.responseId : undefined;
  for (const { length, digest } of turn.contexts()) {
    const sharing = contexts
      .byTurn(digest)
      .filter((context) => context.scope === scope && (only === undefined || context.responseId === only))
      .filter((context) => isCandidate(request, context));
    for (const anchor of preferred(sharing, turn, length)) {
      const tried = tryAnchor(request, anchor);
      if ("repairs" in tried) return tried;
      rejections.push(tried);
    }
  }
  return null;
}

/** Among responses with one context, the one that the last block before the cut came from takes precedence, then the newest. */
function preferred(sharing: readonly ServerContext[], turn: Turn, length: number): readonly ServerContext[] {
  if (sharing.length < 2) return sharing;
  const cut = turn.at(length - 1)?.wire?.group?.id;
  const rank = ({ inferenceId, index }: ServerContext): number =>
    inferenceId === cut ? Number.POSITIVE_INFINITY : index;
  // Responses that are not in the log yet count as equally new, and keep their order.
  return sharing.toReversed().toSorted((left, right) => rank(right) - rank(left));
}

function tryAnchor(request: PlanRequest, anchor: ServerContext): AnchorCandidate | Rejected {
  const { turn, capabilities } = request;
  const reject = (reason: FullReason): Rejected => ({ context: anchor, reason });
  const refusal = refusalOf(request, anchor);
  if (refusal !== null) return reject(refusal);
  const changed = changedSince(request, anchor);
  const repairs = shape(turn, anchor.length, shapeOptions(request, anchor));
  const omitted = repairs.filter(({ rule }) => rule === "omit").length;
  const isAnswering = repairs.some(({ rule }) => rule === "answer");
  const isEmpty = omitted === turn.length - anchor.length && !isAnswering;
  // After a paused answer the server accepts only a request without new input.
  const isPaused = isPausedAt(turn, anchor.length - 1, request);
  if (isEmpty ? !isPaused && capabilities.emptyInput !== true : isPaused) return reject("illegal-continuation");
  const takes = kindOf(request, anchor)?.takes;
  const left = new Set(repairs.flatMap(({ rule, index }) => (rule === "omit" ? [index] : [])));
  const byPlace = Map.groupBy(repairs, repairIndexOf);
  const isTaken = (block: Block, n: number): boolean =>
    left.has(anchor.length + n) || takes?.(toldLate(block, byPlace.get(anchor.length + n) ?? [], turn)) !== false;
  const isAnswerTaken = !isAnswering || takes?.(abortedResult("call")) !== false;
  if (takes !== undefined && !(isAnswerTaken && turn.after(anchor.length).every(isTaken)))
    return reject("illegal-continuation");
  return { anchor, repairs, changed };
}

/** Why a request may not continue from a context that is a prefix of the Turn, whatever follows; null if it may. */
export function refusalOf(request: PlanRequest, anchor: ServerContext): FullReason | null {
  const { contexts, policy } = request;
  if (anchor.unusable !== null) return anchor.unusable === "suspect" ? "suspect" : "no-anchor";
  // A fork has its own lane, and the parent may have continued in the lane of this response.
  if (anchor.anchor?.lives !== undefined && contexts.usedUp(anchor) === "inherited") return "inherited";
  if (!isWithinReach(request, anchor)) return "connection-closed";
  const invalidation = contexts.invalidation(anchor);
  if (invalidation !== null)
    return ["expired", "suspect", "continued"].includes(invalidation.reason) ? invalidation.reason : "refused";
  const kind = kindOf(request, anchor);
  if (kind === undefined) return "unknown-anchor";
  const usedUp = kind.isLinear === true ? contexts.usedUp(anchor) : null;
  if (usedUp !== null) return usedUp;
  const ageMs = Date.parse(request.now) - Date.parse(anchor.at);
  const keptMs = kind.keptMs?.(contexts.settings(anchor.settingsDigest)) ?? Number.POSITIVE_INFINITY;
  const isOld = ageMs > Math.min(policy.maxAgeMs, keptMs) || ageMs < -maxClockSkewMs;
  if (isOld && kind.isObject !== true) return "expired";
  const isFull = (name: string): boolean =>
    kind.mustEqual?.(name) === true || settingsRule(request, name, anchor) === "full";
  return changedSince(request, anchor).some(isFull) ? "settings-changed" : null;
}

/** The kind of anchor that a request names for a context: the object's, if it adds to one. */
const kindOf = (request: PlanRequest, context: ServerContext): AnchorKind | undefined =>
  anchorKind(request.codec, objectOf(request)?.anchor ?? named(context));

/**
 * An anchor that ends with a connection can be continued only on that connection, and only while it is the newest: a connection
 * remembers one anchor of each conversation.
 */
function isWithinReach({ contexts, scope, connection }: PlanRequest, { anchor, inferenceId }: ServerContext): boolean {
  const lives = anchor?.lives;
  if (lives === undefined) return true;
  const isOpen = canonicalJson(lives) === canonicalJson(connection?.lives ?? null);
  return isOpen && contexts.newest(scope)?.context.inferenceId === inferenceId;
}

/** The settings that differ from those of a context; computed once for all contexts with the same settings. */
function changedSince(request: PlanRequest, { settingsDigest: before }: ServerContext): readonly string[] {
  if (before === request.settingsDigest) return [];
  const known = changesOf.get(request) ?? new Map<string, readonly string[]>();
  changesOf.set(request, known);
  const changed = known.get(before) ?? changedSettings(request.contexts.settings(before), request.settings);
  known.set(before, changed);
  return changed;
}

const changesOf = new WeakMap<PlanRequest, Map<string, readonly string[]>>();

/**
 * The tolerated difference between the clocks of machines. A later date than that came from a clock that had jumped, so the age is
 * unknown.
 */
const maxClockSkewMs = 60_000;

function settingsRule(request: PlanRequest, name: string, anchor: ServerContext): string {
  const { policy, turn } = request;
  const rule = Object.hasOwn(policy.onSettingsChange, name) ? policy.onSettingsChange[name] : undefined;
  if (rule !== undefined || !(name === "model" || isReadBefore(request, name, anchor))) return rule ?? "chain";
  const first = turn.blocks.findIndex(({ kind }) => kind === "reasoning");
  return first >= 0 && first < anchor.length ? "full" : "chain";
}

/** Whether the endpoint rejects the reasoning that it holds after a change of this setting. */
const isReadBefore = (request: PlanRequest, name: string, { settingsDigest }: ServerContext): boolean =>
  request.capabilities.reasoningPrefix === "refuse" &&
  changedBefore(request.contexts.settings(settingsDigest), request.settings).includes(name);

const shapeOptions = (request: PlanRequest, anchor: ServerContext | null) => ({
  scope: request.scope,
  codec: request.codec,
  capabilities: request.capabilities,
  itemIds: request.capabilities.itemIds === true,
  quarantined: request.contexts.quarantined,
  unwanted: (block: Block, index: number) =>
    unwantedReason(request, block) ?? (coversWhatIsBefore(request, block, index) === false ? "stale-compaction" : null),
  covers: (block: Block, index: number) => coversWhatIsBefore(request, block, index) === true,
  settings: request.settings,
  heldFrom: anchor?.inputLength ?? 0,
  check: reasoningCheck(request, anchor),
});

/**
 * Whether a compaction replaces what is before it: it holds what was there when it was made, regardless of later changes. Null for
 * other blocks, and if the log does not have its answer.
 */
function coversWhatIsBefore({ contexts, turn }: PlanRequest, { wire }: Block, index: number): boolean | null {
  if (wire?.compacts !== true || wire.group === undefined) return null;
  const made = contexts.ofInference(wire.group.id);
  if (made === null) return null;
  const isInPlace = made.inputLength + wire.group.index === index && made.length <= turn.length;
  return isInPlace && turn.contextAt(made.length) === made.turn;
}

/** The anchor that a request names to continue from a context. */
function named({ anchor, responseId }: ServerContext): Anchor {
  if (anchor === null) throw new Error(`no anchor names the response ${responseId}`);
  return anchor;
}

/** The newest context, if another was chosen: readers want to know why. */
function rejectedNewest(
  request: PlanRequest,
  anchor: ServerContext | null,
  { rejections, forced }: { readonly rejections: readonly Rejected[]; readonly forced: FullReason | null },
): Decision["rejected"] {
  const newest = request.contexts.newest(request.scope);
  if (newest === null || anchor?.turn === newest.context.turn) return null;
  const { context, turn } = newest;
  const known = rejections.find((rejected) => rejected.context.responseId === context.responseId);
  const divergence = known === undefined && turn !== null ? divergenceOf(turn, request.turn, request.provenance) : null;
  return { anchor: named(context), reason: known?.reason ?? forced ?? "no-anchor", divergence };
}

/**
 * How many contexts of the newest one's line the request gives up: those longer than the anchor, and those that the Turn no longer
 * contains. Ancestors count, siblings do not.
 */
function stepsBack({ contexts, scope, turn }: PlanRequest, anchor: ServerContext): number {
  const newest = contexts.newest(scope)?.turn ?? turn;
  let steps = 0;
  for (const { length, digest } of newest.contexts()) {
    if (length <= anchor.length && digest === turn.contextAt(length)) break;
    if (contexts.byTurn(digest).some((context) => context.scope === scope)) steps += 1;
  }
  return steps;
}

function decision(request: PlanRequest, decided: Partial<Decision> & Pick<Decision, "strategy" | "reason">): Decision {
  const { lives = null, details } = request.connection ?? {};
  const planned: Decision = {
    anchor: null,
    sendFrom: 0,
    back: 0,
    changedSettings: [],
    repairs: [],
    rejected: null,
    now: request.now,
    transport: request.transport,
    ...(lives === null ? {} : { lives }),
    ...(details === undefined ? {} : { details }),
    capabilities: request.capabilities,
    ...decided,
  };
  const own = codecDetails(request, planned);
  return own === undefined ? planned : { ...planned, details: { ...details, ...own } };
}
