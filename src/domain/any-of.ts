import type { Block } from "./block.ts";

/** Returns a test for the given blocks: by id, so that it matches newer versions from other Turns; drafts by object. */
export function anyOf(blocks: readonly Block[]): (block: Block) => boolean {
  const [objects, ids] = [new Set(blocks), new Set(blocks.map((block) => block.id))];
  return (block) => objects.has(block) || (block.id !== null && ids.has(block.id));
}
