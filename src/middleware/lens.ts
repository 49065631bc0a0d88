import { checkFunction, checkOptions, kindOf, type OptionNames } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";
import { Block, idOf } from "../domain/block.ts";
import type { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/stack/middleware.ts";

export type LensDefinition = {
  readonly name: string;
  readonly version: string;
  /** What the model sees of a block. It depends on nothing but the block; the same object says that nothing is hidden. */
  readonly hide: (block: Block) => Block;
  /** What the client sees of a block that came in the answer; `hide` of it is what the model said. */
  readonly restore?: (block: Block) => Block;
};

const lensNames: OptionNames<LensDefinition> = { name: true, version: true, hide: true, restore: true };

/**
 * A layer that shows the model another form of each block than the client keeps: redaction, shortening, translation.
 *
 * On the way back every hidden form gives way to the very block that it was made of, so the Turn keeps its authors, and
 * blocks that the answer brought are restored. Hidden forms are the same in every step, so requests stay chained; where
 * `hide(restore(block))` is not what the model said, each answer with something to restore costs a rebased request.
 *
 * Reasoning is handed out as it came: no server takes it back edited.
 */
export function lens(definition: LensDefinition): Layer {
  checkOptions("lens", definition, lensNames);
  const { name, version, hide, restore = (block: Block) => block } = definition;
  checkFunction(`lens '${name}': hide`, hide);
  checkFunction(`lens '${name}': restore`, restore);
  // For as long as the blocks themselves: a Turn is hidden anew in every step, and most of its blocks are old.
  const hiddenByBlock = new WeakMap<Block, Block>();

  function hiddenOf(block: Block): Block {
    let hidden = hiddenByBlock.get(block);
    if (hidden === undefined) {
      hidden = blockOf(`lens '${name}': hide`, hide(block)).withId(idOf(block));
      hiddenByBlock.set(block, hidden);
    }
    return hidden;
  }

  function restoredOf(said: Block): Block {
    if (said.kind === "reasoning") return said;
    const restored = blockOf(`lens '${name}': restore`, restore(said)).withId(idOf(said));
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

/** @throws {TypeError} for what is no block: what is hidden is found again by the block that it was made of. */
function blockOf(where: string, given: unknown): Block {
  if (given instanceof Block) return given;
  unwatched(given);
  throw new TypeError(`${where} gave ${kindOf(given)}, and has to give a block at once: write block.withText(…)`);
}

/** What each block that was passed on had been made of: itself, where nothing was hidden. */
function originalsOf(turn: Turn, hidden: Turn): ReadonlyMap<Block, Block> {
  const shown = hidden.blocks;
  return new Map(turn.blocks.map((block, index) => [shown[index] ?? block, block]));
}
