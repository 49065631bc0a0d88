import { canonicalJson } from "../base/canonical-json.ts";
import { Block, idOf } from "./block.ts";
import type { BlockId } from "./ids.ts";
import type { Turn } from "./turn.ts";

/** The blocks that are elsewhere in a second Turn, new there, or gone, by id. */
export type PlaceChanges = {
  readonly removed: readonly Block[];
  /** Blocks that are new, or have moved among those that both Turns have: the fewest that explain the difference, in their order. */
  readonly placed: readonly Placed[];
};

/** All changes of blocks between two Turns. A block may be modified and placed. */
export type BlockChanges = PlaceChanges & {
  /** Blocks with the same id but other content, or other provider data. */
  readonly modified: readonly ModifiedBlock[];
};

export type ModifiedBlock = { readonly before: Block; readonly after: Block };

/** A block of the second Turn, and the one before it there. */
export type Placed = { readonly block: Block; readonly after: BlockId | null; readonly isMove: boolean };

/**
 * Compares two Turns, in each of which ids are unique. The cost depends on what lies between the prefix that they share by descent and
 * their end; blocks that are only modified there are compared once.
 */
export function blockChanges(from: Turn, to: Turn): BlockChanges {
  const { left, right, start, end, gone, come, places, ...changes } = compared(from, to);
  const modified: ModifiedBlock[] = [];
  const note = (before: Block | undefined, after: Block | undefined): void => {
    if (before === undefined || after === undefined || isSameVersion(before, after)) return;
    modified.push({ before, after });
  };
  for (let place = 0; place < start; place += 1) note(left[place], right[place]);
  for (const [index, after] of come.entries()) note(gone[places[index] ?? -1], after);
  for (let fromEnd = end; fromEnd > 0; fromEnd -= 1) note(left[left.length - fromEnd], right[right.length - fromEnd]);
  return { ...changes, modified };
}

/** The same without comparing contents, for callers that only need the blocks that came, went and moved. */
export function placeChanges(from: Turn, to: Turn): PlaceChanges {
  const { removed, placed } = compared(from, to);
  return { removed, placed };
}

function compared(from: Turn, to: Turn) {
  const shared = from.commonPrefixLength(to);
  const [left, right] = [from.after(shared), to.after(shared)];
  const { start, end } = sameEnds(left, right);
  const [gone, come] = [left.slice(start, left.length - end), right.slice(start, right.length - end)];
  const placeById = new Map(gone.map((block, place) => [idOf(block), place]));
  const places = come.map((block) => placeById.get(idOf(block)));
  const kept = new Set(places);
  const fixed = new Set(longestIncreasingSubsequence(places.filter((place) => place !== undefined)));
  const beforeAll = shared + start === 0 ? undefined : to.at(shared + start - 1);
  const placed = come.flatMap((block, index): Placed[] => {
    const place = places[index];
    if (place !== undefined && fixed.has(place)) return [];
    const before = come[index - 1] ?? beforeAll;
    return [{ block, after: before === undefined ? null : idOf(before), isMove: place !== undefined }];
  });
  const removed = gone.filter((_, place) => !kept.has(place));
  return { left, right, start, end, gone, come, places, removed, placed };
}

/** The difference of two Turns for an app or a person. A block that was moved and modified is in both lists. */
export type TurnDifference = {
  readonly added: readonly Block[];
  readonly removed: readonly Block[];
  readonly modified: readonly ModifiedBlock[];
  readonly moved: readonly Block[];
};

/** Compares two Turns by what the model reads of them. */
export function turnDifference(from: Turn, to: Turn): TurnDifference {
  const { removed, modified, placed } = blockChanges(from, to);
  return {
    added: placed.filter(({ isMove }) => !isMove).map(({ block }) => block),
    removed,
    modified: modified.filter(({ before, after }) => !Block.areEqual(before, after)),
    moved: placed.filter(({ isMove }) => isMove).map(({ block }) => block),
  };
}

/**
 * How many leading blocks of two Turns are equal: a binary search, because a Turn's digest covers a whole prefix. Turns of conversations that
 * record blocks under other names are compared block by block.
 */
export function equalBeginning(left: Turn, right: Turn): number {
  const shared = left.commonPrefixLength(right);
  if (shared === 0 && areNamedOtherwise(left.at(0), right.at(0))) {
    const different = left.blocks.findIndex((block, index) => {
      const there = right.at(index);
      return there === undefined || !Block.areEqual(block, there);
    });
    return different < 0 ? left.length : different;
  }
  let [equal, different] = [shared, Math.min(left.length, right.length) + 1];
  while (different - equal > 1) {
    const middle = (equal + different) >> 1;
    if (left.contextAt(middle) === right.contextAt(middle)) equal = middle;
    else different = middle;
  }
  return equal;
}

const areNamedOtherwise = (one: Block | undefined, other: Block | undefined): boolean =>
  one !== undefined && other !== undefined && Block.namesOf(one) !== Block.namesOf(other);

/** Whether two blocks are one version: equal content and equal provider data (item id and so on). */
export function isSameVersion(left: Block, right: Block): boolean {
  if (left === right) return true;
  if (left.id !== right.id || !Block.areEqual(left, right)) return false;
  if (left.wire === null || right.wire === null) return left.wire === right.wire;
  return left.wire === right.wire || canonicalJson(left.wire) === canonicalJson(right.wire);
}

type Blocks = readonly Block[];

/** How many blocks two lists share by id at their beginning, and how many of the rest at their end. */
function sameEnds(left: Blocks, right: Blocks): { readonly start: number; readonly end: number } {
  const most = Math.min(left.length, right.length);
  let start = 0;
  while (start < most && left[start]?.id === right[start]?.id) start += 1;
  let end = 0;
  while (end < most - start && left[left.length - 1 - end]?.id === right[right.length - 1 - end]?.id) end += 1;
  return { start, end };
}

/** A longest ascending subsequence of the (distinct) values: the blocks that can stay in place while the others move. */
function longestIncreasingSubsequence(values: readonly number[]): readonly number[] {
  // The piles of patience sorting: the smallest value that ends an ascending sequence of each length, and its predecessor.
  const ends: Link[] = [];
  for (const value of values) {
    const length = countBelow(ends, value);
    ends[length] = { value, before: ends[length - 1] };
  }
  const subsequence: number[] = [];
  for (let link = ends.at(-1); link !== undefined; link = link.before) subsequence.push(link.value);
  return subsequence.reverse();
}

type Link = { readonly value: number; readonly before: Link | undefined };

function countBelow(ends: readonly Link[], value: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle]?.value ?? value) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
