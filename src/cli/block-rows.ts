import type { JsonObject } from "../base/json.ts";
import type { Block } from "../domain/block.ts";
import { blockToJson } from "../domain/block-json.ts";
import type { Turn } from "../domain/turn.ts";
import { type Blame, lastChange } from "../projections/blame.ts";
import { actorLabel, blockLabel, excerpt } from "../projections/wording.ts";
import { eventPlace } from "./open-place.ts";
import type { Style } from "./style.ts";
import type { Cell } from "./table.ts";

/** A block as `--json` shows it: as its event holds it, with its place and its digest. */
export const blockData = (block: Block, index: number): JsonObject => ({
  index,
  ...blockToJson(block),
  digest: block.digest,
});

export const turnData = (turn: Turn): readonly JsonObject[] => turn.blocks.map(blockData);

type Rows = {
  /** The conversation's own. */
  readonly stream: string;
  readonly blame: ReadonlyMap<string, Blame>;
  readonly style: Style;
  /** What each block is, where a timeline tells it better than the block itself. */
  readonly labels: ReadonlyMap<string, string>;
  /** The first block to show. */
  readonly from?: number;
};

/** One line a block: place, kind, who last changed it, how it begins. */
export function turnRows(turn: Turn, { from = 0, ...rows }: Rows): readonly (readonly Cell[])[] {
  return turn.after(from).map((block, offset) => blockRow(block, from + offset, rows));
}

export function blockRow(block: Block, index: number, { blame, style, labels, stream }: Rows): readonly Cell[] {
  const change = block.id === null ? null : lastChange(blame, block);
  return [
    { text: String(index).padStart(4), style: style.bold },
    labels.get(block.id ?? "") ?? blockLabel(block),
    { text: change === null ? "" : `${actorLabel(change.actor)} ${eventPlace(change, stream)}`, style: style.dim },
    excerpt(block.text, 160),
  ];
}
