import { shownText } from "../../analysis/descriptions/shown-text.ts";
import type { ChangedBlock, TurnChanges } from "../../analysis/time-travel/turn-changes.ts";
import { printable } from "../../base/printable.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { lazily } from "./by-bytes.ts";
import type { ChangedText } from "./page-documents.ts";
import { textDifference } from "./text-difference.ts";

/** The most changes whose texts are compared. */
const mostChanges = 60;

/** A change before its texts are compared. */
type Draft = Omit<ChangedText, "difference"> & { readonly before: Block | null; readonly after: Block | null };

/** The changes of a difference, each with its text's difference, in the order of their places. Texts are compared when a change is asked for. */
export function changedTexts({ added, removed, modified, moved }: TurnChanges): Iterable<ChangedText> {
  const of = ({ block, index, label, by }: ChangedBlock, what: ChangedText["what"]) => ({
    ...{ what, id: idOf(block), index, label, by },
  });
  const drafts: readonly Draft[] = [
    ...removed.slice(0, mostChanges).map((each) => ({ ...of(each, "removed"), before: each.block, after: null })),
    ...added.slice(0, mostChanges).map((each) => ({ ...of(each, "added"), before: null, after: each.block })),
    ...modified.slice(0, mostChanges).map(({ before, after, label, by }) => ({
      ...{ ...of({ ...after, label, by }, "changed"), before: before.block, after: after.block },
    })),
    ...moved.slice(0, mostChanges).map((each) => ({ ...of(each, "moved"), before: null, after: null })),
  ];
  const inOrder = drafts.toSorted((left, right) => left.index - right.index).slice(0, mostChanges);
  return lazily(inOrder, ({ before, after, ...draft }) => ({
    ...draft,
    difference: draft.what === "moved" ? null : textDifference(textOf(before), textOf(after)),
  }));
}

const textOf = (block: Block | null): string => (block === null ? "" : printable(shownText(block)));
