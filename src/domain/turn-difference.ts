import { type Block, idOf } from "./block.ts";
import type { BlockId } from "./ids.ts";
import { longestIncreasingSubsequence } from "./longest-increasing-subsequence.ts";
import type { Turn } from "./turn.ts";

/** What became of the blocks of a Turn that another was made from. */
export type Displaced = {
  /** The blocks that the second one no longer has. */
  readonly removed: readonly BlockId[];
  /** Blocks that both have and that stand elsewhere among each other in the second one: as few as explain it. */
  readonly moved: readonly BlockId[];
};

/** A block that was only changed stands where it stood: what a layer rewrites in a long Turn is looked at once. */
export function displacedBetween(before: Turn, after: Turn): Displaced {
  const shared = before.commonPrefixLength(after);
  const [gone, come] = withoutCommonEnds(before.after(shared), after.after(shared));
  if (gone.length === 0) return { removed: [], moved: [] };
  const placeById = new Map(gone.map((block, place) => [idOf(block), place]));
  const kept = come.map(idOf).filter((id) => placeById.has(id));
  const present = new Set(kept);
  const places = kept.map((id) => placeById.get(id) ?? 0);
  const inOrder = new Set(longestIncreasingSubsequence(places));
  return {
    removed: [...placeById.keys()].filter((id) => !present.has(id)),
    moved: kept.filter((_, index) => !inOrder.has(places[index] ?? 0)),
  };
}

type Blocks = readonly Block[];

/** Two lists without the blocks, by id, that both begin with, and those that both end with. */
function withoutCommonEnds(left: Blocks, right: Blocks): readonly [Blocks, Blocks] {
  let start = 0;
  while (start < left.length && isOne(left[start], right[start])) start += 1;
  let end = 0;
  const most = Math.min(left.length, right.length) - start;
  while (end < most && isOne(left[left.length - 1 - end], right[right.length - 1 - end])) end += 1;
  return [left.slice(start, left.length - end), right.slice(start, right.length - end)];
}

const isOne = (left: Block | undefined, right: Block | undefined): boolean => left === right || left?.id === right?.id;
