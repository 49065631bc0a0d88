import { type Block, idOf } from "../../domain/block.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { anchorKind } from "../ports/anchor-kind.ts";
import type { Lesson } from "../ports/capabilities.ts";
import type { SentBlock, Settings } from "../ports/codec.ts";
import type { ProviderError } from "../ports/provider-error.ts";
import { engineActor, type RunSession } from "../session/session.ts";

/** How the next attempt differs from this one. */
export type Retry = {
  readonly full?: string;
  /** Capabilities that it does without. Once the endpoint takes the request, they are recorded as missing. */
  readonly without?: readonly Lesson[];
};

type Failed = {
  readonly error: ProviderError;
  readonly request: InferenceRequestedData;
  readonly settings: Settings;
  readonly shaped: readonly SentBlock[];
  readonly outgoing: Turn;
  /** How often the step reacted to each refusal. */
  readonly reactions: Map<string, number>;
};

type Consequence = ProposedEvent["event"];

/** The consequences of a refusal: another attempt, if that can help, and the events to record after the failure. */
export type Reaction = {
  readonly retry: Retry | null;
  readonly consequences: readonly Consequence[];
  /** The transport for the rest of the run. */
  readonly transport?: string;
};

const mendedBy = (retry: Retry | null, ...consequences: readonly Consequence[]): Reaction => ({ retry, consequences });

/** However many capabilities a codec names. */
const maxReactions = 16;

/** Every other kind gets one reaction. */
const maxTimes: ReadonlyMap<string, number> = new Map([["invalid-encrypted-content", 2]]);

/**
 * Decides how to react to a refusal. All of these were refused before inference, so one more attempt is safe (as seen). The decision comes
 * before the failure is recorded; `applyReaction` carries it out.
 */
export function reactionTo(session: RunSession, failed: Failed): Reaction {
  const { error, request, shaped, reactions } = failed;
  const lesson = session.engine.provider.codec.lessonOf?.(error, failed.settings) ?? null;
  // Chained and full requests are refused for different reasons, even if the kind is the same; an endpoint may lack several capabilities.
  const way = request.decision.strategy === "full" ? "full" : "chained";
  const tried = [error.kind, way, ...(lesson === null ? [] : [lesson.capability])].join(" ");
  const times = reactions.get(tried) ?? 0;
  if (reactions.size > maxReactions) return mendedBy(null);
  if (error.outcome !== "rejected" || times === (maxTimes.get(error.kind) ?? 1)) return mendedBy(null);
  reactions.set(tried, times + 1);
  switch (error.kind) {
    case "transport-unavailable":
      return sendOtherwise(session, failed);
    case "lost-state":
    case "already-continued":
    case "anchor-mismatch":
    case "chaining-unsupported":
    // The server's context differs from the log: an abort may have left a call in it, or kept one out.
    case "missing-tool-output":
    case "orphan-tool-output":
    case "reasoning-pairing":
    case "duplicate-item":
      return fallBack(session, failed);
    case "conversation-not-found":
      return anotherObject(session, failed);
    case "item-not-found":
      return request.decision.strategy === "full" ? mendedBy(withoutIds(shaped)) : fallBack(session, failed);
    case "invalid-encrypted-content":
      return withoutReasoning(session, failed, times === 0 ? "named" : "all");
    default:
      if (isEmptyRefused(failed)) return mendedBy({ without: [{ capability: "emptyInput", reason: error.message }] });
      return mendedBy(lesson === null ? null : { without: [lesson] });
  }
}

/** Carries out a reaction; its events follow the failure. */
export function applyReaction(session: RunSession, { consequences, transport }: Reaction): void {
  for (const event of consequences) recordConsequence(session, event);
  if (transport !== undefined) session.transport = transport;
}

/** Sends the rest of the run over the fallback transport, as each decision says. Later runs do too, once this request was accepted. */
function sendOtherwise(session: RunSession, { error, request: { decision } }: Failed): Reaction {
  const { fallbackTransport } = session.engine.provider;
  const { transport: capability } = decision;
  if (fallbackTransport === undefined || capability === fallbackTransport) return mendedBy(null);
  return { ...mendedBy({ without: [{ capability, reason: error.message }] }), transport: fallbackTransport };
}

/** A failed continuation evicts what its connection remembered of it. */
export function forgetEvicted(session: RunSession, { decision, scope }: InferenceRequestedData): void {
  const { anchor } = decision;
  if (anchor?.lives === undefined) return;
  const { kind, id, lives } = anchor;
  const evicted = { scope, anchor: { kind, id, lives }, reason: "evicted" };
  recordConsequence(session, { type: "AnchorInvalidated", version: 1, data: evicted });
}

/** A request without input that is refused for its input was refused because it has none, whatever the message says. */
const isEmptyRefused = ({ error, request, shaped }: Failed): boolean =>
  error.kind === "invalid-request" &&
  (error.param === null || error.param === "input") &&
  request.decision.anchor !== null &&
  shaped.length === 0;

