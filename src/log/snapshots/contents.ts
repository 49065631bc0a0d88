import { Block } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationFold } from "../aggregate/conversation-fold.ts";
import type { EventReader } from "../codec/event-log.ts";
import { readEvent } from "../codec/recorded.ts";
import { blockPlaceOf } from "./chunks.ts";

/** Up to this many events between two needed ones are read too, instead of a second read: a store reads by pages. */
const maxGap = 64;

/**
 * Reads the contents of those blocks that are only outlines: the events that hold them, and no others. Returns false if a
 * block is not where the snapshot says.
 *
 * @throws {StoreCorruptedError} if an event is not JSON, or a blob is missing or changed.
 * @throws {UnreadableEventError} if this turnlog does not know the event.
 */
export async function readContents({ store }: EventReader, blocks: readonly Block[]): Promise<boolean> {
  const outlines = blocks.filter(({ isOutline }) => isOutline);
  const wanted = new Map<string, Map<number, Block[]>>();
  for (const block of outlines) {
    const place = blockPlaceOf(block);
    // A block that is in no event was never written.
    if (place === null || !(place.revision >= 0)) continue;
    const byRevision = wanted.get(place.stream) ?? new Map<number, Block[]>();
    wanted.set(place.stream, byRevision);
    const there = byRevision.get(place.revision);
    if (there === undefined) byRevision.set(place.revision, [block]);
    else there.push(block);
  }
  for (const [stream, byRevision] of wanted) {
    for (const { first, last } of rangesOf([...byRevision.keys()])) {
      for await (const envelope of store.readStream(stream, { from: first, limit: last - first + 1 })) {
        const there = byRevision.get(envelope.revision);
        if (there !== undefined) fill(there, blocksIn((await readEvent(store, envelope)).event).map(blockFromJson));
      }
    }
  }
  return !outlines.some(({ isOutline }) => isOutline);
}

function fill(outlines: readonly Block[], read: readonly Block[]): void {
  for (const outline of outlines) {
    const block = read[blockPlaceOf(outline)?.index ?? -1];
    if (block?.id === outline.id && block.recordedAs === outline.recordedAs) Block.fill(outline, block);
  }
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

/**
 * Reads what a request for a Turn needs if it continues from what the endpoint holds: the settings and the output of the newest
 * contexts, and the blocks after them. Returns false if something is not where the snapshot says.
 */
export async function readUnsent(
  reader: EventReader,
  fold: ConversationFold,
  { turn, scope }: { readonly turn: Turn; readonly scope: string },
): Promise<boolean> {
  const { contexts } = fold.view.server;
  for (const { digest } of turn.contexts()) {
    const held = contexts.byTurn(digest).filter((context) => context.scope === scope);
    if (held.length === 0) continue;
    for (const context of held) if (!(await fold.readSettings(reader, context.settingsDigest))) return false;
    return readContents(reader, turn.after(Math.min(...held.map(({ inputLength }) => inputLength))));
  }
  return readContents(reader, turn.blocks);
}
