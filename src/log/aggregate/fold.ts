import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import { type ConversationView, conversationView } from "../../projections/views/conversation-view.ts";
import type { EventReader } from "../codec/event-log.ts";
import { readHistory } from "../history/lineage.ts";
import { recordedAt } from "../history/read-events.ts";
import { foldAround, type SkippedEvents } from "../history/skipped-events.ts";
import type { ConversationFold } from "./conversation-fold.ts";

/** A fold, and an optional follower of its events. */
export type FollowedFold = {
  readonly fold: ConversationFold;
  readonly snapshotWriter: { readonly note: (recorded: RecordedEvent) => void } | null;
};

/** A conversation folded up to an event. */
export type Folded = { readonly view: ConversationView; readonly last: RecordedEvent };

/** The fold of all events up to a revision, including ancestors. It starts over at damage that was skipped. */
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
 * Applies an event to the fold. Returns false if its snapshot had wrong settings for the event: the caller then folds all events.
 *
 * @param applied - The Turns of the event's run, if this process already applied the event to them when it recorded it.
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

/** Called with each event of a fold and the view after it: the next event changes that view. */
export type Follower = (recorded: RecordedEvent, view: ConversationView) => void;

/**
 * Folds all events up to an existing revision into the view for people and planning, including blame, but not into the state needed to
 * continue the conversation.
 *
 * @param follow - Called when the fold starts, and again when it starts over because of a skipped event.
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
