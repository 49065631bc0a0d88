import type { Actor } from "../../domain/actor.ts";
import { Block, idOf } from "../../domain/block.ts";
import type { Divergence } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { equalBeginning } from "../../domain/turn-difference.ts";

/** Who made a version of a block, and who removed a block. */
export type Provenance = {
  readonly authorOf: (block: Block) => Actor | null;
  readonly removerOf: (id: BlockId) => Actor | null;
  /** Who last moved a block, if known. */
  readonly moverOf?: (id: BlockId) => Actor | null;
};

/** Where a server's context stops being a prefix of the Turn, and who caused it; null if it is a prefix. */
export function divergenceOf(held: Turn, turn: Turn, { authorOf, removerOf, moverOf }: Provenance): Divergence | null {
  const index = equalBeginning(held, turn);
  const [before, after] = [held.at(index), turn.at(index)];
  if (before === undefined) return null;
  const id = idOf(before);
  const now = turn.find(id);
  if (now === undefined) {
    const change = after === undefined ? "shortened" : "removed";
    return { index, blockId: id, change, actor: removerOf(id) };
  }
  if (!Block.areEqual(now, before)) return { index, blockId: id, change: "edited", actor: authorOf(now) };
  if (after !== undefined && held.find(idOf(after)) === undefined) {
    return { index, blockId: after.id, change: "inserted", actor: authorOf(after) };
  }
  // Only its author tells which of the two blocks was moved.
  const ids = after === undefined ? [id] : [id, idOf(after)];
  const moved = ids.find((each) => (moverOf?.(each) ?? null) !== null) ?? id;
  return { index, blockId: moved, change: "moved", actor: moverOf?.(moved) ?? null };
}
