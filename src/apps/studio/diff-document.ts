import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { type ConversationDiff, diffFolded, diffRevisions } from "../../analysis/time-travel/diff.ts";
import type { ChangedBlock, TurnChanges } from "../../analysis/time-travel/turn-changes.ts";
import { printable } from "../../base/printable.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { differenceDocumentOf } from "../documents/turn-documents.ts";
import { fitting, lazily } from "./by-bytes.ts";
import type { HeldConversation } from "./held-conversations.ts";
import type { ChangedText, DiffPage } from "./page-documents.ts";
import { textDifference } from "./text-difference.ts";

type Held = Pick<HeldConversation, "reel" | "fold"> & { readonly log: EventLog };

type Asked = { readonly from: number; readonly to: number; readonly withTexts: boolean };

/** What `turnlog diff` prints as JSON; with texts, what the page shows of it: the texts' differences in the place of blocks. */
export async function diffDocument(held: Held, { from, to, withTexts }: Asked) {
  const changes = await changesOf(held, { from, to });
  const sides = { from: changes.from, to: changes.to };
  return withTexts ? diffPage(sides, changes) : { ...sides, ...differenceDocumentOf(changes) };
}

function diffPage(sides: Pick<DiffPage, "from" | "to">, changes: ConversationDiff): DiffPage {
  const { added, removed, modified, moved } = changes;
  const all = added.length + removed.length + modified.length + moved.length;
  return { ...sides, changes: all, texts: fitting(changedTexts(changes)) };
}

/** The most changes whose texts are compared. */
const mostChanges = 60;

/** A change before its texts are compared. */
type Draft = Omit<ChangedText, "difference"> & { readonly before: Block | null; readonly after: Block | null };

/** The changes of a difference, each with its text's difference, in the order of their places. Texts are compared when a change is asked for. */
function changedTexts({ added, removed, modified, moved }: TurnChanges): Iterable<ChangedText> {
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

/** The reel has the Turn of each event, so only the authors are folded; from damage on it has none, and the log says so. */
function changesOf(
  { reel, fold, log }: Held,
  { from, to }: Pick<Asked, "from" | "to">,
): ConversationDiff | Promise<ConversationDiff> {
  const place = (revision: number) => ({ conversation: reel.id, revision });
  const [before, after] = [reel.turns[from], reel.turns[to]];
  if (reel.damage !== null || before === undefined || after === undefined)
    return diffRevisions(log, place(from), place(to));
  const turns = { from: before.frozen(), to: after.frozen() };
  return fold.at(Math.max(from, to), (folded) => diffFolded({ from: place(from), to: place(to) }, turns, folded));
}
