import { type Block, idOf } from "../domain/block.ts";
import type { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/middleware.ts";

export type LensDefinition = {
  readonly name: string;
  readonly version: string;
  /** What the model sees of a block. It depends on nothing but the block; the same object says that nothing is hidden. */
  readonly hide: (block: Block) => Block;
  /** What the client sees of a block that came in the answer; `hide` of it is what the model said. */
  readonly restore?: (block: Block) => Block;
};

/**
 * A layer that shows the model another form of each block than the client keeps: redaction, shortening, translation.
 *
 * On the way back every hidden form gives way to the very block that it was made of, so the Turn keeps its authors, and
 * blocks that the answer brought are restored. Hidden forms are the same in every step, so requests stay chained; where
 * `hide(restore(block))` is not what the model said, each answer with something to restore costs a rebased request.
 *
 * Reasoning is handed out as it came: no server takes it back edited.
 */
export function lens({ name, version, hide, restore = (block) => block }: LensDefinition): Layer {
  // For as long as the blocks themselves: a Turn is hidden anew in every step, and most of its blocks are old.
  const hiddenByBlock = new WeakMap<Block, Block>();

  function hiddenOf(block: Block): Block {
    let hidden = hiddenByBlock.get(block);
    if (hidden === undefined) {
      hidden = hide(block).withId(idOf(block));
      hiddenByBlock.set(block, hidden);
    }
    return hidden;
  }

  function restoredOf(said: Block): Block {
    if (said.kind === "reasoning") return said;
    const restored = restore(said).withId(idOf(said));
    // The provider's own block goes back to it where the words are the same: with its item id, and as a reference.
    if (restored !== said && hiddenOf(restored).digest === said.digest) hiddenByBlock.set(restored, said);
    return restored;
  }

  return defineMiddleware({ name, version }, (next) => async (turn) => {
    const hidden = turn.map(hiddenOf);
    const originals = originalsOf(turn, hidden);
    const result = await next(hidden);
    return result.map((block) => originals.get(block) ?? restoredOf(block));
  });
}

/** What each block that was passed on had been made of: itself, where nothing was hidden. */
function originalsOf(turn: Turn, hidden: Turn): ReadonlyMap<Block, Block> {
  const shown = hidden.blocks;
  return new Map(turn.blocks.map((block, index) => [shown[index] ?? block, block]));
}
