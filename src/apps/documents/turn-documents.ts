import type { ChangedBlock, PlacedBlock, TurnChanges } from "../../analysis/time-travel/turn-changes.ts";
import type { Block } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { Turn } from "../../domain/turn.ts";
import type { DifferenceDocument } from "./differences.ts";

/** A block in a document: as its event holds it, with its place in the Turn. */
export const blockDocument = (block: Block, index: number) => ({
  index,
  ...blockToJson(block),
  digest: block.recordedAs,
});

export const turnDocument = (turn: Turn) => turn.blocks.map(blockDocument);

/** The changes, each with its author. */
export function differenceDocumentOf({ added, removed, modified, moved }: TurnChanges): DifferenceDocument {
  const placed = ({ block, index }: PlacedBlock) => blockDocument(block, index);
  const changed = (each: ChangedBlock) => ({ ...placed(each), by: each.by, label: each.label });
  return {
    added: added.map(changed),
    removed: removed.map(changed),
    modified: modified.map(({ before, after, ...rest }) => ({ before: placed(before), after: placed(after), ...rest })),
    moved: moved.map(changed),
  };
}
