import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { Divergence } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { placeChanges } from "../../domain/turn-difference.ts";
import { divergenceOf, type Provenance } from "../planning/divergence.ts";

/** The first difference of two prompts, with the actor that caused it, and the block then and now; null where it is missing. */
export type PromptChange = {
  readonly divergence: Divergence;
  readonly before: Block | null;
  readonly after: Block | null;
};

/** Who caused a change of a block that differs, or that one of the two prompts lacks. */
export type ActorOf = (changed: Divergence & { readonly blockId: BlockId }, before: Block | null) => Actor | null;

/** Where a Turn stops beginning with what an earlier request sent; null if it begins with all of it. */
export function promptChange(
  then: Turn,
  now: Turn,
  { provenance, actorOf }: { readonly provenance: Provenance; readonly actorOf: ActorOf },
): PromptChange | null {
  const found = divergenceOf(then, now, provenance);
  if (found === null) return null;
  const divergence = found.change === "moved" && found.actor === null ? shifted(found, { then, now }) : found;
  const isOf = (block: Block): boolean => block.id === divergence.blockId;
  const [before, after] = [then.blocks.find(isOf) ?? null, now.blocks.find(isOf) ?? null];
  const shown = after ?? before;
  if (shown === null) return { divergence, before, after };
  const blamed = after === null ? provenance.removerOf(idOf(shown)) : provenance.authorOf(after);
  const changed = { ...divergence, actor: divergence.actor ?? blamed, blockId: idOf(shown) };
  return { divergence: { ...divergence, actor: actorOf(changed, before) }, before, after };
}

/** A block that no actor moved is elsewhere because another was added or removed that has the same content as its neighbour. */
function shifted(moved: Divergence, { then, now }: { readonly then: Turn; readonly now: Turn }): Divergence {
  const { removed, placed } = placeChanges(then, now);
  const added = placed.find(({ isMove }) => !isMove)?.block;
  const [gone] = removed;
  const isAdded = added !== undefined && (gone === undefined || now.indexOf(idOf(added)) <= then.indexOf(idOf(gone)));
  if (isAdded) return { ...moved, blockId: added.id, change: "inserted" };
  return gone === undefined ? moved : { ...moved, blockId: gone.id, change: "removed" };
}
