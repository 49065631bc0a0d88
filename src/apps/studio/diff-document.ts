import { type ConversationDiff, diffFolded, diffRevisions } from "../../analysis/time-travel/diff.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { differenceDocumentOf } from "../documents/turn-documents.ts";
import { fitting } from "./by-bytes.ts";
import { changedTexts } from "./changed-texts.ts";
import type { HeldConversation } from "./held-conversations.ts";
import type { DiffPage } from "./page-documents.ts";

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
