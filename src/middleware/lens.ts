import { anything, checkFunction, kindOf, optionsOf, required } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";
import { Block } from "../domain/block.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { DeltaRule } from "../engine/ports/deltas.ts";
import { defineMiddleware, type Layer } from "../engine/ports/middleware.ts";
import { createView, type ViewedPlace } from "./view.ts";

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
  const view = createView<null>(null, {
    hide: (block, place) => ({ form: blockOf(`lens '${name}': hide`, hide(block, placeOf(place))), known: null }),
    restore: (said, place) => blockOf(`lens '${name}': restore`, restore(said, placeOf(place))),
  });
  return defineMiddleware(
    { name, version, ...(deltas === undefined ? {} : { deltas }) },
    (next) => async (turn, ctx) => {
      const shown = view.show(turn, ctx);
      return shown.restore(await next(shown.turn));
    },
  );
}

/** Lists the earlier blocks lazily, because most lenses look only at the block itself. */
const placeOf = ({ conversationId, blocks, length }: ViewedPlace): LensPlace =>
  Object.freeze({
    conversationId,
    get before() {
      return Object.freeze(blocks.slice(0, length));
    },
  });

/** @throws {TypeError} if it is not a block. */
function blockOf(where: string, given: unknown): Block {
  if (given instanceof Block) return given;
  unwatched(given);
  throw new TypeError(
    `${where} returned ${kindOf(given)}, but must return a block synchronously: write block.withText(…)`,
  );
}
