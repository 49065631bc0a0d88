import { printable } from "../base/printable.ts";
import type { ChangedBlock, TurnChanges } from "../conversation/turn-changes.ts";
import { type Block, idOf } from "../domain/block.ts";
import { shownText } from "../wording/shown-text.ts";
import type { ChangedText } from "./page-documents.ts";
import { textDifference } from "./text-difference.ts";

/** The most changes whose texts are compared. */
const mostChanges = 60;

/** The changes of a difference, each with its text's difference, in the order of their places. */
export function changedTexts({ added, removed, modified, moved }: TurnChanges): readonly ChangedText[] {
  const of = (
    { block, index, label, by }: ChangedBlock,
    what: ChangedText["what"],
    texts: readonly [string, string] | null,
  ): ChangedText => ({
    ...{ what, id: idOf(block), index, label, by },
    difference: texts === null ? null : textDifference(...texts),
  });
  const changed = [
    ...removed.slice(0, mostChanges).map((each) => of(each, "removed", [textOf(each.block), ""])),
    ...added.slice(0, mostChanges).map((each) => of(each, "added", ["", textOf(each.block)])),
    ...modified
      .slice(0, mostChanges)
      .map(({ before, after, label, by }) =>
        of({ ...after, label, by }, "changed", [textOf(before.block), textOf(after.block)]),
      ),
    ...moved.slice(0, mostChanges).map((each) => of(each, "moved", null)),
  ];
  return changed.toSorted((left, right) => left.index - right.index).slice(0, mostChanges);
}

const textOf = (block: Block): string => printable(shownText(block));