/** The server does not hold what the request continues from: everything is sent, once. */
function fallBack(session: RunSession, failed: Failed): Reaction {
  const { error, request } = failed;
  const { anchor, strategy } = request.decision;
  const { onRefused, require } = session.engine.chain;
  const isTried = onRefused !== "throw" && require !== true;
  const lesson = { capability: "chain", reason: error.message } as const;
  const isUnsupported = error.kind === "chaining-unsupported" && (strategy !== "full" || asksToBeKept(session, failed));
  if (isUnsupported && isTried) return mendedBy({ full: "refused", without: [lesson] });
  if (anchor === null || strategy === "full") return mendedBy(null);
  const { scope } = request;
  const { kind, id, lives } = anchor;
  const named = { kind, id, ...(lives === undefined ? {} : { lives }) };
  const lost = error.kind === "chaining-unsupported" ? null : named;
  const reason = lostBecause.get(error.kind) ?? "refused";
  const retry: Retry | null = isTried ? { full: "refused" } : null;
  // The connection has already lost what it remembered, whatever the refusal was.
  if (lost?.lives !== undefined) return mendedBy(retry);
  return mendedBy(retry, { type: "AnchorInvalidated", version: 1, data: { scope, anchor: lost, reason } });
}

/** Whether a full request asks the server to store what later requests continue from, which the server may refuse too. */
function asksToBeKept({ engine: { provider } }: RunSession, { request, settings }: Failed): boolean {
  const unstored = provider.codec.unstored?.(settings) ?? settings;
  return request.decision.capabilities["chain"] === true && unstored !== settings;
}

/** The recorded reason why an anchor was lost, by kind of refusal. */
const lostBecause: ReadonlyMap<string, string> = new Map([
  ...[["lost-state", "not-found"] as const, ["item-not-found", "not-found"] as const],
  ["already-continued", "continued"],
]);

/** The object is gone: another one is created. */
function anotherObject(session: RunSession, { request }: Failed): Reaction {
  const { chain, provider } = session.engine;
  const { anchor } = request.decision;
  if (anchor === null || anchorKind(provider.codec, anchor)?.isObject !== true) return mendedBy(null);
  const { kind, id } = anchor;
  const data = { scope: request.scope, anchor: { kind, id }, reason: "not-found" };
  const isTried = chain.onRefused !== "throw" && chain.require !== true;
  return mendedBy(isTried ? {} : null, { type: "AnchorInvalidated", version: 1, data });
}

/** Returns null if the request had no ids that the server could have looked up. */
function withoutIds(shaped: readonly SentBlock[]): Retry | null {
  const reason = "items of earlier responses are not found by their ids";
  return shaped.some(({ withId }) => withId) ? { without: [{ capability: "itemIds", reason }] } : null;
}

/**
 * Quarantines the refused item if the message names it, else all reasoning of the request: a server names one at a time, and one that has
 * lost its keys refuses them all. If the request sent none of it, the server holds it, and everything is sent without it.
 */
function withoutReasoning(session: RunSession, failed: Failed, which: "named" | "all"): Reaction {
  const { error, request, shaped, outgoing } = failed;
  const sent = refusedIn(
    shaped.map(({ block }) => block),
    which === "named" ? error.message : null,
  );
  const isHeld = sent.length === 0 && request.decision.anchor !== null;
  const blockIds = isHeld ? refusedIn(outgoing.blocks, error.message) : sent;
  if (blockIds.length === 0) return mendedBy(null);
  const data = { scope: request.scope, blockIds, reason: error.message };
  const { retry, consequences } = isHeld ? fallBack(session, failed) : mendedBy({});
  return mendedBy(retry, { type: "ReasoningQuarantined", version: 1, data }, ...consequences);
}

/** The blocks that a refusal names, else all reasoning. A compaction is encrypted too, but is left out only if the refusal names it. */
function refusedIn(all: readonly Block[], message: string | null): BlockId[] {
  const blocks = all.filter(({ id }) => id !== null);
  const named = blocks.filter(({ wire }) => wire?.itemId !== undefined && message?.includes(wire.itemId) === true);
  return (named.length > 0 ? named : blocks.filter(({ kind }) => kind === "reasoning")).map(idOf);
}

/**
 * The endpoint took the request without these capabilities, so it lacks them. If it cannot chain, its contexts are not continued.
 * Capabilities that the caller configured stay: the next request tries them again.
 */
export function learn(session: RunSession, { without = [] }: Retry): void {
  const { provider, learned } = session.engine;
  const { scope, configured = [] } = provider;
  for (const lesson of without) {
    const { capability } = lesson;
    if (capability === "chain") {
      recordConsequence(session, {
        type: "AnchorInvalidated",
        version: 1,
        data: { scope, anchor: null, reason: "refused" },
      });
    }
    if (configured.includes(capability)) continue;
    learned.set(learnedName(lesson), false);
    recordConsequence(session, { type: "CapabilityLearned", version: 1, data: { scope, value: false, ...lesson } });
  }
}

/** While a resumed run is answered from its log, the log has the consequences as well: they are only applied. */
function recordConsequence(session: RunSession, event: Consequence): void {
  if (session.run.journal.isReplaying) session.run.fold.apply({ event, actor: engineActor });
  else session.run.recorder.record(event, { actor: engineActor });
}
