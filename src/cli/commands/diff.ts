import { compareConversations } from "../../conversation/compare.ts";
import { LoadedPast, loadPast } from "../../conversation/past.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { idOf } from "../../domain/block.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { turnDifference } from "../../domain/turn-difference.ts";
import { provenanceOf } from "../../engine/planning/contexts.ts";
import type { Follower } from "../../log/snapshots/fold.ts";
import { placeName } from "../block-rows.ts";
import { commandCode } from "../command.ts";
import {
  type Changers,
  changedBy,
  differenceByContent,
  differenceCounts,
  differenceLines,
  differenceOf,
  isEmptyDifference,
} from "../difference.ts";
import { diffDocument } from "../documents/differences.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { type FoundRevision, findConversation, findPlace, findRevision, turnSpokenOf } from "../find.ts";
import { parsePlace } from "../revision.ts";

/** What changed between two Turns, and by whom; 1 when something did. */
export const diff = commandCode({
  document: diffDocument,

  async *run(context, { arguments: names }) {
    await using store = await context.openStore({ mustExist: true });
    const [from, to] = await findBoth(store, names);
    const [before, after] = await readBoth(store, from, to);
    // What two conversations have from one ancestor has one id in both.
    const isOneLineage =
      from.conversation.id === to.conversation.id ||
      (await compareConversations(store.log, before.past, after.past)).event !== null;
    const difference = (isOneLineage ? turnDifference : differenceByContent)(before.turn, after.turn);
    const isOneEvent = from.conversation.id === to.conversation.id && to.revision === from.revision + 1;
    const { actor } = after.past.event;
    // Across one pass it was that layer's doing, also where it put back what somebody else had written.
    const changers = isOneEvent && actor.kind === "middleware" ? changedBy(actor) : changersUpTo(after.past);
    const side = ({ conversation, revision }: FoundRevision, { digest }: Turn) => {
      return { conversation: conversation.id, revision, digest };
    };
    yield {
      from: side(from, before.turn),
      to: side(to, after.turn),
      ...differenceOf(difference, { from: before.turn, to: after.turn }, changers),
    };
    return isEmptyDifference(difference) ? exitCodes.ok : exitCodes.failure;
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

/** A past, and the Turn that its revision speaks of. */
type Side = { readonly past: LoadedPast; readonly turn: Turn };

/** Two revisions of one conversation are seen in one reading: the earlier one's Turn as the fold passes it. */
async function readBoth(store: TurnlogStore, from: FoundRevision, to: FoundRevision): Promise<readonly [Side, Side]> {
  const read = async ({ conversation, revision }: FoundRevision, follow?: () => Follower): Promise<Side> => {
    const past = await loadPast(store.log, conversationStream(conversation.id), revision, follow);
    return { past, turn: turnSpokenOf(past) };
  };
  if (from.conversation.id !== to.conversation.id) return [await read(from), await read(to)];
  const [first, last] = from.revision <= to.revision ? [from, to] : [to, from];
  const stream = conversationStream(first.conversation.id);
  let passed: Turn | undefined;
  const later = await read(last, () => (recorded, view) => {
    if (recorded.stream === stream && recorded.revision === first.revision)
      passed = turnSpokenOf(new LoadedPast(recorded, view));
  });
  const earlier = { past: later.past, turn: passed ?? later.turn };
  return first === from ? [earlier, later] : [later, earlier];
}

/** Who made each version, and who took out or moved what the folds up to there know of. */
function changersUpTo({ view }: LoadedPast): Changers {
  const { authorOf, removerOf, moverOf } = provenanceOf(view.client.run?.turns, view);
  return {
    authorOf,
    removerOf: (block) => removerOf(idOf(block)),
    moverOf: (block) => moverOf?.(idOf(block)) ?? null,
  };
}
