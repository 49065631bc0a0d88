import { idOf } from "../../domain/block.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { turnDifference } from "../../domain/turn-difference.ts";
import { provenanceOf } from "../../engine/planning/contexts.ts";
import type { Follower } from "../../log/aggregate/fold.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { namesOf } from "../../log/codec/stream-names.ts";
import { existingRevision } from "../../log/history/revision.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { compareConversations } from "./compare.ts";
import { LoadedPast } from "./past.ts";
import { type ReadPlace, readPlace, turnSpokenOf } from "./place.ts";
import { type Changers, changedBy, differenceByContent, type TurnChanges, turnChanges } from "./turn-changes.ts";

/** A revision of a conversation; a negative one counts from the end. */
export type RevisionOf = { readonly conversation: ConversationId; readonly revision: number };

/** One side of a difference: the revision, and the digest of its Turn. */
export type DiffSide = RevisionOf & { readonly digest: string };

/** The changes between two revisions, and their authors. */
export type ConversationDiff = TurnChanges & { readonly from: DiffSide; readonly to: DiffSide };

/**
 * Compares the Turns of two revisions: while a run is open there, the one that was handed on last, else the committed one. Blocks of
 * conversations without a common ancestor are compared by content.
 *
 * @throws {TurnlogError} `revision-not-found` if one of them does not exist.
 */
export async function diffRevisions(log: EventLog, from: RevisionOf, to: RevisionOf): Promise<ConversationDiff> {
  const [first, last] = [await existing(log, from), await existing(log, to)];
  const [before, after] = await readBoth(log, first, last);
  // Events of a common ancestor have the same ids in both conversations.
  const isOneLineage =
    from.conversation === to.conversation || (await compareConversations(log, before.past, after.past)).event !== null;
  return differenceOf({ from: first, to: last }, { before, after, isOneLineage });
}

/**
 * The same of one conversation, from a fold at the later revision and the Turns of both: reads nothing.
 *
 * @param place - At the later of the two revisions.
 */
export function diffFolded(
  revisions: { readonly from: RevisionOf; readonly to: RevisionOf },
  turns: { readonly from: Turn; readonly to: Turn },
  { past, words }: ReadPlace,
): ConversationDiff {
  const side = (turn: Turn): Side => ({ past, words, turn });
  return differenceOf(revisions, { before: side(turns.from), after: side(turns.to), isOneLineage: true });
}

type Sides = { readonly before: Side; readonly after: Side; readonly isOneLineage: boolean };

function differenceOf(
  { from, to }: { readonly from: RevisionOf; readonly to: RevisionOf },
  { before, after, isOneLineage }: Sides,
): ConversationDiff {
  const difference = (isOneLineage ? turnDifference : differenceByContent)(before.turn, after.turn);
  const isOneEvent = from.conversation === to.conversation && to.revision === from.revision + 1;
  const { actor } = after.past.event;
  // Across one pass, the layer made the changes, even if it restored what another actor had written.
  const changers = isOneEvent && actor.kind === "middleware" ? changedBy(actor) : changersOf(after.past.view);
  const labels = { get: (id: string) => after.words.labels.get(id) ?? before.words.labels.get(id) };
  return {
    from: { ...from, digest: before.turn.digest },
    to: { ...to, digest: after.turn.digest },
    ...turnChanges(difference, { from: before.turn, to: after.turn, labels }, changers),
  };
}

const existing = async (log: EventLog, { conversation, revision }: RevisionOf): Promise<RevisionOf> => ({
  conversation,
  revision: await existingRevision(log.store, conversationStream(conversation), revision),
});

/** A past, and the Turn of its revision. */
type Side = ReadPlace & { readonly turn: Turn };

/** Two revisions of one conversation take one reading: the fold passes the earlier one's Turn on the way. */
async function readBoth(log: EventLog, from: RevisionOf, to: RevisionOf): Promise<readonly [Side, Side]> {
  const read = async ({ conversation, revision }: RevisionOf, follow?: () => Follower): Promise<Side> => {
    const place = await readPlace(log, conversationStream(conversation), revision, follow);
    return { ...place, turn: turnSpokenOf(place.past).frozen() };
  };
  if (from.conversation !== to.conversation) return [await read(from), await read(to)];
  const [first, last] = from.revision <= to.revision ? [from, to] : [to, from];
  const stream = conversationStream(first.conversation);
  const names = await namesOf(log.store, stream);
  let passed: Turn | undefined;
  const later = await read(last, () => (recorded, view) => {
    if (recorded.stream === stream && recorded.revision === first.revision)
      passed = turnSpokenOf(new LoadedPast(recorded, view, names)).frozen();
  });
  const earlier = { ...later, turn: passed ?? later.turn };
  return first === from ? [earlier, later] : [later, earlier];
}

/** Who made each version, and who removed or moved the blocks that the folds up to there know. */
export function changersOf(view: ConversationView): Changers {
  const { authorOf, removerOf, moverOf } = provenanceOf(view.client.run?.turns, view);
  return {
    authorOf,
    removerOf: (block) => removerOf(idOf(block)),
    moverOf: (block) => moverOf?.(idOf(block)) ?? null,
  };
}
