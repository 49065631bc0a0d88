import { anchorName } from "../../domain/anchor-name.ts";
import { idOf } from "../../domain/block.ts";
import type { Decision, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { ShapedBlock } from "../planner/shaped-input.ts";
import type { ProviderError } from "../ports/provider.ts";
import { engineActor, type RunSession } from "../run/session.ts";

/** What an attempt learnt for the next one. */
export type Retry = { readonly full?: NonNullable<Decision["reason"]> };

type Failed = {
  readonly error: ProviderError;
  readonly request: InferenceRequestedData;
  readonly shaped: readonly ShapedBlock[];
  /** How often each refusal was reacted to in this step. */
  readonly reactions: Map<string, number>;
};

/** Everything else is tried once. */
const timesMax: ReadonlyMap<string, number> = new Map([["invalid-encrypted-content", 2]]);

/**
 * What to do about a refusal, recorded with it: null where nothing can be mended. All of these were refused before
 * inference, so that one more attempt is safe (responses-api.md, Q5).
 */
export function reactTo(session: RunSession, failed: Failed): Retry | null {
  const { error, request, reactions } = failed;
  // A chained request and a full one are refused for different reasons, whatever they are called.
  const tried = `${error.kind} ${request.decision.anchor === null ? "full" : "chained"}`;
  const times = reactions.get(tried) ?? 0;
  if (error.outcome !== "rejected" || times === (timesMax.get(error.kind) ?? 1)) return null;
  reactions.set(tried, times + 1);
  switch (error.kind) {
    case "lost-state":
    case "chaining-unsupported":
      return fallBack(session, failed);
    case "item-not-found":
      return request.decision.anchor === null
        ? learn(session, "itemIds", "items of earlier responses are not found by their ids")
        : fallBack(session, failed);
    case "invalid-encrypted-content":
      return withoutReasoning(session, failed, times === 0 ? "named" : "all");
    case "invalid-request":
      return error.param?.startsWith("include") === true ? learn(session, "encryptedReasoning", error.message) : null;
    default:
      return null;
  }
}

/** The server does not hold what it was asked to continue from: everything is sent, once. */
function fallBack(session: RunSession, { error, request }: Failed): Retry | null {
  const { anchor } = request.decision;
  const { onRefused, mode } = session.engine.chain;
  if (anchor === null) return null;
  const { scope } = request;
  const responseId = error.kind === "chaining-unsupported" ? null : anchor.responseId;
  const reason = responseId === null ? "refused" : "not-found";
  command(session, { type: "InvalidateAnchor", data: { scope, responseId, reason } });
  session.invalid.set(anchorName({ scope, responseId: anchor.responseId }), {
    reason,
    revision: Number.MAX_SAFE_INTEGER,
  });
  if (responseId === null) learn(session, "chain", error.message);
  return onRefused === "throw" || mode === "require" ? null : { full: "refused" };
}

/**
 * The refused item where the message names it, else all reasoning of the request: a server names one at a time, and one
 * that has lost its keys refuses them all.
 */
function withoutReasoning(
  session: RunSession,
  { error, request, shaped }: Failed,
  which: "named" | "all",
): Retry | null {
  const blocks = shaped.map(({ block }) => block).filter(({ id }) => id !== null);
  const reasoning = blocks.filter(({ kind }) => kind === "reasoning");
  // A compaction is encrypted too, and is left out where it is the one that is named.
  const named = blocks.filter(
    ({ wire }) => which === "named" && wire?.itemId !== undefined && error.message.includes(wire.itemId),
  );
  const blockIds = (named.length > 0 ? named : reasoning).map(idOf);
  if (blockIds.length === 0) return null;
  command(session, { type: "QuarantineReasoning", data: { scope: request.scope, blockIds, reason: error.message } });
  for (const id of blockIds) session.quarantined.add(id);
  return {};
}

/** The endpoint cannot do this: the next attempt does without. */
function learn(session: RunSession, capability: "chain" | "itemIds" | "encryptedReasoning", reason: string): Retry {
  const { provider, learned } = session.engine;
  learned.set(capability, false);
  command(session, { type: "LearnCapability", data: { scope: provider.scope, capability, value: false, reason } });
  return {};
}

/** What the log of a run that was cut off tells has its consequences there as well. */
function command(session: RunSession, given: Parameters<RunSession["recorder"]["record"]>[0]): void {
  if (!session.journal.isReplaying) session.recorder.record(given, { actor: engineActor });
}
