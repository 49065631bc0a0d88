import { idOf } from "./block.ts";
import type { BlockId } from "./ids.ts";
import { longestIncreasingSubsequence } from "./longest-increasing-subsequence.ts";
import type { Turn } from "./turn.ts";

/** The blocks of a Turn that another made from it no longer has. */
export function removedFrom(before: Turn, after: Turn): readonly BlockId[] {
  const shared = before.commonPrefixLength(after);
  const gone = before.after(shared);
  if (gone.length === 0) return [];
  const kept = new Set(after.after(shared).map(idOf));
  return gone.map(idOf).filter((id) => !kept.has(id));
}

/** The blocks that both Turns have and that stand elsewhere among each other in the second one: as few as explain it. */
export function movedIn(before: Turn, after: Turn): readonly BlockId[] {
  const shared = before.commonPrefixLength(after);
  const placeById = new Map(before.after(shared).map((block, place) => [idOf(block), place]));
  if (placeById.size === 0) return [];
  const kept = after
    .after(shared)
    .map(idOf)
    .filter((id) => placeById.has(id));
  const places = kept.map((id) => placeById.get(id) ?? 0);
  const inOrder = new Set(longestIncreasingSubsequence(places));
  return kept.filter((_, index) => !inOrder.has(places[index] ?? 0));
}
