import type { Divergence } from "../domain/events/inference-events.ts";
import { divergenceOf } from "../engine/planning/divergence.ts";
import { withoutFirst } from "../engine/planning/instruction-blocks.ts";
import { recordedPlan } from "../engine/planning/recorded-request.ts";
import { changedSettings } from "../engine/planning/request-settings.ts";
import type { FoundRequest } from "./find-request.ts";

/** What became of what an endpoint was sent and answered last, in a request that continues from nothing. */
export type RequestBefore = {
  /** Where its answer stands: of a fork, it may be in an ancestor's stream. */
  readonly stream: string;
  readonly revision: number;
  /** The first block of it that is another now, and who made it so; null where all of it stands at the beginning of this request. */
  readonly divergence: (Divergence & { readonly block: string }) | null;
  /** Settings that are others. */
  readonly changedSettings: readonly string[];
};

/**
 * The request before, compared with one of an endpoint that nothing is continued from: a cache of prompts, and reasoning, live by what
 * stands before them all the same. Null for the first request of an endpoint, and where the decision tells of an anchor already.
 */
export function requestBefore(found: FoundRequest): RequestBefore | null {
  const { view, recorded, request, contextTurns, labels } = found;
  const { anchor, rejected, reason } = request.decision;
  if (anchor !== null || rejected !== null || reason === "aside") return null;
  const context = view.server.contexts.all.findLast(({ scope }) => scope === request.scope);
  const turn = context && contextTurns.get(context.inferenceId);
  if (context === undefined || turn === undefined) return null;
  const asked = recordedPlan(view, recorded);
  const held = withoutFirst(context, turn, turn.length - context.length);
  const divergence = divergenceOf(held, asked.turn, asked.provenance);
  return {
    stream: context.stream,
    revision: context.revision,
    divergence: divergence && { ...divergence, block: labels.get(divergence.blockId ?? "") ?? "block" },
    changedSettings: changedSettings(asked.contexts.settings(context.settingsDigest), asked.settings),
  };
}
