import type { Block, BlockKind } from "./block.ts";
import type { BlockId } from "./ids.ts";
import type { Turn } from "./turn.ts";

/** A block whose content was not read: what names it, and the digest that its content is equal by. */
export type BlockOutline = { readonly id: BlockId | null; readonly kind: BlockKind; readonly digest: string };

/** A Turn whose contents were not read. Equal digests are equal Turns, as those of a `Turn` are. */
export type TurnOutline = {
  readonly length: number;
  readonly digest: string;
  readonly blocks: readonly BlockOutline[];
};

/** What of a Turn is known without its contents; the list is made when it is looked at. */
export function outlineOf(turn: Turn): TurnOutline {
  let blocks: readonly BlockOutline[] | undefined;
  return Object.freeze({
    length: turn.length,
    get digest() {
      return turn.digest;
    },
    get blocks() {
      blocks ??= blockOutlines(turn.blocks);
      return blocks;
    },
  });
}

export const blockOutlines = (blocks: readonly Block[]): readonly BlockOutline[] =>
  Object.freeze(blocks.map(({ id, kind, digest }) => Object.freeze({ id, kind, digest })));
