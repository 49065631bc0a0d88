import type { Block } from "../../domain/block.ts";
import { type BlockJson, blockFromJson } from "../../domain/block-json.ts";
import type { BlockContent, Edit } from "../../domain/edits.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
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

/** The blocks that an event holds, in its order. */
export function blocksIn(event: ConversationEvent): readonly BlockJson[] {
  switch (event.type) {
    case "BlockAppended":
      return [event.data.block];
    case "ResponseReceived":
      return event.data.output;
    case "ToolFinished":
      return [event.data.result];
    case "TurnEdited":
    case "TurnReverted":
      return event.data.edits.flatMap(contentsOf).flatMap((content) => ("block" in content ? [content.block] : []));
    default:
      return [];
  }
}

function contentsOf(edit: Edit): readonly BlockContent[] {
  if (edit.op === "insert") return edit.blocks;
  return edit.op === "replace" ? [edit.block] : [];
}
