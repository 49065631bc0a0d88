import { Block, blockKinds, idOf } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId, BlockName } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import { snapshotListName } from "./lists.ts";

/** Where the log holds a block: the event, and the block's index in it. */
export type BlockPlace = { readonly stream: string; readonly revision: number; readonly index: number };

// By object: two versions of a block may differ only in what the provider said about them.
const placeByBlock = new WeakMap<Block, BlockPlace>();

/** Where a block read from an event is stored; null if no event holds it yet. */
export const blockPlaceOf = (block: Block): BlockPlace | null => placeByBlock.get(block) ?? null;

/**
 * Records where the blocks of an event are stored.
 *
 * @param turns - The Turns of the open run: its process may hold a block as a different object than the event.
 */
export function notePlaces({ event, stream, revision }: RecordedEvent, turns: RunTurns | undefined): void {
  for (const [index, json] of blocksIn(event).entries()) {
    for (const block of [blockFromJson(json), turns?.version(json.id, json.digest) ?? null]) {
      if (block !== null && !placeByBlock.has(block)) placeByBlock.set(block, { stream, revision, index });
    }
  }
}

/**
 * A section of a Turn as a snapshot refers to it: the chunk that lists its blocks, their number, and the digest of the Turn up
 * to their end. A chunk is named by its content, written once, and shared by all snapshots with that section.
 */
export type ChunkRef = readonly [name: string, length: number, digest: string];

/** A chunk as the snapshot writer keeps it: the next snapshot looks for sections that are unchanged. */
export type Chunk = { readonly name: string; readonly digest: string; readonly blocks: readonly Block[] };

export const refOf = ({ name, digest, blocks }: Chunk): ChunkRef => [name, blocks.length, digest];

/** The maximum number of blocks in a chunk. */
const maxChunkBlocks = 256;

/**
 * Splits a Turn into chunks: those of `before` whose section occurs in it unchanged, anywhere, and new ones for the rest. Null
 * if a block is not in any event yet.
 */
export function cutTurn(
  turn: Turn,
  before: readonly Chunk[],
  { stream, from = 0 }: { readonly stream: string; readonly from?: number },
): readonly Chunk[] | null {
  const chunkByFirst = new Map(before.map((chunk) => [chunk.blocks[0], chunk]));
  const blocks = turn.after(from);
  const stretches: ChunkRange[] = [];
  for (let place = 0; place < blocks.length; ) {
    const known = chunkByFirst.get(blocks[place]);
    if (known?.blocks.every((block, index) => block === blocks[place + index])) {
      stretches.push({ blocks: known.blocks, name: known.name });
      place += known.blocks.length;
      continue;
    }
    const block = blocks[place];
    const last = stretches.at(-1);
    if (block === undefined || blockPlaceOf(block) === null) return null;
    if (last?.name === null && last.blocks.length < maxChunkBlocks) last.blocks.push(block);
    else stretches.push({ blocks: [block], name: null });
    place += 1;
  }
  let length = from;
  return stretches.map(({ blocks, name }) => {
    length += blocks.length;
    const digest = turn.contextAt(length);
    return { name: name ?? snapshotListName(chunkText(blocks, stream)), digest, blocks };
  });
}

/** A chunk of an earlier snapshot, or a new one that is being filled. */
type ChunkRange =
  | { readonly blocks: readonly Block[]; readonly name: string }
  | { readonly blocks: Block[]; readonly name: null };

/** The chunks of a Turn that a snapshot refers to. */
export function chunksOf(turn: Turn, refs: readonly ChunkRef[]): readonly Chunk[] {
  const { blocks } = turn;
  let start = 0;
  return refs.map(([name, length, digest]) => {
    start += length;
    return { name, digest, blocks: blocks.slice(start - length, start) };
  });
}

/**
 * The text of a chunk: one line per block, `<revision> <index> <kind> <id> <digest>`, with the digest in base64url. If the event is
 * in an ancestor's stream, not in the snapshot's own, the stream's name follows.
 */
export const chunkText = (blocks: readonly Block[], own: string): string =>
  blocks
    .map((block) => {
      const { stream, revision, index } = blockPlaceOf(block) ?? { stream: own, revision: -1, index: -1 };
      const line = `${revision} ${index} ${blockKinds.indexOf(block.kind)} ${idOf(block)} ${Buffer.from(block.recordedAs, "hex").toString("base64url")}`;
      return stream === own ? line : `${line} ${stream}`;
    })
    .join("\n");

type SavedChunks = {
  readonly stream: string;
  /** The names of the conversation. */
  readonly names: BlockNames;
  readonly textByName: ReadonlyMap<string, string>;
};

/** The Turn that continues with the listed sections; a list is parsed when one of its blocks is first used. */
export function turnOfChunks(
  prefix: Turn,
  refs: readonly ChunkRef[],
  { stream, names, textByName }: SavedChunks,
): Turn {
  return refs.reduce((turn, [name, length, digest]) => {
    const text = textByName.get(name) ?? "";
    return Turn.stored(turn, { length, digest, read: () => readChunk(text, { own: stream, names, length }) });
  }, prefix);
}

/** The blocks of a chunk, as outlines. A line that cannot be parsed gives a block in no event, so reading its content is a miss. */
export function readChunk(
  text: string,
  { own, names, length }: { readonly own: string; readonly names: BlockNames; readonly length: number },
): readonly Block[] {
  const lines = text.split("\n");
  return Array.from({ length }, (_, n) => {
    const [revision, index, kindNumber, id = "", digestText = "", stream = own] = lines[n]?.split(" ") ?? [];
    const digest = Buffer.from(digestText, "base64url").toString("hex");
    const kind = blockKinds[Number(kindNumber)] ?? "other";
    // The list was written from valid ids and names, and its own name is the digest of its text.
    const block = Block.outline({ id: id as BlockId, kind, digest: digest as BlockName }, names);
    placeByBlock.set(block, { stream, revision: Number(revision ?? -1), index: Number(index ?? -1) });
    return block;
  });
}
