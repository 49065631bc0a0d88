import type { Block } from "../domain/block.ts";
import type { BlockId } from "../domain/ids.ts";
import { Turn } from "../domain/turn.ts";
import { type TurnDifference, turnDifference } from "../domain/turn-difference.ts";

/**
 * What differs between the Turns of two conversations, whose blocks share no ids: blocks of equal content are taken for
 * one block, in their order.
 */
export function differenceByContent(from: Turn, to: Turn): TurnDifference {
  const idsByDigest = Map.groupBy(from.blocks, ({ digest }) => digest);
  const unpaired = new Map([...idsByDigest].map(([digest, blocks]) => [digest, blocks.map(({ id }) => id)]));
  return turnDifference(from, Turn.of(to.blocks.map((block) => block.withId(pairedId(block, unpaired)))));
}

function pairedId(block: Block, unpaired: ReadonlyMap<string, (BlockId | null)[]>): BlockId | null {
  return unpaired.get(block.digest)?.shift() ?? block.id;
}
