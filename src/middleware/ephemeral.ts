import { anything, choiceOf, kindOf, optionsOf } from "../base/options.ts";
import { Block } from "../domain/block.ts";
import type { BlockNames } from "../domain/block-names.ts";
import type { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/ports/middleware.ts";

export type EphemeralOptions = {
  /** Distinguishes two such layers of one stack, also in the log. */
  readonly name?: string;
  /** At the start of the Turn, or at its end. */
  readonly at?: "start" | "end";
};

const ephemeralOptions = optionsOf<EphemeralOptions>({ name: anything, at: choiceOf("start", "end") });

/**
 * Shows the model blocks that the Turn does not keep: the layer inserts them into each request and removes them from its result.
 *
 * The cost depends on the place. At the `end` (the default) every context that a server holds contains the blocks where the next
 * request does not have them, so no request is ever chained. At the `start` the blocks keep their place, and requests stay chained.
 * Two alternatives are cheaper: for a text that is the same during a whole run, `ctx.instructions(text)`, which is in no context;
 * for blocks that may stay in the conversation, `turn.insertOnce(key, block)`, which is sent once.
 */
export function ephemeral(blocks: readonly Block[], options: EphemeralOptions = {}): Layer {
  ephemeralOptions.check("ephemeral", options);
  const { name = "ephemeral", at = "end" } = options;
  checkBlocks(blocks);
  const config = { at, blocks: blocks.map(({ digest }) => digest) };
  return defineMiddleware({ name, version: "1.0.0", config }, (next) => async (turn) => {
    const names = namesOf(turn);
    const shown = blocks.reduce(
      // The key is the same in every step, so the log stores the blocks once and refers to them afterwards. The key becomes an id, which
      // stays when the block's content is erased, so it has the name of the content, and no digest.
      (into, block, index) =>
        into.insertOnce(
          `${name} ${index} ${names?.nameOf(block.digest) ?? ""}`,
          block,
          at === "start" ? index : into.length,
        ),
      turn,
    );
    const own = shown.blocks.filter(({ id }) => id !== null && turn.find(id) === undefined);
    return (await next(shown)).remove(...own);
  });
}

/** The names under which the conversation records blocks; undefined if the Turn has no recorded one. */
function namesOf(turn: Turn): BlockNames | undefined {
  for (const block of turn.blocks) {
    const names = Block.namesOf(block);
    if (names !== undefined) return names;
  }
  return undefined;
}

function checkBlocks(blocks: readonly Block[]): void {
  const given: unknown = blocks;
  const list: readonly unknown[] = Array.isArray(given) ? given : [];
  const odd = list.findIndex((block) => !(block instanceof Block));
  if (!Array.isArray(given))
    throw new TypeError(`ephemeral takes a list of blocks, not ${kindOf(given)}: write [user("…")]`);
  if (odd >= 0) throw new TypeError(`ephemeral: item ${odd} is ${kindOf(list[odd])}, not a block: write user("…")`);
}
