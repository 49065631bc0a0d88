import { type Block, idOf } from "../domain/block.ts";
import type { ProposedEvent } from "../domain/events/recorded.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";

/** The event data that keeps later requests from carrying the reasoning of a Turn, or continuing from a response that holds it. */
export function reasoningReset({ blocks }: Turn): {
  readonly blockIds: readonly BlockId[];
  readonly events: readonly ProposedEvent["event"][];
} {
  const reasoning = blocks.filter(({ kind, wire }) => kind === "reasoning" && wire !== null);
  const byScope = Map.groupBy(reasoning, ({ wire }: Block) => wire?.scope ?? "");
  const events = [...byScope].flatMap(([scope, all]): ProposedEvent["event"][] => [
    { type: "ReasoningQuarantined", version: 1, data: { scope, blockIds: all.map(idOf), reason: "reset" } },
    { type: "AnchorInvalidated", version: 1, data: { scope, anchor: null, reason: "reset" } },
  ]);
  return { blockIds: reasoning.map(idOf), events };
}
