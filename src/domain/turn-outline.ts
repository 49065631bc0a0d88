import type { Block, BlockKind } from "./block.ts";
import type { BlockId } from "./ids.ts";
import type { Turn } from "./turn.ts";

/** A block whose content was not read: its identity, and the digest under which its conversation records it. */
export type BlockOutline = { readonly id: BlockId | null; readonly kind: BlockKind; readonly digest: string };

/** A Turn whose contents were not read. Two outlines with equal digests are equal Turns. */
export type TurnOutline = {
  readonly length: number;
  readonly digest: string;
  readonly blocks: readonly BlockOutline[];
};

/** The part of a Turn that is known without its contents. The list is created on first use. */
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
  Object.freeze(blocks.map(({ id, kind, recordedAs: digest }) => Object.freeze({ id, kind, digest })));
