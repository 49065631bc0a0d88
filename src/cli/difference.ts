import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import { type BlockJson, blockFromJson, blockToJson } from "../domain/block-json.ts";
import type { BlockId } from "../domain/ids.ts";
import { Turn } from "../domain/turn.ts";
import { type TurnDifference, turnDifference } from "../domain/turn-difference.ts";
import { actorLabel, blockLabel, counted, printable } from "../projections/wording.ts";
import type { DifferenceDocument } from "./documents/differences.ts";
import type { Style } from "./screen.ts";

/** Who brought, took out or moved a block; null where that is not known. */
export type Changers = {
  readonly authorOf: (block: Block) => Actor | null;
  readonly removerOf: (block: Block) => Actor | null;
  readonly moverOf: (block: Block) => Actor | null;
};

/** One actor did it all. */
export const changedBy = (actor: Actor | null): Changers => ({
  authorOf: () => actor,
  removerOf: () => actor,
  moverOf: () => actor,
});

/** A block as documents show it: as its event holds it, with its place in the Turn. */
export const blockDocument = (block: Block, index: number) => ({ index, ...blockToJson(block), digest: block.digest });

export const turnDocument = (turn: Turn) => turn.blocks.map(blockDocument);

/** What differs, with who made it so: blocks by their places in the Turns. */
export function differenceOf(
  { added, removed, modified, moved }: TurnDifference,
  { from, to }: { readonly from: Turn; readonly to: Turn },
  { authorOf, removerOf, moverOf }: Changers,
): DifferenceDocument {
  const told = (turn: Turn, block: Block) => blockDocument(block, placeIn(turn, block));
  return {
    added: added.map((block) => ({ ...told(to, block), by: authorOf(block) })),
    removed: removed.map((block) => ({ ...told(from, block), by: removerOf(block) })),
    modified: modified.map(({ before, after }) => ({
      before: told(from, before),
      after: told(to, after),
      by: authorOf(after),
    })),
    moved: moved.map((block) => ({ ...told(to, block), by: moverOf(block) })),
  };
}

/** Blocks of equal content may have been taken for one block, under the id of the other Turn's. */
function placeIn(turn: Turn, block: Block): number {
  const index = turn.indexOf(idOf(block));
  return index >= 0 ? index : turn.blocks.findIndex(({ digest }) => digest === block.digest);
}

export const isEmptyDifference = ({ added, removed, modified, moved }: TurnDifference | DifferenceDocument): boolean =>
  added.length + removed.length + modified.length + moved.length === 0;

/** A difference in lines: what was there before after `-`, what is there now after `+`. */
export function differenceLines(
  { added, removed, modified, moved }: DifferenceDocument,
  style: Style,
): readonly string[] {
  const head = (what: string, json: BlockJson, actor: Actor | null): string =>
    style.bold(`${what} ${blockLabel(blockFromJson(json))}`) +
    (actor === null ? "" : style.dim(`  by ${actorLabel(actor)}`));
  const text = (mark: string, json: BlockJson, styled: (line: string) => string): readonly string[] =>
    printable(blockFromJson(json).text)
      .split("\n")
      .map((line) => styled(`${mark} ${line}`));
  return [
    ...removed.flatMap((block) => [head("removed", block, block.by), ...text("-", block, style.bad)]),
    ...added.flatMap((block) => [head("added", block, block.by), ...text("+", block, style.good)]),
    ...modified.flatMap(({ before, after, by }) => [
      head("modified", after, by),
      ...text("-", before, style.bad),
      ...text("+", after, style.good),
    ]),
    ...moved.map((block) => head("moved", block, block.by)),
  ];
}

export const differenceCounts = ({ added, removed, modified, moved }: DifferenceDocument): string =>
  [
    `${counted(added.length, "block")} added`,
    `${removed.length} removed`,
    `${modified.length} modified`,
    `${moved.length} moved`,
  ].join(", ");

/**
 * What differs between the Turns of two conversations, whose blocks share no ids: blocks of equal content are taken for
 * one block, in their order.
 */
export function differenceByContent(from: Turn, to: Turn): TurnDifference {
  const idsByDigest = Map.groupBy(from.blocks, ({ digest }) => digest);
  const unpaired = new Map([...idsByDigest].map(([digest, blocks]) => [digest, blocks.map(({ id }) => id)]));
  return turnDifference(from, Turn.of(to.blocks.map((block) => block.withId(pairedId(block, unpaired)))));
}

function pairedId(block: Block, unpaired: ReadonlyMap<string, (BlockId | null)[]>): BlockId | null {
  return unpaired.get(block.digest)?.shift() ?? block.id;
}
