import type { Divergence } from "../domain/events/inference-events.ts";
import { withoutFirst } from "../engine/planner/instruction-blocks.ts";
import { plan } from "../engine/planner/plan.ts";
import { planRequest } from "../engine/requests.ts";
import type { ServerContext } from "../projections/server-contexts.ts";
import { codecs } from "../providers/codecs.ts";
import type { FoundRequest } from "./recorded-request.ts";

/** A context that a request might have continued from, and why it did not. */
export type Candidate = {
  readonly context: ServerContext;
  /** `taken`; `shorter` or `older` where it could have been, but another saved more; else what spoke against it. */
  readonly verdict: string;
  readonly divergence: Divergence | null;
};

/** Every context that was known, newest first, with what the planner says of it alone, under the run's own policy. */
export function candidatesOf(found: FoundRequest): readonly Candidate[] {
  return found.view.server.all.toReversed().map((context) => judge(found, context));
}

function judge({ view, recorded, request, contextTurns }: FoundRequest, context: ServerContext): Candidate {
  const { anchor } = request.decision;
  if (anchor !== null && anchor.inferenceId === context.inferenceId)
    return { context, verdict: "taken", divergence: null };
  if (context.unusable !== null) return { context, verdict: context.unusable, divergence: null };
  if (context.scope !== request.scope) return { context, verdict: "another endpoint", divergence: null };
  const asked = planRequest(view, recorded, codecs);
  const invalidation = asked.contexts.invalidation(context);
  if (invalidation !== null) return { context, verdict: invalidation.reason, divergence: null };
  const turn = contextTurns.get(context.inferenceId) ?? null;
  const decision = plan({
    ...asked,
    // What the server cannot do at all is said of the request, not of each context.
    capabilities: { ...asked.capabilities, chain: true },
    contexts: {
      ...asked.contexts,
      byTurn: (digest) => (digest === context.turn ? [context] : []),
      newest: () => ({ context, turn: turn && withoutFirst(context, turn, turn.length - context.length) }),
    },
  });
  const divergence = decision.rejected?.divergence ?? null;
  if (divergence !== null) return { context, verdict: "no beginning of the Turn", divergence };
  if (decision.strategy === "full") return { context, verdict: decision.reason ?? "no-anchor", divergence: null };
  if (anchor === null) return { context, verdict: "not asked for", divergence: null };
  return { context, verdict: context.length < anchor.length ? "shorter" : "older", divergence: null };
}
