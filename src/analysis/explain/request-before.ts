import type { Divergence } from "../../domain/events/inference-events.ts";
import { divergenceOf } from "../../engine/planning/divergence.ts";
import { withoutFirst } from "../../engine/planning/instruction-blocks.ts";
import { changedSettings, differsForCertain } from "../../engine/planning/request-settings.ts";
import { recordedPlan } from "../../engine/recorded/recorded-request.ts";
import type { FoundRequest } from "../time-travel/find-request.ts";

/** How a request that continues from nothing differs from what its endpoint was sent and answered last. */
export type RequestBefore = {
  /** The stream of its answer: for a fork, possibly an ancestor's. */
  readonly stream: string;
  readonly revision: number;
  /** The first block of it that has changed, and who changed it; null if all of it is the beginning of this request. */
  readonly divergence: (Divergence & { readonly block: string }) | null;
  /** Settings that have changed, as far as it is known: erased ones are left out. */
  readonly changedSettings: readonly string[];
};

/**
 * Compares a request that continues from nothing with the one before it at the same endpoint: prompt caches, and reasoning, depend on
 * the prefix all the same. Null for the first request of an endpoint, and if the decision already names an anchor.
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
  const { contexts, settings, settingsDigest } = asked;
  const before = contexts.settings(context.settingsDigest);
  const hasErased = [context.settingsDigest, settingsDigest].some(contexts.hasErasedSettings);
  return {
    stream: context.stream,
    revision: context.revision,
    divergence: divergence && { ...divergence, block: labels.get(divergence.blockId ?? "") ?? "block" },
    changedSettings: changedSettings(before, settings).filter(
      (name) => !hasErased || differsForCertain(before, settings, name),
    ),
  };
}
