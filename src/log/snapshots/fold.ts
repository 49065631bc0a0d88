import type { Block } from "../../domain/block.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { emptyBlame } from "../../projections/blame.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import { type EventLog, eventAt } from "../codec/event-log.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import { forkPoint, readHistory } from "../history/lineage.ts";
import { foldAround } from "../history/skipped-events.ts";
import { readContents } from "./contents.ts";
import { ConversationFold, restoreFold } from "./conversation-fold.ts";
import { Names } from "./names.ts";
import { readSnapshot, type SnapshotData } from "./snapshot.ts";
import { SnapshotWriter } from "./snapshot-writer.ts";

/** A fold, and what takes snapshots of it goes on; null where the store keeps none. */
export type OpenFold = { readonly fold: ConversationFold; readonly taker: SnapshotWriter | null };

/** A conversation folded up to an event. */
export type Folded = { readonly view: ConversationView; readonly last: RecordedEvent } & (
  | {
      /** Every event was folded: blocks have their contents, and the view its blame. */
      readonly isWhole: true;
    }
  | {
      readonly isWhole: false;
      /** Reads what the snapshot left where it is stored. */
      readonly fold: ConversationFold;
    }
);

/** A fold that no event went into. */
export const newFold = (log: EventLog, stream: string): OpenFold => withTaker(log, new ConversationFold(stream));

/** Snapshots are taken of it goes on, where the store keeps any. */
const withTaker = ({ store }: EventLog, fold: ConversationFold, last: SnapshotData | null = null): OpenFold => ({
  fold,
  taker: store.snapshots === undefined ? null : new SnapshotWriter(store.snapshots, fold, last),
});

/** The fold of a stream at its head: the newest snapshot and the events after it, or all events. */
export const openFold = async (log: EventLog, stream: string): Promise<OpenFold> =>
  (await foldNearest(log, stream, Number.MAX_SAFE_INTEGER)) ?? (await foldAll(log, stream, { takesSnapshots: true }));

/** The fold of a stream up to a revision that is there: the nearest snapshot, and the events after it. */
export async function foldTo(log: EventLog, stream: string, revision: number): Promise<Folded> {
  const nearest = await foldNearest(log, stream, revision);
  const options = { to: revision, withBlame: true, takesSnapshots: true };
  const { fold } = nearest ?? (await foldAll(log, stream, options));
  // What was asked for may be later than what was folded, and skipped.
  const last = fold.last ?? (await lastEvent(log, stream, fold.head?.revision ?? revision));
  const folded = { view: fold.view, last };
  return nearest === null ? { ...folded, isWhole: true } : { ...folded, isWhole: false, fold };
}

/**
 * The fold from a snapshot of the stream, or of an ancestor. Null when there is none, or when something is wrong with it
 * or with what follows: the events alone will tell.
 */
async function foldNearest(log: EventLog, stream: string, to: number): Promise<OpenFold | null> {
  try {
    const open = await restoreNearest(log, stream, to);
    if (open === null) return null;
    const { fold, taker } = open;
    const from = fold.head === null ? 0 : fold.head.revision + 1;
    for await (const recorded of readHistory(log, stream, { from, to, skipped: fold.skipped, own: true })) {
      // The snapshot may hold what is to be left out.
      if (recorded.event.type === "EventSkipped") return null;
      if (!(await takeEvent(log, open, recorded))) return null;
    }
    return (await taker?.save()) === false ? null : open;
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return null;
  }
}

/** What the newest snapshot up to a revision gives: one of the stream, or of a fork's ancestor. */
async function restoreNearest(log: EventLog, stream: string, to: number): Promise<OpenFold | null> {
  const { snapshots } = log.store;
  if (snapshots === undefined) return null;
  const snapshot = await readSnapshot(log.store, stream, to);
  if (snapshot !== null) {
    const fold = await restoreFold(snapshots, stream, snapshot);
    return fold === undefined ? null : withTaker(log, fold, snapshot.data);
  }
  const fork = await forkPoint(log, stream);
  const parent = fork === null ? null : await foldNearest(log, fork.stream, fork.revision);
  if (parent === null) return null;
  return withTaker(log, parent.fold.asOfFork(stream));
}

/**
 * The fold goes on with an event. False when its snapshot was wrong about what the event is understood with: a fold of all events goes on.
 *
 * @param applied - The Turns of the event's run, where this process applied the event to them when it recorded it.
 */
export async function takeEvent(
  log: EventLog,
  { fold, taker }: OpenFold,
  recorded: RecordedEvent,
  applied: RunTurns | null = null,
): Promise<boolean> {
  const lacking = fold.lacks(recorded);
  if (lacking !== null && !(await fold.readSettings(log, lacking))) return false;
  fold.apply(recorded, applied);
  taker?.note(recorded);
  return true;
}

/** The Turn that a fold had at a revision, with the contents of its blocks, or of some: reads the events that hold them, and no others. */
export async function turnOf(
  log: EventLog,
  turn: Turn,
  { stream, revision, blocks = turn.blocks }: TurnPlace,
): Promise<Turn> {
  try {
    if (await readContents(log, blocks)) return turn.frozen();
  } catch (error) {
    if (isOfTheStore(error)) throw error;
  }
  // The snapshot was wrong about it; the events are not.
  return (await foldWhole(log, stream, revision)).view.client.committed.frozen();
}

type TurnPlace = { readonly stream: string; readonly revision: number; readonly blocks?: readonly Block[] };

/** Told of each event of a fold, and of the view that has taken it in: the next event changes that. */
export type Follower = (recorded: RecordedEvent, view: ConversationView) => void;

type WholeFold = {
  /** The last revision; by default all there are. */
  readonly to?: number;
  readonly withBlame?: boolean;
  readonly takesSnapshots?: boolean;
  /** The store has lost lists of names: those that this fold makes stay at hand. */
  readonly keepsNames?: boolean;
};

/** The fold of all events, its ancestors' too. */
export async function foldAll(log: EventLog, stream: string, options: WholeFold = {}): Promise<OpenFold> {
  const { to, withBlame = false, takesSnapshots = false, keepsNames = false } = options;
  return foldAround(log, async (skipped) => {
    const fold = new ConversationFold(stream, { skipped, names: new Names([], { keepsTexts: keepsNames }) });
    if (withBlame) fold.view.client.blame = emptyBlame();
    const open = takesSnapshots ? withTaker(log, fold) : { fold, taker: null };
    const { taker } = open;
    for await (const recorded of readHistory(log, stream, { to, skipped })) {
      fold.apply(recorded);
      taker?.note(recorded);
    }
    await taker?.save();
    return open;
  });
}

/**
 * All events up to a revision that is there, as people and planning look at them, with who made and changed what: nothing of what
 * it takes to go on with the conversation.
 *
 * @param follow - Called when the fold begins, and when it begins anew because of an event that was skipped.
 */
export function foldWhole(
  log: EventLog,
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
    return { view, last: last ?? (await lastEvent(log, stream, revision)), isWhole: true };
  });
}

async function lastEvent(log: EventLog, stream: string, revision: number): Promise<RecordedEvent> {
  const last = await eventAt(log, stream, revision);
  if (last === null) throw new Error(`revision ${revision} of ${stream} cannot be read`);
  return last;
}
