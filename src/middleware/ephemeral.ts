import { anything, choiceOf, kindOf, optionsOf } from "../base/options.ts";
import { Block } from "../domain/block.ts";
import { defineMiddleware, type Layer } from "../engine/stack/middleware.ts";

export type EphemeralOptions = {
  /** Tells two such layers of one stack apart, in the log too. */
  readonly name?: string;
  /** Before everything else, or after it. */
  readonly at?: "start" | "end";
};

const ephemeralOptions = optionsOf<EphemeralOptions>({ name: anything, at: choiceOf("start", "end") });

/**
 * Shows the model blocks that the Turn does not keep: they are inserted into each request and taken out of its result.
 *
 * What it costs: at the `end` (the default) every context that a server holds contains them in a place where the next
 * request does not, so no request is ever chained. At the `start` the same blocks stand where they stood, and the chain
 * holds. What says the same for a whole run is cheaper as `ctx.instructions(text)`, which no context contains; what may
 * stay in the conversation, as `turn.insertOnce(key, block)`, which is sent once.
 */
export function ephemeral(blocks: readonly Block[], options: EphemeralOptions = {}): Layer {
  ephemeralOptions.check("ephemeral", options);
  const { name = "ephemeral", at = "end" } = options;
  checkBlocks(blocks);
  const config = { at, blocks: blocks.map(({ digest }) => digest) };
  return defineMiddleware({ name, version: "1.0.0", config }, (next) => async (turn) => {
    const shown = blocks.reduce(
      // One name in every step, so that the log holds the blocks once and refers to them from then on.
      (into, block, index) =>
        into.insertOnce(`${name} ${index} ${block.digest}`, block, at === "start" ? index : into.length),
      turn,
    );
    const own = shown.blocks.filter(({ id }) => id !== null && turn.find(id) === undefined);
    return (await next(shown)).remove(...own);
  });
}

function checkBlocks(blocks: readonly Block[]): void {
  const given: unknown = blocks;
  const list: readonly unknown[] = Array.isArray(given) ? given : [];
  const odd = list.findIndex((block) => !(block instanceof Block));
  if (!Array.isArray(given))
    throw new TypeError(`ephemeral takes a list of blocks, not ${kindOf(given)}: write [user("…")]`);
  if (odd >= 0) throw new TypeError(`ephemeral: item ${odd} is ${kindOf(list[odd])}, and no block: write user("…")`);
}
