import type { Turn } from "../domain/turn.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { type ChangedEvent, watchedLog } from "../log/codec/watched-log.ts";
import { type Follower, foldWhole } from "../log/fold/fold.ts";
import { existingRevision } from "../log/history/revision.ts";
import { type BlockLabels, noLabels, noteLabels } from "../wording/labels.ts";
import { LoadedPast } from "./past.ts";

/** A conversation at one revision, and what puts its blocks and events into words. */
export type ReadPlace = { readonly past: LoadedPast; readonly words: BlockLabels };

/**
 * Reads a stream up to a revision, its events once; a negative one counts from the end. `follow` is called when the reading
 * begins, and again should it have to begin anew.
 *
 * @throws {TurnlogError} `revision-not-found` when there is no such revision.
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
  return { past: new LoadedPast(folded.last, folded.view), words };
}

/** A place, and the events up to there whose data is not what was written. */
export type WatchedPlace = ReadPlace & { readonly changed: readonly ChangedEvent[] };

/** The same, and whether what was read is what was written: what was skipped is not read. */
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
 * The Turn that a revision speaks of: what was handed on last while a run is open, else the committed one. Who hands it on to code
 * that could change what is in its blocks freezes it, which takes a tenth of the time of reading them.
 */
export const turnSpokenOf = ({ run, view }: LoadedPast): Turn => run?.handedOn ?? view.client.committed;
