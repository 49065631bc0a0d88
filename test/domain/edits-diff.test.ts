import fc from "fast-check";
import { expect, test } from "vitest";
import type { Block } from "../../src/domain/block.ts";
import { diffTurns } from "../../src/domain/diff-turns.ts";
import { applyEdits, type Edit, editSchema } from "../../src/domain/edits.ts";
import { Turn } from "../../src/domain/turn.ts";
import { isSameVersion, turnDifference } from "../../src/domain/turn-difference.ts";
import { answered, blockId, numbersOf, said, turnOf, turnPairs, versionsOf } from "../support/domain/turn-builders.ts";

const unknown = (): boolean => false;
const noVersions = (): undefined => undefined;

test("edits applied to the first Turn give the second, with ids, contents, item ids and order", () => {
  fc.assert(
    fc.property(turnPairs(40), ([from, to]) => {
      const result = applyEdits(from, diffTurns(from, to, unknown), noVersions);
      expect(versionsOf(result)).toEqual(versionsOf(to));
      expect(result.digest).toBe(to.digest);
    }),
    { numRuns: 2_000 },
  );
});

test("edits that went through the log as JSON still give the second Turn", () => {
  fc.assert(
    fc.property(turnPairs(20), ([from, to]) => {
      const stored = JSON.stringify(diffTurns(from, to, unknown));
      const edits = editSchema.array().parse(JSON.parse(stored));
      expect(JSON.stringify(edits)).toBe(stored);
      expect(versionsOf(applyEdits(from, edits, noVersions))).toEqual(versionsOf(to));
    }),
  );
});

test("versions that the log holds are referred to, and the references lead back to them", () => {
  fc.assert(
    fc.property(turnPairs(20), turnPairs(20), ([from, to], [other]) => {
      const held = [...from.blocks, ...other.blocks];
      const find = (id: unknown, digest: string): Block | undefined =>
        held.find((block) => block.id === id && block.digest === digest);
      const known = (block: Block): boolean => {
        const version = find(block.id, block.digest);
        return version !== undefined && isSameVersion(version, block);
      };
      // Going back, so that removed and replaced blocks return.
      const edits = diffTurns(to, from, known);
      expect(versionsOf(applyEdits(to, edits, ({ id, digest }) => find(id, digest)))).toEqual(versionsOf(from));
    }),
    { numRuns: 500 },
  );
});

test("a Turn differs in nothing from itself, or from the same blocks read anew", () => {
  fc.assert(
    fc.property(turnPairs(40), ([turn]) => {
      expect(diffTurns(turn, turn, unknown)).toEqual([]);
      expect(diffTurns(turn, Turn.of(turn.blocks), unknown)).toEqual([]);
    }),
  );
});

test("no more blocks move than must", () => {
  fc.assert(
    fc.property(turnPairs(7), ([from, to]) => {
      const moves = diffTurns(from, to, unknown).filter((edit) => edit.op === "move");
      expect(moves).toHaveLength(movesAtLeast(from, to));
    }),
    { numRuns: 1_000 },
  );
});

test("a replaced block, a run of new blocks and all removed blocks are one edit each", () => {
  fc.assert(
    fc.property(turnPairs(20), ([from, to]) => {
      const edits = diffTurns(from, to, unknown);
      const of = (op: Edit["op"]): number => edits.filter((edit) => edit.op === op).length;
      const isNew = to.blocks.map((block) => !from.blocks.some(({ id }) => id === block.id));
      const runs = isNew.filter((isHere, index) => isHere && isNew[index - 1] !== true).length;
      const isGone = from.blocks.some((block) => !to.blocks.some(({ id }) => id === block.id));
      const replaced = to.blocks.filter((block) =>
        from.blocks.some((old) => old.id === block.id && !isSameVersion(old, block)),
      );
      expect([of("insert"), of("remove"), of("replace")]).toEqual([runs, isGone ? 1 : 0, replaced.length]);
    }),
  );
});

