import { Block, idOf } from "../domain/block.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";

/** The run in which a Turn is shown. */
export type ViewedRun = { readonly conversationId: ConversationId; readonly runId: string };

/** The place of a block: the client's blocks before it are the first `length` ones of `blocks`. */
export type ViewedPlace = {
  readonly conversationId: ConversationId;
  readonly blocks: readonly Block[];
  readonly length: number;
};

/** How the model sees a conversation. `Known` is what earlier blocks say about the forms of later ones. */
export type Viewing<Known> = {
  /** The model's form of a block, and what later blocks have to know. Both must depend only on the block and what is before it. */
  readonly hide: (
    block: Block,
    place: ViewedPlace & { readonly known: Known },
  ) => { readonly form: Block; readonly known: Known };
  /** The client's form of a block of the answer. */
  readonly restore: (said: Block, place: ViewedPlace & RestoringPlace<Known>) => Block;
};

type RestoringPlace<Known> = {
  /** What all blocks say that the model was shown, also those that are not in its result, such as summarised ones. */
  readonly shown: Known;
  /** What the blocks before this one say. */
  readonly known: () => Known;
};

/** A Turn as the model sees it, and the way back. */
export type ShownTurn<Known> = {
  readonly turn: Turn;
  readonly known: Known;
  /** Puts the original in place of every form, and restores the blocks of the answer. */
  restore(result: Turn): Turn;
};

/** The form of a block that the model sees, after these blocks before it. */
type Shown<Known> = {
  readonly form: Block;
  /** What the model said, if the form equals it, and the run in which it did. */
  readonly said?: { readonly block: Block; readonly runId: string };
  readonly known: Known;
  readonly conversationId: string;
  readonly ahead: Shown<Known> | null;
};

/** Shows Turns to the model in another form. It holds nothing but a cache that lives as long as the blocks. */
export function createView<Known>(nothing: Known, { hide, restore }: Viewing<Known>) {
  // Each step shows the Turn again, and most of its blocks are old.
  const shownByBlock = new WeakMap<Block, Shown<Known>>();

  /** Walks through the blocks of a conversation from the first, and hides them only when their hidden form is needed. */
  function walk({ conversationId, runId }: ViewedRun) {
    const blocks: Block[] = [];
    let length = 0;
    let ahead: Shown<Known> | null = null;
    const note = (block: Block, shown: Shown<Known>): void => {
      shownByBlock.set(block, shown);
      ahead = shown;
      length += 1;
    };
    const known = (): Known => (ahead === null ? nothing : ahead.known);
    const hiddenNext = (block: Block): Shown<Known> => {
      const hidden = hide(block, { conversationId, blocks, length, known: known() });
      return { form: hidden.form.withId(idOf(block)), known: hidden.known, conversationId, ahead };
    };
    const hideUpTo = (end: number): void => {
      for (const block of blocks.slice(length, end)) {
        const old = shownByBlock.get(block);
        const isSame = old?.conversationId === conversationId && old.ahead === ahead;
        note(block, isSame ? old : hiddenNext(block));
      }
    };
    const pass = (block: Block): Block => {
      blocks.push(block);
      return block;
    };
    const show = (block: Block): Block => {
      pass(block);
      hideUpTo(blocks.length);
      // The provider gets its own block back, with its item id and its reasoning. Only in the same run: a re-execution of a later one
      // knows no more of what was said than the Turn.
      return ahead?.said?.runId === runId ? ahead.said.block : (ahead?.form ?? block);
    };
    const restored = (said: Block, shown: Known): Block => {
      const knownHere = (): Known => {
        hideUpTo(blocks.length);
        return known();
      };
      const place = { conversationId, blocks, length: blocks.length, shown, known: knownHere };
      const block = said.kind === "reasoning" ? said : restore(said, place);
      const meant = block.withId(idOf(said));
      if (meant === said) return pass(said);
      hideUpTo(blocks.length);
      const hidden = hiddenNext(meant);
      note(meant, Block.areEqual(hidden.form, said) ? { ...hidden, said: { block: said, runId } } : hidden);
      return pass(meant);
    };
    return { known, pass, show, restored };
  }

  return {
    show(turn: Turn, run: ViewedRun): ShownTurn<Known> {
      const { show, known } = walk(run);
      const shown = turn.map(show);
      const originals = originalsOf(turn, shown);
      const knownOfAll = known();
      return {
        turn: shown,
        known: knownOfAll,
        restore(result) {
          const { pass, restored } = walk(run);
          return result.map((block) => {
            const original = originals.get(block);
            return original === undefined ? restored(block, knownOfAll) : pass(original);
          });
        },
      };
    },
  };
}

/** Maps each block that was passed on to its original: itself, if nothing was hidden. */
function originalsOf(turn: Turn, hidden: Turn): ReadonlyMap<Block, Block> {
  const shown = hidden.blocks;
  return new Map(turn.blocks.map((block, index) => [shown[index] ?? block, block]));
}
