import { isJsonList } from "../../base/json.ts";
import { Block } from "../../domain/block.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { Envelope } from "../ports/event-store.ts";
import { decodeData } from "./data.ts";

/** Names whose key an erasure has renewed: blocks with such names were read before it. */
const replaced = new WeakSet<BlockNames>();

/** The blocks that erasures have emptied, by the names of their conversation: one set for the names before and after. */
const erasedByNames = new WeakMap<BlockNames, Set<string>>();

/** Notes the blocks that a `LinesErased` names. */
export function noteErasedBlocks(names: BlockNames, envelope: Envelope): void {
  const erased = erasedByNames.get(names) ?? new Set();
  erasedByNames.set(names, erased);
  for (const id of blockIdsIn(envelope)) erased.add(id);
}

/** An erasure has renewed the key of a conversation's names. */
export function noteReplaced(before: BlockNames, after: BlockNames): void {
  if (before === after) return;
  replaced.add(before);
  const erased = erasedByNames.get(before) ?? new Set();
  erasedByNames.set(before, erased);
  erasedByNames.set(after, erased);
}

/**
 * Whether a block, or the block that it was made from, was read before its content was erased.
 *
 * @param current - The names of the conversation that it is handed to. In a copy of the store where nothing was erased they are those that
 *   the erasure has replaced in the other one.
 */
export function isFromBeforeErasure(block: Block, current: BlockNames): boolean {
  const names = Block.namesOf(block);
  if (names === undefined || names === current || block.id === null || !replaced.has(names)) return false;
  return erasedByNames.get(names)?.has(block.id) === true;
}

function blockIdsIn(envelope: Envelope): readonly string[] {
  try {
    const { blockIds } = decodeData(envelope).data;
    return isJsonList(blockIds) ? blockIds.filter((id) => typeof id === "string") : [];
  } catch {
    // A fold stops at the damage.
    return [];
  }
}
