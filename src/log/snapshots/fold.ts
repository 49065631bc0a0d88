import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import type { EventLog } from "../codec/event-log.ts";
import { forkPoint, readHistory } from "../history/lineage.ts";
import { foldAround } from "../history/skipped-events.ts";
import { withContents } from "./contents.ts";
import { type Restored, readSnapshot, restoreFold } from "./snapshot.ts";
import { SnapshotWriter } from "./snapshot-writer.ts";

/** A conversation folded up to an event, and where the settings are that were declared before the snapshot. */
export type Folded = Restored & {
  readonly last: RecordedEvent;
  /** Every event was folded: blocks have their contents, and the view its blame. */
  readonly isWhole: boolean;
};

/** The fold of a stream up to a revision that is there: the nearest snapshot, and the events after it. */
export async function foldTo(log: EventLog, stream: string, revision: number): Promise<Folded> {
  return (
    (await foldNearest(log, stream, revision)) ?? (await foldWhole(log, stream, revision, { takesSnapshots: true }))
  );
}

/**
 * The fold from a snapshot of the stream, or of an ancestor. Null when there is none, or when something is wrong with it
 * or with what follows: the events alone will tell.
 */
async function foldNearest(log: EventLog, stream: string, revision: number): Promise<Folded | null> {
  const { snapshots } = log.store;
  if (snapshots === undefined) return null;
  const snapshot = await readSnapshot(log.store, stream, revision);
  const taker = new SnapshotWriter(snapshots, stream, snapshot);
  try {
    let restored: Restored;
    if (snapshot === null) {
      const fork = await forkPoint(log, stream);
      const parent = fork === null ? null : await foldNearest(log, fork.stream, fork.revision);
      if (parent === null) return null;
      restored = parent;
      taker.inherit(restored.view, restored.settingsPlaces);
    } else {
      restored = await restoreFold(snapshots, stream, snapshot);
      taker.goOn(restored.view);
    }
    const from = snapshot === null ? 0 : snapshot.revision + 1;
    const folded = await foldTail(log, stream, { restored, from, to: revision, taker });
    await taker.save();
    return folded;
  } catch {
    return null;
  }
}

/** The Turn of a fold with the contents of all its blocks: reads the events that hold them, and no others. */
export async function turnOf(log: EventLog, { view, last }: Folded): Promise<Turn> {
  try {
    return (await withContents(log, view.client.committed)).frozen();
  } catch {
    // The snapshot was wrong about it; the events are not.
    return (await foldWhole(log, last.stream, last.revision)).view.client.committed.frozen();
  }
}

/** Told of each event of a fold, and of the view that has taken it in: the next event changes that. */
export type Follower = (recorded: RecordedEvent, view: ConversationView) => void;

type WholeFold = {
  readonly takesSnapshots?: boolean;
  /** Called when the fold begins, and when it begins anew because of an event that was skipped. */
  readonly follow?: () => Follower;
};

/** The fold of all events up to a revision that is there, its ancestors' too. */
export async function foldWhole(
  log: EventLog,
  stream: string,
  revision: number,
  { takesSnapshots = false, follow }: WholeFold = {},
): Promise<Folded> {
  const { snapshots } = log.store;
  return foldAround(log, async (skipped) => {
    const view = conversationView.initial(stream);
    const taker = takesSnapshots && snapshots !== undefined ? new SnapshotWriter(snapshots, stream, null) : undefined;
    const told = follow?.();
    let last: RecordedEvent | null = null;
    for await (const recorded of readHistory(log, stream, { to: revision, skipped })) {
      last = recorded;
      conversationView.apply(view, recorded);
      taker?.note(view, recorded);
      told?.(recorded, view);
    }
    await taker?.save();
    return { view, settingsPlaces: new Map(), last: lastOf(last, stream, revision), isWhole: true };
  });
}

type Tail = {
  readonly restored: Restored;
  readonly from: number;
  readonly to: number;
  readonly taker: SnapshotWriter;
};

async function foldTail(log: EventLog, stream: string, { restored, from, to, taker }: Tail): Promise<Folded> {
  const { view, settingsPlaces } = restored;
  let last: RecordedEvent | null = null;
  // The event itself is wanted, also where the snapshot was taken right after it.
  for await (const recorded of log.read(stream, { from: Math.min(from, to), to })) {
    last = recorded;
    if (recorded.revision < from) continue;
    const { event } = recorded;
    // A response is understood with the settings of its request.
    if (event.type === "InferenceRequested") await readSettings(log, restored, event.data.settingsDigest);
    // A fork that comes after this one has them from here.
    if (event.type === "SettingsDeclared")
      settingsPlaces.set(event.data.digest, { stream, revision: recorded.revision });
    conversationView.apply(view, recorded);
    taker.note(view, recorded);
  }
  return { view, settingsPlaces, last: lastOf(last, stream, to), isWhole: false };
}

function lastOf(last: RecordedEvent | null, stream: string, revision: number): RecordedEvent {
  if (last === null) throw new Error(`revision ${revision} of ${stream} cannot be read`);
  return last;
}

/** Puts settings into the view that were declared before its snapshot. */
export async function readSettings(log: EventLog, restored: Restored, digest: string): Promise<void> {
  const { settings } = restored.view.server;
  const place = restored.settingsPlaces.get(digest);
  if (place === undefined || settings.has(digest)) return;
  const { stream, revision } = place;
  for await (const { event } of log.read(stream, { from: revision, to: revision })) {
    if (event.type === "SettingsDeclared") settings.set(event.data.digest, event.data.settings);
  }
}
