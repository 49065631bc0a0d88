import type { Turn } from "../../domain/turn.ts";
import { type Follower, foldWhole } from "../../log/aggregate/fold.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { namesOf } from "../../log/codec/stream-names.ts";
import { type ChangedEvent, watchedLog } from "../../log/codec/watched-log.ts";
import { existingRevision } from "../../log/history/revision.ts";
import { type BlockLabels, noLabels, noteLabels } from "../descriptions/labels.ts";
import { LoadedPast } from "./past.ts";

/** A conversation at one revision, and the words for its blocks and events. */
export type ReadPlace = { readonly past: LoadedPast; readonly words: BlockLabels };

/**
 * Reads a stream up to a revision, its events once; a negative one counts from the end. `follow` is called when the reading begins, and
 * again if it has to start over.
 *
 * @throws {TurnlogError} `revision-not-found` if there is no such revision.
 */
export async function readPlace(
  log: EventLog,
  stream: string,
  revision: number,
  follow: () => Follower = () => () => undefined,
): Promise<ReadPlace> {
  let words = noLabels();
  const folded = await foldWhole(log, stream, await existingRevision(log.store, stream, revision), () => {
    const [labels, take] = [noLabels(), follow()];
    words = labels;
    return (recorded, view) => {
      noteLabels(labels, recorded);
      take(recorded, view);
    };
  });
  return { past: new LoadedPast(folded.last, folded.view, await namesOf(log.store, stream)), words };
}

/** A place, and the events up to there whose data has changed since they were written. */
export type WatchedPlace = ReadPlace & { readonly changed: readonly ChangedEvent[] };

/** The same, and whether the events are as they were written; skipped events are not read. */
export async function readWatchedPlace(
  log: EventLog,
  stream: string,
  revision: number,
  follow: () => Follower = () => () => undefined,
): Promise<WatchedPlace> {
  const watched = watchedLog(log);
  const place = await readPlace(watched.log, stream, revision, () => {
    watched.forget();
    return follow();
  });
  return { ...place, changed: watched.changed() };
}

/**
 * The Turn of a revision: while a run is open, the one that was handed on last, else the committed one. Freeze it before you pass it to
 * code that could change its blocks; that takes a tenth of the time of reading them.
 */
export const turnSpokenOf = ({ run, view }: LoadedPast): Turn => run?.handedOn ?? view.client.committed;
