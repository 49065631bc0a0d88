import type { Block } from "./block.ts";

/** A user's block and what followed it, up to the next user's block. */
export type Exchange = {
  /** The place of the first block in the Turn, and the place behind the last. */
  readonly start: number;
  readonly end: number;
  readonly blocks: readonly Block[];
};

/** The exchanges in a Turn's blocks; what comes before the first user's block belongs to none. */
export function exchangesIn(blocks: readonly Block[]): readonly Exchange[] {
  const starts = blocks.flatMap(({ kind }, index) => (kind === "user" ? [index] : []));
  return Object.freeze(starts.map((start, index) => stretch(blocks, start, starts[index + 1] ?? blocks.length)));
}

/** Lists its blocks when it is asked for them. */
function stretch(whole: readonly Block[], start: number, end: number): Exchange {
  let blocks: readonly Block[] | undefined;
  return Object.freeze({
    start,
    end,
    get blocks() {
      blocks ??= Object.freeze(whole.slice(start, end));
      return blocks;
    },
  });
}
