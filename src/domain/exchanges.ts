import type { Block } from "./block.ts";

/** A user's block and the blocks after it, up to the next user's block. */
export type Exchange = {
  /** The index of the first block in the Turn, and the index after the last. */
  readonly start: number;
  readonly end: number;
  readonly blocks: readonly Block[];
};

/** The exchanges among a Turn's blocks. Blocks before the first user's block belong to none. */
export function exchangesIn(blocks: readonly Block[]): readonly Exchange[] {
  const starts = blocks.flatMap(({ kind }, index) => (kind === "user" ? [index] : []));
  return Object.freeze(starts.map((start, index) => stretch(blocks, start, starts[index + 1] ?? blocks.length)));
}

/** Creates the list of its blocks on first use. */
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
