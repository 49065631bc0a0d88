import type { Block } from "../../domain/block.ts";
import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import type { Turn } from "../../domain/turn.ts";
import { emptyBlame } from "../../projections/client-turn/blame.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { ConversationFold } from "../aggregate/conversation-fold.ts";
import { type Folded, foldAll, foldWhole, lastEvent, takeEvent } from "../aggregate/fold.ts";
import type { EventReader } from "../codec/event-log.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import { confirmNames, forgetAllErased, namesOf } from "../codec/stream-names.ts";
import { skippedIn } from "../history/folded-history.ts";
import { forkPoint, readHistory } from "../history/lineage.ts";
import { SkippedEvents } from "../history/skipped-events.ts";
import { readContents } from "./contents.ts";
import { SavedNames } from "./names.ts";
import { type RestoredFold, restoreFold } from "./restore.ts";
import { readSnapshot, type SnapshotData } from "./snapshot.ts";
import { SnapshotWriter } from "./snapshot-writer.ts";

/** A fold, and the writer that takes its snapshots; null if the store keeps none. */
export type OpenFold = RestoredFold & { readonly snapshotWriter: SnapshotWriter | null };

/** A conversation folded up to an event. */
export type FoldedTo = Folded &
  (
    | {
        /** Every event was folded: blocks have their contents, and the view has its blame. */
        readonly isWhole: true;
      }
    | {
        readonly isWhole: false;
        /** Reads what the snapshot left in storage. */
        readonly fold: ConversationFold;
      }
  );

/** An empty fold. */
export const newFold = (log: EventReader, stream: string): OpenFold => beginningOf(log, stream, {});

type Beginning = {
  readonly skipped?: SkippedEvents;
  readonly withBlame?: boolean;
  /** The store has lost lists of names: keep those that this fold creates in memory. */
  readonly keepsNames?: boolean;
  readonly seen?: number;
};

function beginningOf(
  log: EventReader,
  stream: string,
  { skipped = new SkippedEvents(), withBlame = false, keepsNames = false, seen = -1 }: Beginning,
): OpenFold {
  const fold = new ConversationFold(stream, { skipped });
  if (withBlame) fold.view.client.blame = emptyBlame();
  return withTaker(log, { fold, names: new SavedNames(fold.names, { keepsTexts: keepsNames }) }, { seen });
}

/** Adds a snapshot writer if the store keeps snapshots. */
const withTaker = (
  { store }: EventReader,
  restored: RestoredFold,
  from: { readonly last?: SnapshotData; readonly seen: number },
): OpenFold => ({
  ...restored,
  snapshotWriter: store.snapshots === undefined ? null : new SnapshotWriter(store.snapshots, restored, from),
});

/** The head of a stream before a fold reads it up to an earlier event: a fold that ends before an erasure does not meet it. */
const headBefore = async ({ store }: EventReader, stream: string): Promise<number> =>
  (await store.head(stream))?.revision ?? -1;

/** The fold of a stream at its head: the newest snapshot and the events after it, or all events. */
export const openFold = async (log: EventReader, stream: string): Promise<OpenFold> =>
  (await foldNearest(log, stream, Number.MAX_SAFE_INTEGER)) ?? (await foldAnew(log, stream));

/** The fold of all events of a stream, taking snapshots. */
export async function foldAnew(
  log: EventReader,
  stream: string,
  { to, ...beginning }: Omit<Beginning, "skipped"> & { readonly to?: number } = {},
): Promise<OpenFold> {
  const seen = to === undefined ? -1 : await headBefore(log, stream);
  const begin = (skipped: SkippedEvents): OpenFold => beginningOf(log, stream, { ...beginning, skipped, seen });
  const open = await foldAll(log, stream, { to, begin });
  await open.snapshotWriter?.save();
  return open;
}

/** The fold of a stream up to an existing revision: the nearest snapshot, and the events after it. */
export async function foldTo(log: EventReader, stream: string, revision: number): Promise<FoldedTo> {
  const { nearest, fold } = await foldUpTo(log, stream, revision);
  // What was asked for may be later than what was folded, and skipped.
  const last = fold.last ?? (await lastEvent(log, stream, fold.head?.revision ?? revision));
  const folded = { view: fold.view, last };
  return nearest === null ? { ...folded, isWhole: true } : { ...folded, isWhole: false, fold };
}

/**
 * The same where all events up to there may have been skipped. `nearest` is null where no snapshot served.
 *
 * @throws {ConversationDamagedError} at damage that was not skipped.
 */
export async function foldUpTo(log: EventReader, stream: string, revision: number) {
  const nearest = await foldNearest(log, stream, revision);
  const { fold } = nearest ?? (await foldAnew(log, stream, { to: revision, withBlame: true }));
  return { nearest, fold };
}

/** What folds of a conversation leave out; of one that stops at damage, what they leave out before. */
export async function skippedOf(log: EventReader, stream: string): Promise<SkippedEvents> {
  try {
    return (await openFold(log, stream)).fold.skipped;
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    return skippedIn(log, stream);
  }
}

/**
 * The fold from a snapshot of the stream, or of an ancestor. Null if there is none, or if it or a later event does not fit:
 * the caller then folds all events.
 */
async function foldNearest(log: EventReader, stream: string, to: number): Promise<OpenFold | null> {
  try {
    const open = await restoreNearest(log, stream, to);
    if (open === null) return null;
    const { fold, snapshotWriter } = open;
    const from = fold.head === null ? 0 : fold.head.revision + 1;
    for await (const recorded of readHistory(log, stream, { from, to, skipped: fold.skipped, own: true })) {
      // The snapshot may contain the event that is left out from here on, or what was erased.
      if (changesEarlier(recorded.event)) return null;
      if (!(await takeEvent(log, open, recorded))) return null;
    }
    return (await snapshotWriter?.save()) === false ? null : open;
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return null;
  }
}

/** Restores the newest snapshot up to a revision, of the stream or of a fork's ancestor. */
async function restoreNearest(log: EventReader, stream: string, to: number): Promise<OpenFold | null> {
  const { snapshots } = log.store;
  if (snapshots === undefined) return null;
  const seen = to === Number.MAX_SAFE_INTEGER ? -1 : await headBefore(log, stream);
  const snapshot = await readSnapshot(log.store, stream, to);
  if (snapshot !== null) {
    // The fold does not read the erasure that renewed the key, so its blocks are noted here.
    if (await confirmNames(log.store, stream)) await forgetAllErased(log.store, stream);
    const names = await namesOf(log.store, stream);
    const restored = await restoreFold(snapshots, { stream, names }, snapshot);
    return restored === undefined ? null : withTaker(log, restored, { last: snapshot.data, seen });
  }
  const fork = await forkPoint(log, stream);
  const parent = fork === null ? null : await foldNearest(log, fork.stream, fork.revision);
  if (parent === null) return null;
  return withTaker(log, { fold: parent.fold.asOfFork(stream), names: parent.names }, { seen });
}

/** The Turn of a fold at a revision, with the contents of all or some of its blocks: reads only the events that hold them. */
export async function turnOf(
  log: EventReader,
  turn: Turn,
  { stream, revision, blocks = turn.blocks }: TurnPlace,
): Promise<Turn> {
  try {
    if (await readContents(log, blocks)) return turn.frozen();
  } catch (error) {
    if (isOfTheStore(error)) throw error;
  }
  // The snapshot was wrong, so use the events.
  return (await foldWhole(log, stream, revision)).view.client.committed.frozen();
}

type TurnPlace = { readonly stream: string; readonly revision: number; readonly blocks?: readonly Block[] };
