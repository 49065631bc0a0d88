import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import type { Turn } from "../domain/turn.ts";
import type { TurnDifference } from "../domain/turn-difference.ts";
import { actorLabel, blockLabel, counted, printable } from "../projections/wording.ts";
import { blockData } from "./block-rows.ts";
import type { Style } from "./style.ts";

/** Who brought, took out or moved a block; null where that is not known. */
export type Changers = {
  readonly authorOf: (block: Block) => Actor | null;
  readonly removerOf: (block: Block) => Actor | null;
  readonly moverOf: (block: Block) => Actor | null;
};

/** Whatever it was, one did it. */
export const changedBy = (actor: Actor | null): Changers => ({
  authorOf: () => actor,
  removerOf: () => actor,
  moverOf: () => actor,
});

export const isEmptyDifference = ({ added, removed, modified, moved }: TurnDifference): boolean =>
  added.length + removed.length + modified.length + moved.length === 0;

/** The difference of two Turns in lines: what was there before after `-`, what is there now after `+`. */
export function differenceLines(difference: TurnDifference, changers: Changers, style: Style): readonly string[] {
  const { added, removed, modified, moved } = difference;
  const head = (what: string, block: Block, actor: Actor | null): string =>
    style.bold(`${what} ${blockLabel(block)}`) + (actor === null ? "" : style.dim(`  by ${actorLabel(actor)}`));
  const text = (mark: string, block: Block, styled: (line: string) => string): readonly string[] =>
    printable(block.text)
      .split("\n")
      .map((line) => styled(`${mark} ${line}`));
  return [
    ...removed.flatMap((block) => [head("removed", block, changers.removerOf(block)), ...text("-", block, style.bad)]),
    ...added.flatMap((block) => [head("added", block, changers.authorOf(block)), ...text("+", block, style.good)]),
    ...modified.flatMap(({ before, after }) => [
      head("modified", after, changers.authorOf(after)),
      ...text("-", before, style.bad),
      ...text("+", after, style.good),
    ]),
    ...moved.map((block) => head("moved", block, changers.moverOf(block))),
  ];
}

/** The same for `--json`: blocks by their places in the Turns, and who changed them. */
export function differenceData(
  { added, removed, modified, moved }: TurnDifference,
  { from, to }: { readonly from: Turn; readonly to: Turn },
  { authorOf, removerOf, moverOf }: Changers,
) {
  const data = (turn: Turn, block: Block) => blockData(block, placeIn(turn, block));
  return {
    added: added.map((block) => ({ ...data(to, block), by: authorOf(block) })),
    removed: removed.map((block) => ({ ...data(from, block), by: removerOf(block) })),
    modified: modified.map(({ before, after }) => ({
      before: data(from, before),
      after: data(to, after),
      by: authorOf(after),
    })),
    moved: moved.map((block) => ({ ...data(to, block), by: moverOf(block) })),
  };
}

/** Blocks of equal content may have been taken for one block, under the id of the other Turn's. */
function placeIn(turn: Turn, block: Block): number {
  const index = turn.indexOf(idOf(block));
  return index >= 0 ? index : turn.blocks.findIndex(({ digest }) => digest === block.digest);
}

export const differenceCounts = ({ added, removed, modified, moved }: TurnDifference): string =>
  [
    `${counted(added.length, "block")} added`,
    `${removed.length} removed`,
    `${modified.length} modified`,
    `${moved.length} moved`,
  ].join(", ");
