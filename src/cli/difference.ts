import type { ChangedBlock, PlacedBlock, TurnChanges } from "../conversation/turn-changes.ts";
import type { Actor } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";
import { type BlockJson, blockFromJson, blockToJson } from "../domain/block-json.ts";
import type { Turn } from "../domain/turn.ts";
import { actorLabel, blockLabel, counted, printable } from "../projections/wording.ts";
import type { DifferenceDocument } from "./documents/differences.ts";
import type { Style } from "./screen.ts";

/** A block as documents show it: as its event holds it, with its place in the Turn. */
export const blockDocument = (block: Block, index: number) => ({ index, ...blockToJson(block), digest: block.digest });

export const turnDocument = (turn: Turn) => turn.blocks.map(blockDocument);

/** What differs, with who made it so. */
export function differenceDocumentOf({ added, removed, modified, moved }: TurnChanges): DifferenceDocument {
  const placed = ({ block, index }: PlacedBlock) => blockDocument(block, index);
  const changed = (each: ChangedBlock) => ({ ...placed(each), by: each.by });
  return {
    added: added.map(changed),
    removed: removed.map(changed),
    modified: modified.map(({ before, after, by }) => ({ before: placed(before), after: placed(after), by })),
    moved: moved.map(changed),
  };
}

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
