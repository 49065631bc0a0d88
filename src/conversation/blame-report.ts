import { type Block, idOf } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import { blocksIn } from "../domain/events/blocks-in.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import type { ChangedEvent } from "../log/codec/watched-log.ts";
import { recordedAt } from "../log/history/read-events.ts";
import { type Blame, type BlockChange, lastChange } from "../projections/blame.ts";
import { type ReadPlace, turnSpokenOf, type WatchedPlace } from "./place.ts";
import type { PlacedBlock } from "./turn-changes.ts";

/** Who made a block, and who made each of its versions. */
export type BlockStory = {
  readonly id: string;
  /** A word or two for the block. */
  readonly label: string;
  /** Null if unknown. */
  readonly made: BlockChange | null;
  /** In the order in which they were made. */
  readonly versions: Blame["versions"];
  /** The newest erasure that took its content; null if none did. */
  readonly erased: BlockChange | null;
};

/** A block of a Turn, and who made its current version. */
export type BlamedBlock = PlacedBlock & BlockStory & { readonly changed: BlockChange | null };

/** A block that is not in the Turn, and who removed it; null if no actor did, and it waits for the end of an open run. */
export type RemovedBlock = BlockStory & {
  readonly removed: BlockChange | null;
  /** Its last content; null if the log does not have it. */
  readonly block: Block | null;
};

/** Who made and last changed the blocks of a Turn, and who removed the others. */
export type BlameReport = {
  readonly revision: number;
  readonly blocks: readonly BlamedBlock[];
  readonly removed: readonly RemovedBlock[];
  /** Events up to there whose data has changed since they were written: their actors and contents are unreliable. `verify` says more. */
  readonly changedEvents: readonly ChangedEvent[];
};

/**
 * Reports the blocks of a place: while a run is open, of the Turn that was handed on last.
 *
 * @param only - The id of the one block to report; null for all.
 */
export async function blameReport(
  log: EventReader,
  place: WatchedPlace,
  only: string | null = null,
): Promise<BlameReport> {
  const { past, words } = place;
  const { blames } = past;
  const isWanted = ({ id }: BlockStory): boolean => only === null || id === only;
  const story = (id: string, kind = "block"): BlockStory => ({
    ...{ id, label: words.labels.get(id) ?? kind },
    ...{ made: blames.get(id)?.made ?? null, versions: blames.get(id)?.versions ?? [] },
    erased: blames.get(id)?.erased ?? null,
  });
  const blocks = turnSpokenOf(past).blocks.map((block, index) => ({
    ...{ index, block, changed: lastChange(blames, block) },
    ...story(idOf(block), block.kind),
  }));
  const present = new Set(blocks.map(({ id }) => id));
  const removed = [...blames.keys()]
    .filter((id) => !present.has(id))
    .map((id) => ({ ...story(id), removed: removalOf(place, id) }))
    .filter(({ id, removed: by }) => by !== null || id === only)
    .filter(isWanted);
  return {
    ...{ revision: past.revision, blocks: blocks.filter(isWanted), removed: await withContent(log, removed) },
    changedEvents: place.changed,
  };
}

/** While a run is open, blocks that its layers have left out so far are gone as well. */
const removalOf = ({ past: { view, blames } }: ReadPlace, id: string): BlockChange | null =>
  view.client.run?.removed.get(id) ?? blames.get(id)?.removed ?? null;

type Removed = Omit<RemovedBlock, "block">;

/** Reads the last contents of removed blocks from the log, because no Turn has them any more. */
async function withContent(log: EventReader, removed: readonly Removed[]): Promise<readonly RemovedBlock[]> {
  const events = new Map<string, RecordedEvent | null>();
  const told: RemovedBlock[] = [];
  for (const story of removed) {
    const { digest, change } = story.versions.at(-1) ?? {};
    const place = `${change?.stream ?? ""}@${change?.revision ?? ""}`;
    if (change !== undefined && !events.has(place))
      events.set(place, await recordedAt(log, change.stream, change.revision));
    const event = events.get(place)?.event;
    const json = event && blocksIn(event).find((block) => block.id === story.id && block.digest === digest);
    told.push({ ...story, block: json === undefined ? null : blockFromJson(json) });
  }
  return told;
}
