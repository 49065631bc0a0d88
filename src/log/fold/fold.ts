import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import type { EventReader } from "../codec/event-log.ts";
import { readHistory } from "../history/lineage.ts";
import { recordedAt } from "../history/read-events.ts";
import { foldAround, type SkippedEvents } from "../history/skipped-events.ts";
import type { ConversationFold } from "./conversation-fold.ts";

/** A fold, and what follows it as it goes on; null for nothing. */
export type FollowedFold = {
  readonly fold: ConversationFold;
  readonly snapshotWriter: { readonly note: (recorded: RecordedEvent) => void } | null;
};

/** A conversation folded up to an event. */
export type Folded = { readonly view: ConversationView; readonly last: RecordedEvent };

/** The fold of all events up to a revision, its ancestors' too: it begins anew at damage that was skipped. */
export function foldAll<Open extends FollowedFold>(
  log: EventReader,
  stream: string,
  { to, begin }: { readonly to?: number | undefined; readonly begin: (skipped: SkippedEvents) => Open },
): Promise<Open> {
  return foldAround(log, async (skipped) => {
    const open = begin(skipped);
    for await (const recorded of readHistory(log, stream, { to, skipped })) {
      open.fold.apply(recorded);
      open.snapshotWriter?.note(recorded);
    }
    return open;
  });
}

/**
 * The fold goes on with an event. False when its snapshot was wrong about what the event is understood with: a fold of all events goes on.
 *
 * @param applied - The Turns of the event's run, where this process applied the event to them when it recorded it.
 */
export async function takeEvent(
  log: EventReader,
  { fold, snapshotWriter }: FollowedFold,
  recorded: RecordedEvent,
  applied: RunTurns | null = null,
): Promise<boolean> {
  const lacking = fold.lacks(recorded);
  if (lacking !== null && !(await fold.readSettings(log, lacking))) return false;
  fold.apply(recorded, applied);
  snapshotWriter?.note(recorded);
  return true;
}

/** Told of each event of a fold, and of the view that has taken it in: the next event changes that. */
export type Follower = (recorded: RecordedEvent, view: ConversationView) => void;

/**
 * All events up to a revision that is there, as people and planning look at them, with who made and changed what: nothing of what
 * it takes to go on with the conversation.
 *
 * @param follow - Called when the fold begins, and when it begins anew because of an event that was skipped.
 */
export function foldWhole(
  log: EventReader,
  stream: string,
  revision: number,
  follow: () => Follower = () => () => undefined,
): Promise<Folded> {
  return foldAround(log, async (skipped) => {
    const view = conversationView.initial(stream);
    const told = follow();
    let last: RecordedEvent | null = null;
    for await (const recorded of readHistory(log, stream, { to: revision, skipped })) {
      conversationView.apply(view, recorded);
      told(recorded, view);
      last = recorded;
    }
    return { view, last: last ?? (await lastEvent(log, stream, revision)) };
  });
}

export async function lastEvent(log: EventReader, stream: string, revision: number): Promise<RecordedEvent> {
  const last = await recordedAt(log, stream, revision);
  if (last === null) throw new Error(`revision ${revision} of ${stream} cannot be read`);
  return last;
}
