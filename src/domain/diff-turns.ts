import { canonicalJson } from "../base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../base/json.ts";
import { type Block, idOf } from "./block.ts";
import { blockToJson } from "./block-json.ts";
import type { BlockContent, Edit } from "./edits.ts";
import type { BlockId } from "./ids.ts";
import { longestIncreasingSubsequence } from "./longest-increasing-subsequence.ts";
import type { Turn } from "./turn.ts";

/**
 * The fewest edits that make `to` of `from`: `applyEdits(from, diffTurns(from, to, …))` has the ids, versions and order of
 * `to`. All blocks have ids, unique in each Turn. It costs what lies between the common beginning and the common end.
 *
 * `known` says whether the log holds exactly this version under its id and digest: then a reference is enough.
 */
export function diffTurns(from: Turn, to: Turn, known: (block: Block) => boolean): readonly Edit[] {
  const { removed, modified, placed } = compare(from, to);
  const contentOf = (block: Block): BlockContent =>
    known(block) ? { ref: { id: idOf(block), digest: block.digest } } : { block: blockToJson(block) };
  const edits: Edit[] = [];
  if (removed.length > 0) edits.push({ op: "remove", blockIds: removed.map(idOf) });
  for (const { before, after } of modified) {
    // Two versions of one digest differ in what the provider said of them; a reference would not tell them apart.
    const block = before.digest === after.digest ? { block: blockToJson(after) } : contentOf(after);
    edits.push({ op: "replace", blockId: idOf(after), block });
  }
  for (const run of placed) {
    const [first] = run.blocks;
    if (run.isMove && first !== undefined) edits.push({ op: "move", blockId: idOf(first), after: run.after });
    else edits.push({ op: "insert", after: run.after, blocks: run.blocks.map(contentOf) });
  }
  return edits;
}

/** What an app or a person asks about two Turns; a block that was moved and modified is in both lists. */
export type TurnDifference = {
  readonly added: readonly Block[];
  readonly removed: readonly Block[];
  readonly modified: readonly { readonly before: Block; readonly after: Block }[];
  readonly moved: readonly Block[];
};

/** Tells two Turns apart by what the model reads of them. */
export function turnDifference(from: Turn, to: Turn): TurnDifference {
  const { removed, modified, placed } = compare(from, to);
  const blocks = (isMove: boolean): readonly Block[] =>
    placed.filter((run) => run.isMove === isMove).flatMap((run) => run.blocks);
  return {
    added: blocks(false),
    removed,
    modified: modified.filter(({ before, after }) => before.digest !== after.digest),
    moved: blocks(true),
  };
}

/** Whether two blocks are one version: equal content, and the same word of the provider on it (its item id and so on). */
export function isSameVersion(left: Block, right: Block): boolean {
  if (left === right) return true;
  if (left.id !== right.id || left.digest !== right.digest) return false;
  if (left.wire === null || right.wire === null) return left.wire === right.wire;
  return left.wire === right.wire || canonicalJson(left.wire) === canonicalJson(right.wire);
}

/** About how many characters the edits take in the log, to choose between two ways of writing one Turn. */
export function editsBytes(edits: readonly Edit[]): number {
  return jsonLength(edits);
}

function jsonLength(value: JsonValue | undefined): number {
  if (typeof value === "string") return value.length + 2;
  let length = 2;
  if (isJsonList(value)) for (const item of value) length += jsonLength(item) + 1;
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) length += jsonLength(member) + name.length + 4;
  } else return 5;
  return length;
}

/** A block that moved, or neighbouring new ones, and the block before them. */
type Placed = { readonly isMove: boolean; readonly after: BlockId | null; readonly blocks: Block[] };

type Comparison = {
  readonly removed: readonly Block[];
  readonly modified: readonly { readonly before: Block; readonly after: Block }[];
  readonly placed: readonly Placed[];
};

function compare(from: Turn, to: Turn): Comparison {
  const { start, before, after } = differingMiddle(from, to);
  const indexById = new Map(before.map((block, index) => [idOf(block), index]));
  const ids = new Set(after.map(idOf));
  const kept = after.map((block) => indexById.get(idOf(block))).filter((index) => index !== undefined);
  const fixed = new Set(longestIncreasingSubsequence(kept));

  const modified: { readonly before: Block; readonly after: Block }[] = [];
  const placed: Placed[] = [];
  let previous = start === 0 ? undefined : from.at(start - 1);
  for (const block of after) {
    const index = indexById.get(idOf(block));
    const old = index === undefined ? undefined : before[index];
    if (old !== undefined && !isSameVersion(old, block)) modified.push({ before: old, after: block });
    if (index === undefined || !fixed.has(index)) place(placed, block, { previous, isMove: index !== undefined });
    previous = block;
  }
  return { removed: before.filter((block) => !ids.has(idOf(block))), modified, placed };
}

function place(
  placed: Placed[],
  block: Block,
  { previous, isMove }: { readonly previous: Block | undefined; readonly isMove: boolean },
): void {
  const last = placed.at(-1);
  if (!isMove && last?.isMove === false && last.blocks.at(-1) === previous) last.blocks.push(block);
  else placed.push({ isMove, after: previous === undefined ? null : idOf(previous), blocks: [block] });
}

/** What lies between the common beginning, most of which is shared by descent and costs nothing, and the common end. */
function differingMiddle(from: Turn, to: Turn) {
  let start = from.commonPrefixLength(to);
  const [left, right] = [from.after(start), to.after(start)];
  const isSameAt = (leftIndex: number, rightIndex: number): boolean => {
    const [one, other] = [left[leftIndex], right[rightIndex]];
    return one !== undefined && other !== undefined && isSameVersion(one, other);
  };
  let same = 0;
  while (isSameAt(same, same)) same += 1;
  let [leftEnd, rightEnd] = [left.length, right.length];
  while (leftEnd > same && rightEnd > same && isSameAt(leftEnd - 1, rightEnd - 1)) {
    leftEnd -= 1;
    rightEnd -= 1;
  }
  start += same;
  return { start, before: left.slice(same, leftEnd), after: right.slice(same, rightEnd) };
}
