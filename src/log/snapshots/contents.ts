import { type Block, idOf } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import { Turn } from "../../domain/turn.ts";
import type { EventLog } from "../codec/event-log.ts";
import { placeOf } from "./block-places.ts";
import { SnapshotDamagedError } from "./chunks.ts";

/** Events between two wanted ones that are rather read along than left out: a store reads by pages. */
const maxGap = 64;

/**
 * The Turn with the contents of its blocks from a place on: reads the events that hold those that are outlines only.
 *
 * @throws {SnapshotDamagedError} when a block is not where the snapshot has it.
 */
export async function withContents(log: EventLog, turn: Turn, from = 0): Promise<Turn> {
  const blocks = turn.after(from);
  const wanted = new Map<string, Map<number, readonly Block[]>>();
  for (const block of blocks) {
    const place = block.isOutline ? placeOf(block) : null;
    if (place === null) continue;
    const revisions = wanted.get(place.stream) ?? new Map<number, readonly Block[]>();
    wanted.set(place.stream, revisions.set(place.revision, []));
  }
  if (wanted.size === 0) return turn;
  for (const [stream, blocksByRevision] of wanted) await readBlocks(log, stream, blocksByRevision);
  const prefix = from === 0 ? Turn.empty : turn.slice(from);
  return prefix.concat(blocks.map((block) => (block.isOutline ? contentOf(block, wanted) : block)));
}

/** Puts in the blocks of the events that are asked for. */
async function readBlocks(log: EventLog, stream: string, blocksByRevision: Map<number, readonly Block[]>) {
  for (const { first, last } of rangesOf([...blocksByRevision.keys()])) {
    for await (const { revision, event } of log.read(stream, { from: first, to: last })) {
      if (blocksByRevision.has(revision)) blocksByRevision.set(revision, blocksIn(event).map(blockFromJson));
    }
  }
}

type BlocksByPlace = ReadonlyMap<string, ReadonlyMap<number, readonly Block[]>>;

function contentOf(outline: Block, read: BlocksByPlace): Block {
  const place = placeOf(outline);
  const block = place === null ? undefined : read.get(place.stream)?.get(place.revision)?.[place.index];
  if (block?.id !== outline.id || block.digest !== outline.digest) {
    throw new SnapshotDamagedError(`block ${idOf(outline)} is not where it is said to be`);
  }
  return block;
}

function rangesOf(revisions: readonly number[]): readonly { readonly first: number; readonly last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  for (const revision of revisions.toSorted((left, right) => left - right)) {
    const range = ranges.at(-1);
    if (range !== undefined && revision - range.last <= maxGap) range.last = revision;
    else ranges.push({ first: revision, last: revision });
  }
  return ranges;
}
