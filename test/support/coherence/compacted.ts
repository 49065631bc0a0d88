import type { Block } from "../../../src/domain/block.ts";

/**
 * What is left of blocks whose oldest exchanges are left out, told anew from what docs/CONTEXT.md promises: the newest `keep`
 * exchanges stay, else the newest `keep` steps of the only one, what the system said stays, and no call is parted from its result.
 */
export function compacted(blocks: readonly Block[], keep: number): readonly Block[] {
  const users = placesOf(blocks, ({ kind }) => kind === "user");
  const [first] = users;
  const newest = users.at(-1);
  if (first === undefined || newest === undefined) return blocks;
  const older = users.filter((place, n) => n > 0 && users.length - n >= keep && isClosedAt(blocks, first, place));
  const end = older.at(-1);
  if (end !== undefined) return without(blocks, first, end);
  const steps = placesOf(
    blocks,
    (block, at) =>
      at > newest && (at === newest + 1 || (blocks[at - 1]?.kind === "tool_result" && block.kind !== "tool_result")),
  );
  const closed = steps.filter((place, n) => n > 0 && steps.length - n >= keep && isClosedAt(blocks, newest, place));
  return without(blocks, newest + 1, closed.at(-1) ?? 0);
}

const placesOf = (blocks: readonly Block[], is: (block: Block, at: number) => boolean): readonly number[] =>
  blocks.flatMap((block, at) => (is(block, at) ? [at] : []));

const without = (blocks: readonly Block[], start: number, end: number): readonly Block[] =>
  blocks.filter(({ kind }, at) => at < start || at >= end || kind === "system");

/** Whether each call between two places has a result there: as many results of its id follow it as calls. */
function isClosedAt(blocks: readonly Block[], start: number, end: number): boolean {
  const open = new Map<string | null, number>();
  for (const { kind, callId, wire } of blocks.slice(start, end)) {
    const before = open.get(callId) ?? 0;
    if (kind === "tool_call" && wire?.partial !== true) open.set(callId, before + 1);
    if (kind === "tool_result" && before > 0) open.set(callId, before - 1);
  }
  return [...open.values()].every((count) => count === 0);
}
