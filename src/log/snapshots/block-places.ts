import type { Block } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";

/** Where the log holds a block: the event, and the how-many-th of its blocks it is. */
export type BlockPlace = { readonly stream: string; readonly revision: number; readonly index: number };

// By object: two versions of a block may differ in no more than what the provider said of them.
const placeByBlock = new WeakMap<Block, BlockPlace>();

/** Where a block that was read from an event is stored; null for one that no event holds yet. */
export const placeOf = (block: Block): BlockPlace | null => placeByBlock.get(block) ?? null;

export function setPlace(block: Block, place: BlockPlace): void {
  placeByBlock.set(block, place);
}

/** Notes where the blocks of an event are stored. */
export function notePlaces({ event, stream, revision }: RecordedEvent): void {
  for (const [index, json] of blocksIn(event).entries()) {
    const block = blockFromJson(json);
    if (!placeByBlock.has(block)) placeByBlock.set(block, { stream, revision, index });
  }
}
