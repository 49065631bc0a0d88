import { type Block, idOf } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import type { ChangedEvent } from "../../log/codec/watched-log.ts";
import { recordedAt } from "../../log/history/read-events.ts";
import { type Blame, type BlockChange, lastChange } from "../../projections/client-turn/blame.ts";
import { type ReadPlace, turnSpokenOf, type WatchedPlace } from "../time-travel/place.ts";
import type { PlacedBlock } from "../time-travel/turn-changes.ts";

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

/** Which of the blocks of a place are reported: the block with an id, or a part of the Turn; all if neither is said. */
export type BlameWanted = {
  readonly only?: string | null;
  /** The blocks from a place of the Turn on; contents of removed blocks are then not read. */
  readonly part?: { readonly from: number; readonly n: number } | null;
};

/** Reports the blocks of a place: while a run is open, of the Turn that was handed on last. */
export async function blameReport(
  log: EventReader,
  place: WatchedPlace,
  { only = null, part = null }: BlameWanted = {},
): Promise<BlameReport> {
  const { past, words } = place;
  const { blames } = past;
  const story = (id: string, kind = "block"): BlockStory => {
    const { made = null, versions = [], erased = null } = blames.get(id) ?? {};
    return { id, label: words.labels.get(id) ?? kind, made, versions, erased };
  };
  const turn = turnSpokenOf(past);
  const { first, blocks: wanted } = wantedOf(turn, { only, part });
  const blocks = wanted.map((block, offset) => ({
    ...{ index: first + offset, block, changed: lastChange(blames, block) },
    ...story(idOf(block), block.kind),
  }));
  const removed = removedFrom(place, turn, only).map(({ id, removed: by }) => ({ ...story(id), removed: by }));
  return {
    ...{ revision: past.revision, blocks },
    removed: part === null ? await withContent(log, removed) : removed.map((each) => ({ ...each, block: null })),
    changedEvents: place.changed,
  };
}

/** The blocks to report, and the place of the first one. */
function wantedOf(
  turn: Turn,
  { only, part }: Required<BlameWanted>,
): { readonly first: number; readonly blocks: readonly Block[] } {
  const { from, n } = part ?? { from: 0, n: turn.length };
  // The Turn of the part's end: a list of a whole Turn is long, and each Turn would keep one.
  if (only === null) return { first: from, blocks: turn.slice(from + n).after(from) };
  const first = turn.blocks.findIndex(({ id }) => id === only);
  return { first, blocks: first < 0 ? [] : turn.blocks.slice(first, first + 1) };
}

/** Blocks that are not in the Turn, and who removed them. While a run is open, those that its layers have left out so far are gone as well. */
function removedFrom(
  { past: { view, blames } }: ReadPlace,
  turn: Turn,
  only: string | null,
): readonly Pick<RemovedBlock, "id" | "removed">[] {
  const leftOut = view.client.run?.removed;
  const gone: Pick<RemovedBlock, "id" | "removed">[] = [];
  blames.forEach((blame, id) => {
    const removed = leftOut?.get(id) ?? blame.removed;
    if (only === null ? removed !== null : id === only) gone.push({ id, removed });
  });
  if (gone.length === 0) return [];
  const present = new Set<string | null>(turn.blocks.map(({ id }) => id));
  return gone.filter(({ id }) => !present.has(id));
}

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
