import type { Block } from "./block.ts";

/** Tells the given blocks by id, so that one from an older Turn is found in its present form; drafts by object. */
export function anyOf(blocks: readonly Block[]): (block: Block) => boolean {
  const [objects, ids] = [new Set(blocks), new Set(blocks.map((block) => block.id))];
  return (block) => objects.has(block) || (block.id !== null && ids.has(block.id));
}
