import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { idOf } from "../../src/domain/block.ts";
import type { Turn } from "../../src/domain/turn.ts";
import { blockChanges } from "../../src/domain/turn-difference.ts";
import { blockId, said, turnOf, turnPairs } from "../support/domain/turn-builders.ts";

const displacedBetween = (before: Turn, after: Turn) => {
  const { removed, placed } = blockChanges(before, after);
  const moved = placed.filter(({ isMove }) => isMove);
  return { removed: removed.map(idOf), moved: moved.map(({ block }) => idOf(block)) };
};

describe("between two Turns", () => {
  const before = turnOf(1, 2, 3, 4, 5);

  test("blocks that are missing were removed, wherever others went", () => {
    const after = before.remove(said(2)).move(said(5), 0);
    expect(displacedBetween(before, after).removed).toEqual([blockId(2)]);
  });

  test("the fewest blocks that explain the other order were moved", () => {
    expect(displacedBetween(before, before.move(said(1), 3)).moved).toEqual([blockId(1)]);
    expect(displacedBetween(before, before.move(said(5), 0).insert(2, said(9))).moved).toEqual([blockId(5)]);
  });

  test("nothing was moved by edits, removals, insertions and what is appended", () => {
    const after = before.replace(said(2), said(2, "edited")).remove(said(3)).insert(1, said(9)).append(said(10));
    expect(displacedBetween(before, after).moved).toEqual([]);
  });

  test("blocks that were neither removed nor moved keep their order", () => {
    fc.assert(
      fc.property(turnPairs(12), ([from, to]) => {
        const gone = new Set([...displacedBetween(from, to).removed, ...displacedBetween(from, to).moved]);
        const kept = from.blocks.map(idOf).filter((id) => !gone.has(id));
        expect(to.blocks.map(idOf).filter((id) => kept.includes(id))).toEqual(kept);
      }),
    );
  });
});
