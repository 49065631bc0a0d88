import { anything, checkFunction, kindOf, optionsOf, required } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";
import { Block, idOf } from "../domain/block.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { DeltaRule } from "../engine/stack/deltas.ts";
import { defineMiddleware, type Layer } from "../engine/stack/middleware.ts";

/** The place of a block, as the client sees it. */
export type LensPlace = {
  readonly conversationId: ConversationId;
  /**
   * The blocks before it, including those that the model does not see. Blocks after it are absent, because depending on them would
   * change earlier requests.
   */
  readonly before: readonly Block[];
};

export type LensDefinition = {
  readonly name: string;
  readonly version: string;
  /** Returns the model's form of a block. It must depend only on the block and its place. Return the same object to hide nothing. */
  readonly hide: (block: Block, place: LensPlace) => Block;
  /** Returns the client's form of a block of the answer. `hide` of it should give what the model said. */
  readonly restore?: (block: Block, place: LensPlace) => Block;
  /** The same for the texts of an answer while they arrive, as in `defineMiddleware`. Without it, readers see the model's form until the end. */
  readonly deltas?: DeltaRule;
};

const lensOptions = optionsOf<LensDefinition>({
  ...{ name: anything, version: anything },
  ...{ hide: required<LensDefinition["hide"]>(checkFunction), restore: checkFunction, deltas: checkFunction },
});

/** The form of a block that the model sees, after these blocks before it. */
type Shown = { readonly form: Block; readonly conversationId: string; readonly ahead: Shown | null };

/**
 * A layer that shows the model another form of each block than the client keeps: redaction, shortening, translation.
 *
 * On the way back the layer replaces every hidden form with the original block, so the Turn keeps its authors, and passes the
 * blocks of the answer to `restore`. Hidden forms are the same in every step, so requests stay chained. If `hide(restore(block))`
 * differs from what the model said, the next request continues from before that answer; if every answer is rewritten like that,
 * each request sends the whole Turn.
 *
 * Reasoning stays as it came, because no server accepts it edited.
 */
export function lens(definition: LensDefinition): Layer {
  lensOptions.checkNames("lens", definition);
  const { name, version, hide, restore = (block: Block) => block, deltas } = definition;
  lensOptions.checkValues(`lens '${name}': `, definition);
  // A cache that lives as long as the blocks: each step hides the Turn again, and most of its blocks are old.
  const shownByBlock = new WeakMap<Block, Shown>();

  /** Walks through the blocks of a conversation from the first, and hides them only when their hidden form is needed. */
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
      // If the hidden form equals what the model said, the provider gets its own block back, with its item id and by reference.
      note(meant, { form: Block.areEqual(form, said) ? said : form, conversationId, ahead });
      return pass(meant);
    };
    return { pass, show, restored };
  }

  const identity = { name, version, ...(deltas === undefined ? {} : { deltas }) };
  return defineMiddleware(identity, (next) => async (turn, { conversationId }) => {
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

/** Lists the earlier blocks lazily, because most lenses look only at the block itself. */
function placeAt(conversationId: ConversationId, blocks: readonly Block[], length: number): LensPlace {
  return Object.freeze({
    conversationId,
    get before() {
      return Object.freeze(blocks.slice(0, length));
    },
  });
}

/** @throws {TypeError} if it is not a block. */
function blockOf(where: string, given: unknown): Block {
  if (given instanceof Block) return given;
  unwatched(given);
  throw new TypeError(
    `${where} returned ${kindOf(given)}, but must return a block synchronously: write block.withText(…)`,
  );
}

/** Maps each block that was passed on to its original: itself, if nothing was hidden. */
function originalsOf(turn: Turn, hidden: Turn): ReadonlyMap<Block, Block> {
  const shown = hidden.blocks;
  return new Map(turn.blocks.map((block, index) => [shown[index] ?? block, block]));
}
