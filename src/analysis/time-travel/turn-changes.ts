import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { BlockId } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { type TurnDifference, turnDifference } from "../../domain/turn-difference.ts";
import { type KnownLabels, labelIn } from "../descriptions/labels.ts";

/** A block, and its place in its Turn, from 0. */
export type PlacedBlock = { readonly index: number; readonly block: Block };

/** Who changed a block (null if unknown), and a word or two for it: `tool_result weather`. */
export type BlockLabel = { readonly by: Actor | null; readonly label: string };

/** A block that was added, removed or moved, and by whom. */
export type ChangedBlock = PlacedBlock & BlockLabel;

/** The differences of two Turns, and who made them. A block that was moved and modified is in both lists. */
export type TurnChanges = {
  /** With their places in the later Turn. */
  readonly added: readonly ChangedBlock[];
  /** With their places in the earlier Turn. */
  readonly removed: readonly ChangedBlock[];
  /** Blocks that have other content under the same id. */
  readonly modified: readonly (BlockLabel & { readonly before: PlacedBlock; readonly after: PlacedBlock })[];
  /** With their places in the later Turn. */
  readonly moved: readonly ChangedBlock[];
};

/** Who added, removed or moved a block; null if unknown. */
export type Changers = {
  readonly authorOf: (block: Block) => Actor | null;
  readonly removerOf: (block: Block) => Actor | null;
  readonly moverOf: (block: Block) => Actor | null;
};

/** One actor made all changes. */
export const changedBy = (actor: Actor | null): Changers => ({
  authorOf: () => actor,
  removerOf: () => actor,
  moverOf: () => actor,
});

/** The differences, and who made them: blocks by their places in the Turns. */
export function turnChanges(
  { added, removed, modified, moved }: TurnDifference,
  { from, to, labels }: { readonly from: Turn; readonly to: Turn; readonly labels: KnownLabels },
  { authorOf, removerOf, moverOf }: Changers,
): TurnChanges {
  const labelled = (block: Block, by: Actor | null): BlockLabel => {
    return { by, label: labelIn(labels, block) };
  };
  const placed = (turn: Turn, block: Block): PlacedBlock => ({ index: placeIn(turn, block), block });
  return {
    added: added.map((block) => ({ ...placed(to, block), ...labelled(block, authorOf(block)) })),
    removed: removed.map((block) => ({ ...placed(from, block), ...labelled(block, removerOf(block)) })),
    modified: modified.map(({ before, after }) => ({
      before: placed(from, before),
      after: placed(to, after),
      ...labelled(after, authorOf(after)),
    })),
    moved: moved.map((block) => ({ ...placed(to, block), ...labelled(block, moverOf(block)) })),
  };
}

/** Blocks of equal content may have been matched under the id of the other Turn's block. */
function placeIn(turn: Turn, block: Block): number {
  const index = turn.indexOf(idOf(block));
  return index >= 0 ? index : turn.blocks.findIndex(({ digest }) => digest === block.digest);
}

type Lists = Readonly<Record<keyof TurnDifference, readonly unknown[]>>;

export const isEmptyDifference = ({ added, removed, modified, moved }: Lists): boolean =>
  added.length + removed.length + modified.length + moved.length === 0;

/** The differences between the Turns of two conversations, whose blocks share no ids: matches blocks of equal content, in their order. */
export function differenceByContent(from: Turn, to: Turn): TurnDifference {
  const idsByDigest = Map.groupBy(from.blocks, ({ digest }) => digest);
  const unpaired = new Map([...idsByDigest].map(([digest, blocks]) => [digest, blocks.map(({ id }) => id)]));
  return turnDifference(from, Turn.of(to.blocks.map((block) => block.withId(pairedId(block, unpaired)))));
}

function pairedId(block: Block, unpaired: ReadonlyMap<string, (BlockId | null)[]>): BlockId | null {
  return unpaired.get(block.digest)?.shift() ?? block.id;
}
