import { type Block, idOf } from "../../domain/block.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { engineActor, type RunSession } from "../session/session.ts";
import { anchorKind, type Lesson, type SentBlock, type Settings } from "../stack/codec.ts";
import type { ProviderError } from "../stack/provider.ts";

/** What an attempt has the next one do otherwise. */
export type Retry = {
  readonly full?: string;
  /** What it does without: learnt of the endpoint once the request was taken so. */
  readonly without?: readonly Lesson[];
};

type Failed = {
  readonly error: ProviderError;
  readonly request: InferenceRequestedData;
  readonly settings: Settings;
  readonly shaped: readonly SentBlock[];
  readonly outgoing: Turn;
  /** How often each refusal was reacted to in this step. */
  readonly reactions: Map<string, number>;
};

type Consequence = ProposedEvent["event"];

/** What a refusal leads to: another attempt, where it can be mended, and what is recorded of it behind the failure. */
export type Reaction = {
  readonly retry: Retry | null;
  readonly consequences: readonly Consequence[];
  /** How the rest of the run is sent. */
  readonly transport?: string;
};

const mendedBy = (retry: Retry | null, ...consequences: readonly Consequence[]): Reaction => ({ retry, consequences });

/** Everything else is tried once. */
const maxTimes: ReadonlyMap<string, number> = new Map([["invalid-encrypted-content", 2]]);

/**
 * What to do about a refusal. All of these were refused before inference, so that one more attempt is safe (as seen). It is
 * decided before the failure is recorded; `applyReaction` does what it says.
 */
export function reactionTo(session: RunSession, failed: Failed): Reaction {
  const { error, request, shaped, reactions } = failed;
  // A chained request and a full one are refused for different reasons, whatever they are called.
  const tried = `${error.kind} ${request.decision.strategy === "full" ? "full" : "chained"}`;
  const times = reactions.get(tried) ?? 0;
  if (error.outcome !== "rejected" || times === (maxTimes.get(error.kind) ?? 1)) return mendedBy(null);
  reactions.set(tried, times + 1);
  switch (error.kind) {
    case "transport-unavailable":
      return sendOtherwise(session, failed);
    case "lost-state":
    case "already-continued":
    case "anchor-mismatch":
    case "chaining-unsupported":
    // Of a context that it holds otherwise than the log: an abort may have left a call, or kept one from it.
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
    default: {
      if (isEmptyRefused(failed)) return mendedBy({ without: [{ capability: "emptyInput", reason: error.message }] });
      const lesson = session.engine.provider.codec.lessonOf?.(error, failed.settings) ?? null;
      return mendedBy(lesson === null ? null : { without: [lesson] });
    }
  }
}

/** Does what a reaction says, behind the failure that it reacts to. */
export function applyReaction(session: RunSession, { consequences, transport }: Reaction): void {
  for (const event of consequences) recordConsequence(session, event);
  if (transport !== undefined) session.transport = transport;
}

/** The rest of the run is sent in the other way, each request as its decision says; later runs too, once this one was taken so. */
function sendOtherwise(session: RunSession, { error, request: { decision } }: Failed): Reaction {
  const { fallbackTransport } = session.engine.provider;
  const { transport: capability } = decision;
  if (fallbackTransport === undefined || capability === fallbackTransport) return mendedBy(null);
  return { ...mendedBy({ without: [{ capability, reason: error.message }] }), transport: fallbackTransport };
}

/** A continuation that fails takes away what a connection remembered of it. */
export function forgetEvicted(session: RunSession, { decision, scope }: InferenceRequestedData): void {
  const { anchor } = decision;
  if (anchor?.lives === undefined) return;
  const { kind, id, lives } = anchor;
  const evicted = { scope, anchor: { kind, id, lives }, reason: "evicted" };
  recordConsequence(session, { type: "AnchorInvalidated", version: 1, data: evicted });
}

/** Whatever it says of it, a request that is refused for its input and has none was refused for that. */
const isEmptyRefused = ({ error, request, shaped }: Failed): boolean =>
  error.kind === "invalid-request" &&
  (error.param === null || error.param === "input") &&
  request.decision.anchor !== null &&
  shaped.length === 0;

/** The server does not hold what it was asked to continue from: everything is sent, once. */
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
  // What a connection remembered is gone already, whatever the refusal was.
  if (lost?.lives !== undefined) return mendedBy(retry);
  return mendedBy(retry, { type: "AnchorInvalidated", version: 1, data: { scope, anchor: lost, reason } });
}

/** Whether a whole request asks the server to keep what later ones continue from, which it may refuse with it. */
function asksToBeKept({ engine: { provider } }: RunSession, { request, settings }: Failed): boolean {
  const unstored = provider.codec.unstored?.(settings) ?? settings;
  return request.decision.capabilities["chain"] === true && unstored !== settings;
}

/** What is recorded of an anchor that was refused, by how it was. */
const lostBecause: ReadonlyMap<string, string> = new Map([
  ...[["lost-state", "not-found"] as const, ["item-not-found", "not-found"] as const],
  ["already-continued", "continued"],
]);

/** The object is gone: another one is made. */
function anotherObject(session: RunSession, { request }: Failed): Reaction {
  const { chain, provider } = session.engine;
  const { anchor } = request.decision;
  if (anchor === null || anchorKind(provider.codec, anchor)?.isObject !== true) return mendedBy(null);
  const { kind, id } = anchor;
  const data = { scope: request.scope, anchor: { kind, id }, reason: "not-found" };
  const isTried = chain.onRefused !== "throw" && chain.require !== true;
  return mendedBy(isTried ? {} : null, { type: "AnchorInvalidated", version: 1, data });
}

/** Null where no id was sent that could have been looked for. */
function withoutIds(shaped: readonly SentBlock[]): Retry | null {
  const reason = "items of earlier responses are not found by their ids";
  return shaped.some(({ withId }) => withId) ? { without: [{ capability: "itemIds", reason }] } : null;
}

/**
 * The refused item where the message names it, else all reasoning of the request: a server names one at a time, and one
 * that has lost its keys refuses them all. Where nothing that was sent is meant, it is what the server holds itself, and everything
 * is sent without that.
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

/** The blocks that a refusal names, else all reasoning. A compaction is encrypted too, and is left out where it is the one that is named. */
function refusedIn(all: readonly Block[], message: string | null): BlockId[] {
  const blocks = all.filter(({ id }) => id !== null);
  const named = blocks.filter(({ wire }) => wire?.itemId !== undefined && message?.includes(wire.itemId) === true);
  return (named.length > 0 ? named : blocks.filter(({ kind }) => kind === "reasoning")).map(idOf);
}

/**
 * The request was taken without what the endpoint seemed not to be able to do: so it cannot, and what it holds is not
 * continued from where it cannot chain. What the caller has configured is not unlearnt: the next request tries it again.
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

/** What the log of a run that was cut off tells has its consequences there as well. */
function recordConsequence(session: RunSession, event: Consequence): void {
  if (session.run.journal.isReplaying) session.run.fold.apply({ event, actor: engineActor });
  else session.run.recorder.record(event, { actor: engineActor });
}
