import { Block, idOf } from "./block.ts";
import { blockToJson } from "./block-json.ts";
import { type BlockContent, contentId, type Edit } from "./edits.ts";
import type { Turn } from "./turn.ts";
import { blockChanges, type Placed } from "./turn-difference.ts";

/**
 * The fewest edits that turn `from` into `to`: `applyEdits(from, diffTurns(from, to, …))` has the ids, versions and order of
 * `to`. All blocks have ids, unique in each Turn.
 *
 * `known` says whether the log holds exactly this version under its id and digest: an edit then refers to it instead of copying it.
 */
export function diffTurns(from: Turn, to: Turn, known: (block: Block) => boolean): readonly Edit[] {
  const { removed, modified, placed } = blockChanges(from, to);
  const contentOf = (block: Block): BlockContent =>
    known(block) ? { ref: { id: idOf(block), digest: block.recordedAs } } : { block: blockToJson(block) };
  const edits: Edit[] = [];
  if (removed.length > 0) edits.push({ op: "remove", blockIds: removed.map(idOf) });
  for (const { before, after } of modified) {
    // Two versions with one digest differ in what the provider said about them, and a reference could not tell them apart.
    const block = Block.areEqual(before, after) ? { block: blockToJson(after) } : contentOf(after);
    edits.push({ op: "replace", blockId: idOf(after), block });
  }
  for (const [first, ...others] of neighbours(placed)) {
    const { block, after, isMove } = first;
    if (isMove) edits.push({ op: "move", blockId: idOf(block), after });
    else edits.push({ op: "insert", after, blocks: [first, ...others].map((each) => contentOf(each.block)) });
  }
  return edits;
}

/** Neighbouring new blocks become one insertion; moved blocks are placed one by one. */
function neighbours(placed: readonly Placed[]): readonly [Placed, ...Placed[]][] {
  const runs: [Placed, ...Placed[]][] = [];
  for (const each of placed) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    const isNext = last !== undefined && !each.isMove && !last.isMove && each.after === last.block.id;
    if (run !== undefined && isNext) run.push(each);
    else runs.push([each]);
  }
  return runs;
}

/** Approximate size of the edits in the log, in characters, to choose between two ways of writing one Turn. */
export const editsBytes = (edits: readonly Edit[]): number => JSON.stringify(edits).length;

/** Approximate size of the edits in one event, in characters: small enough that none of their texts has to be stored as a blob. */
const maxPartBytes = 64 * 1024;

/** Splits edits that are too large for one event. Each part applies to the result of the one before. */
export function cutEdits(edits: readonly Edit[]): readonly (readonly Edit[])[] {
  if (editsBytes(edits) <= maxPartBytes) return [edits];
  const parts: Edit[][] = [];
  let bytes = 0;
  for (const edit of edits.flatMap(oneByOne)) {
    const size = editsBytes([edit]);
    const part = parts.at(-1);
    if (part === undefined || bytes + size > maxPartBytes) {
      parts.push([edit]);
      bytes = size;
    } else {
      part.push(edit);
      bytes += size;
    }
  }
  return parts;
}

/** The same edit, split into edits of one block each. */
function oneByOne(edit: Edit): readonly Edit[] {
  if (edit.op === "remove") return edit.blockIds.map((id) => ({ op: "remove", blockIds: [id] }));
  if (edit.op !== "insert") return [edit];
  let { after } = edit;
  return edit.blocks.map((content) => {
    const single: Edit = { op: "insert", after, blocks: [content] };
    after = contentId(content);
    return single;
  });
}
