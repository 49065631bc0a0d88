import { idOf } from "./block.ts";
import type { BlockId } from "./ids.ts";
import type { Turn } from "./turn.ts";

/** The blocks of a Turn that another made from it no longer has. */
export function removedFrom(before: Turn, after: Turn): readonly BlockId[] {
  const shared = before.commonPrefixLength(after);
  const gone = before.after(shared);
  if (gone.length === 0) return [];
  const kept = new Set(after.after(shared).map(idOf));
  return gone.map(idOf).filter((id) => !kept.has(id));
}
