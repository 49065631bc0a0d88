import { type ConversationDiff, diffFolded, diffRevisions } from "../conversation/diff.ts";
import { differenceDocumentOf } from "../documents/turn-documents.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { changedTexts } from "./changed-texts.ts";
import type { HeldConversation } from "./held-conversations.ts";

type Held = Pick<HeldConversation, "reel" | "fold"> & { readonly log: EventLog };

type Asked = { readonly from: number; readonly to: number; readonly withTexts: boolean };

/** What `turnlog diff` prints as JSON, with the texts' differences if the page asks for them. */
export async function diffDocument(held: Held, { from, to, withTexts }: Asked) {
  const changes = await changesOf(held, { from, to });
  const document = { from: changes.from, to: changes.to, ...differenceDocumentOf(changes) };
  return withTexts ? { ...document, texts: changedTexts(changes) } : document;
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
