import { anything, checkFunction, kindOf, optionsOf, required } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";
import { Block, idOf } from "../domain/block.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/stack/middleware.ts";

/** Where a block stands, as the client has it. */
export type LensPlace = {
  readonly conversationId: ConversationId;
  /** The blocks ahead of it, with what the model is not shown. What comes behind it is not there: it would change what was sent before. */
  readonly before: readonly Block[];
};

export type LensDefinition = {
  readonly name: string;
  readonly version: string;
  /** What the model sees of a block. It depends on nothing but the block and its place; the same object says that nothing is hidden. */
  readonly hide: (block: Block, place: LensPlace) => Block;
  /** What the client sees of a block that came in the answer; `hide` of it is what the model said. */
  readonly restore?: (block: Block, place: LensPlace) => Block;
};

const lensOptions = optionsOf<LensDefinition>({
  ...{ name: anything, version: anything },
  ...{ hide: required<LensDefinition["hide"]>(checkFunction), restore: checkFunction },
});

/** What a block is shown as behind the blocks that were ahead of it then. */
type Shown = { readonly form: Block; readonly conversationId: string; readonly ahead: Shown | null };

/**
 * A layer that shows the model another form of each block than the client keeps: redaction, shortening, translation.
 *
 * On the way back every hidden form gives way to the very block that it was made of, so the Turn keeps its authors, and
 * blocks that the answer brought are restored. Hidden forms are the same in every step, so requests stay chained. Where
 * `hide(restore(block))` is not what the model said, the next request goes on from before that answer, and where every answer is
 * rewritten so, each request sends the whole Turn.
 *
 * Reasoning is handed out as it came: no server takes it back edited.
 */
export function lens(definition: LensDefinition): Layer {
  lensOptions.checkNames("lens", definition);
  const { name, version, hide, restore = (block: Block) => block } = definition;
  lensOptions.checkValues(`lens '${name}': `, definition);
  // For as long as the blocks themselves: a Turn is hidden anew in every step, and most of its blocks are old.
  const shownByBlock = new WeakMap<Block, Shown>();

  /** Goes through the blocks of a conversation from the first on, and hides them where what they are shown as is asked for. */
  function walk(conversationId: ConversationId) {
    const blocks: Block[] = [];
    let length = 0;
    let ahead: Shown | null = null;
    const note = (block: Block, shown: Shown): void => {
      shownByBlock.set(block, shown);
      ahead = shown;
      length += 1;
    };
    const hiddenNext = (block: Block): Block =>
      blockOf(`lens '${name}': hide`, hide(block, placeAt(conversationId, blocks, length))).withId(idOf(block));
    const hideUpTo = (end: number): void => {
      for (const block of blocks.slice(length, end)) {
        const known = shownByBlock.get(block);
        const isSame = known?.conversationId === conversationId && known.ahead === ahead;
        note(block, isSame ? known : { form: hiddenNext(block), conversationId, ahead });
      }
    };
    const pass = (block: Block): Block => {
      blocks.push(block);
      return block;
    };
    const show = (block: Block): Block => {
      pass(block);
      hideUpTo(blocks.length);
      return ahead?.form ?? block;
    };
    const restored = (said: Block): Block => {
      const place = placeAt(conversationId, blocks, blocks.length);
      const block = said.kind === "reasoning" ? said : blockOf(`lens '${name}': restore`, restore(said, place));
      const meant = block.withId(idOf(said));
      if (meant === said) return pass(said);
      hideUpTo(blocks.length);
      const form = hiddenNext(meant);
      // The provider's own block goes back to it where the words are the same: with its item id, and as a reference.
      note(meant, { form: form.digest === said.digest ? said : form, conversationId, ahead });
      return pass(meant);
    };
    return { pass, show, restored };
  }

  return defineMiddleware({ name, version }, (next) => async (turn, { conversationId }) => {
    const { show } = walk(conversationId);
    const hidden = turn.map(show);
    const originals = originalsOf(turn, hidden);
    const result = await next(hidden);
    const { pass, restored } = walk(conversationId);
    return result.map((block) => {
      const original = originals.get(block);
      return original === undefined ? restored(block) : pass(original);
    });
  });
}

/** The blocks ahead are listed when they are asked for: most lenses look at the block alone. */
function placeAt(conversationId: ConversationId, blocks: readonly Block[], length: number): LensPlace {
  return Object.freeze({
    conversationId,
    get before() {
      return Object.freeze(blocks.slice(0, length));
    },
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