test("a block that is replaced and moved is two edits", () => {
  const from = turnOf(1, 2, 3, 4);
  const to = Turn.of([said(1), said(3), said(4), said(2, "other")]);
  expect(diffTurns(from, to, unknown).map((edit) => edit.op)).toEqual(["replace", "move"]);
  expect(versionsOf(applyEdits(from, diffTurns(from, to, unknown), noVersions))).toEqual(versionsOf(to));
});

test("neighbouring new blocks are inserted by one edit, after the block before them", () => {
  const edits = diffTurns(turnOf(1, 2), turnOf(1, 7, 8, 2, 9), unknown);
  expect(edits.map((edit) => (edit.op === "insert" ? [edit.after, edit.blocks.length] : edit.op))).toEqual([
    [blockId(1), 2],
    [blockId(2), 1],
  ]);
});

test("a block whose item id alone is another is replaced, and written in full", () => {
  const [from, to] = [Turn.of([answered(1, "msg_1")]), Turn.of([answered(1, "msg_2")])];
  const [edit] = diffTurns(from, to, () => true);
  expect(edit).toMatchObject({ op: "replace", block: { block: { wire: { itemId: "msg_2" } } } });
});

test("versions differ by id, content or the provider's word on them, and not by how the word is spelt", () => {
  const block = said(1).withWire({ scope: "one", itemId: "msg_1" });
  expect(isSameVersion(block, said(1).withWire({ itemId: "msg_1", scope: "one" }))).toBe(true);
  expect(isSameVersion(block, said(1))).toBe(false);
  expect(isSameVersion(said(1), block)).toBe(false);
  expect(isSameVersion(block, said(2).withWire(block.wire))).toBe(false);
  expect(isSameVersion(block, said(1, "other").withWire(block.wire))).toBe(false);
});

test("a difference in words names what was added, removed, modified and moved, and no item ids", () => {
  const from = Turn.of([answered(0, "msg_1"), ...turnOf(1, 2, 3, 4, 5).blocks]);
  const to = Turn.of([answered(0, "msg_2"), said(5), said(1), said(2, "other"), said(9), said(4)]);
  const difference = turnDifference(from, to);
  expect({
    added: difference.added.map(({ id }) => id),
    removed: difference.removed.map(({ id }) => id),
    modified: difference.modified.map(({ before, after }) => [before.text, after.text]),
    moved: difference.moved.map(({ id }) => id),
  }).toEqual({
    added: [blockId(9)],
    removed: [blockId(3)],
    modified: [["text 2", "other"]],
    moved: [blockId(5)],
  });
});

test("an edit near the end of a long Turn is found without reading what comes before", () => {
  const long = Turn.of(Array.from({ length: 10_000 }, (_, n) => said(n)));
  const [edit, ...others] = diffTurns(long, long.append(said(10_000), said(10_001)), unknown);
  expect(edit).toMatchObject({ op: "insert", after: blockId(9_999) });
  expect(others).toEqual([]);
  const result = applyEdits(long, edit === undefined ? [] : [edit], noVersions);
  expect(numbersOf(result.slice(10_002)).slice(-2)).toEqual([10_000, 10_001]);
  expect(result.slice(10_000)).toBe(long);
});

/** By trying which of the kept blocks could all stay: the largest set that is in the same order in both Turns. */
function movesAtLeast(from: Turn, to: Turn): number {
  const kept = numbersOf(to).filter((n) => numbersOf(from).includes(n));
  const order = numbersOf(from).filter((n) => kept.includes(n));
  let maxStay = 0;
  for (let subset = 0; subset < 2 ** kept.length; subset += 1) {
    const stays = (n: number): boolean => (subset & (1 << order.indexOf(n))) !== 0;
    const [inOrder, inResult] = [order.filter(stays), kept.filter(stays)];
    if (inOrder.every((n, index) => n === inResult[index])) maxStay = Math.max(maxStay, inOrder.length);
  }
  return kept.length - maxStay;
}
