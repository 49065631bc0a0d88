import crypto from "node:crypto";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import type { Block } from "../../src/domain/block.ts";
import { emptyContext, extendContext } from "../../src/domain/context.ts";
import { diffTurns } from "../../src/domain/diff-turns.ts";
import { applyEdits } from "../../src/domain/edits.ts";
import { Turn } from "../../src/domain/turn.ts";
import { blockId, numbersOf, said } from "../support/domain/turn-builders.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** How many digests of any kind an action computes: Node's own hash is counted, ours stays as it is. */
function hashesOf(action: () => unknown): number {
  const hash = vi.spyOn(crypto, "hash");
  action();
  return hash.mock.calls.length;
}

const blocks = (count: number): readonly Block[] => Array.from({ length: count }, (_, n) => said(n));

test("two blocks at the end of 10,000 cost two block digests and two context digests", () => {
  const long = Turn.of(blocks(10_000));
  expect(long.digest).toHaveLength(64);
  expect(hashesOf(() => long.append(said(10_000), said(10_001)).digest)).toBe(4);
});

test("a change near the end of 10,000 costs what comes after it, though it cuts a list in two", () => {
  const long = Turn.of(blocks(10_000));
  expect(long.digest).toHaveLength(64);
  expect(hashesOf(() => long.insert(9_998, said(10_000)).digest)).toBe(1 + 3);
  vi.restoreAllMocks();
  expect(hashesOf(() => long.replace(said(9_999), said(9_999, "other")).digest)).toBe(2);
});

test("a difference at the end of 10,000 is found and applied without any digest of what comes before", () => {
  const long = Turn.of(blocks(10_000));
  const longer = long.append(said(10_000));
  const hashes = hashesOf(() => {
    const edits = diffTurns(long, longer, () => false);
    return applyEdits(long, edits, () => undefined).length;
  });
  // The new block's own, which the edit holds.
  expect(hashes).toBe(1);
});

test("the common beginning counts the same objects, whatever they descend from", () => {
  const trunk = Turn.of(blocks(5));
  expect(trunk.commonPrefixLength(trunk)).toBe(5);
  expect(trunk.append(said(7)).commonPrefixLength(trunk.append(said(8)))).toBe(5);
  expect(trunk.slice(3).commonPrefixLength(trunk)).toBe(3);
  expect(trunk.commonPrefixLength(Turn.of(trunk.blocks).append(said(9)))).toBe(5);
  expect(trunk.commonPrefixLength(trunk.insert(2, said(7)))).toBe(2);
  expect(trunk.commonPrefixLength(Turn.empty)).toBe(0);
  expect(trunk.commonPrefixLength(Turn.of(blocks(5)))).toBe(0);
});

test("the common beginning of Turns that were edited apart is what a comparison block by block finds", () => {
  const edits = fc.array(fc.record({ isInsert: fc.boolean(), at: fc.nat(12) }), { maxLength: 6 });
  fc.assert(
    fc.property(edits, edits, (mine, yours) => {
      const trunk = Turn.of(blocks(6)).append(said(6)).append(said(7), said(8));
      const [left, right] = [mine, yours].map((script, side) =>
        script.reduce((turn, { isInsert, at }, n) => {
          const gone = turn.at(at);
          if (isInsert) return turn.insert(at, said(100 + 10 * side + n));
          return gone === undefined ? turn : turn.remove(gone);
        }, trunk),
      );
      if (left === undefined || right === undefined) throw new Error("there are two");
      const differs = left.blocks.findIndex((block, index) => block !== right.blocks[index]);
      const length = differs < 0 ? left.length : differs;
      expect(left.commonPrefixLength(right)).toBe(length);
      expect(right.commonPrefixLength(left)).toBe(length);
    }),
  );
});

test("a prefix that ends where an append began is that very Turn", () => {
  const short = Turn.of(blocks(3));
  const long = short.append(said(3)).append(said(4), said(5));
  expect(long.slice(3)).toBe(short);
  expect(long.slice(6)).toBe(long);
  expect(long.slice(5).slice(3)).toBe(short);
});

test("20,000 single appends give a Turn that every question can be asked of", () => {
  const all = blocks(20_000);
  let turn = Turn.empty;
  for (const block of all) turn = turn.append(block);
  const digest = all.reduce((context, block) => extendContext(context, block.recordedAs), emptyContext);
  expect(turn.at(0)).toBe(all[0]);
  expect(turn.indexOf(blockId(3))).toBe(3);
  expect(turn.indexOf(blockId(19_990))).toBe(19_990);
  expect(turn.digest).toBe(digest);
  expect(turn.contextAt(1)).toBe(turn.slice(1).digest);
  expect(turn.after(19_998)).toEqual(all.slice(19_998));
  expect(turn.blocks).toEqual(all);
  expect(turn.last).toBe(all.at(-1));
  expect([...turn.contexts()]).toHaveLength(20_001);
  expect(turn.append(said(20_000)).commonPrefixLength(turn)).toBe(20_000);
});

test("a chain answers the same whether or not its older Turns were read", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ count: fc.nat(100), question: fc.nat(3) }), { maxLength: 20 }), (steps) => {
      const line: Turn[] = [Turn.empty];
      let count = 0;
      for (const { count: more, question } of steps) {
        const added = Array.from({ length: more }, () => said(count++));
        const turn = (line.at(-1) ?? Turn.empty).concat(added);
        line.push(turn);
        if (question === 1) expect(numbersOf(turn)).toHaveLength(count);
        if (question === 2) expect(turn.indexOf(blockId(0))).toBe(count === 0 ? -1 : 0);
      }
      for (const turn of line) {
        expect(numbersOf(turn)).toEqual(Array.from({ length: turn.length }, (_, n) => n));
        for (const n of [0, 1, turn.length - 1]) {
          expect(turn.indexOf(blockId(Math.max(0, n)))).toBe(n >= 0 && n < turn.length ? n : -1);
          expect(turn.at(n)).toBe(turn.blocks[n < 0 ? turn.length + n : n]);
          expect(turn.after(n)).toEqual(turn.blocks.slice(Math.max(0, n)));
        }
        expect(turn.indexOf(blockId(turn.length))).toBe(-1);
      }
    }),
  );
});
