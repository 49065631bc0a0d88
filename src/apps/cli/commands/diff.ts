import { diffRevisions } from "../../../analysis/time-travel/diff.ts";
import { isEmptyDifference } from "../../../analysis/time-travel/turn-changes.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { diffDocument } from "../../documents/differences.ts";
import { differenceDocumentOf } from "../../documents/turn-documents.ts";
import { placeName } from "../block-rows.ts";
import { commandCode } from "../command.ts";
import { differenceCounts, differenceLines } from "../difference.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { type FoundRevision, findConversation, findPlace, findRevision } from "../find.ts";
import { parsePlace } from "../revision.ts";

/** The changes between two Turns, and their authors; exits with 1 if there are any. */
export const diff = commandCode({
  document: diffDocument,

  async *run(context, { arguments: names }) {
    await using store = await context.openStore("read");
    const [from, to] = await findBoth(store, names);
    const place = ({ conversation, revision }: FoundRevision) => ({ conversation: conversation.id, revision });
    const changes = await diffRevisions(store.log, place(from), place(to));
    yield { from: changes.from, to: changes.to, ...differenceDocumentOf(changes) };
    return isEmptyDifference(changes) ? exitCodes.ok : exitCodes.failure;
  },

  render(document, { style, print, note }) {
    const [from, to] = [document.from, document.to].map((side) => placeName(side.conversation, side.revision));
    print(style.bold(`${from} > ${to}`), ...differenceLines(document, style));
    note(differenceCounts(document));
  },
});

/** `A@r B@r`, or a range of one conversation. */
async function findBoth(
  store: TurnlogStore,
  [first = "", second]: readonly string[],
): Promise<readonly [FoundRevision, FoundRevision]> {
  if (second !== undefined) return [await findPlace(store, first), await findPlace(store, second)];
  const { conversation: name, at } = parsePlace(first);
  if (at.type !== "range") throw new UsageError("name two revisions: cnv_8f3k@100 cnv_8f3k@120, or cnv_8f3k@100..120");
  const conversation = await findConversation(store, name);
  const find = async (revision: typeof at.from): Promise<FoundRevision> => {
    return { conversation, revision: await findRevision(store, conversation, revision) };
  };
  return [await find(at.from), await find(at.to)];
}
