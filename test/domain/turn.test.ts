import fc from "fast-check";
import { expect, test } from "vitest";
import type { Block } from "../../src/domain/block.ts";
import { emptyContext, extendContext } from "../../src/domain/context.ts";
import { system, user } from "../../src/domain/make-block.ts";
import { Turn } from "../../src/domain/turn.ts";
import { answered, blockId, numbersOf, said, turnOf } from "../support/domain/turn-builders.ts";

test("the empty Turn has no blocks and the digest of the empty context", () => {
  expect(Turn.empty.length).toBe(0);
  expect(Turn.empty.blocks).toEqual([]);
  expect(Turn.empty.last).toBeUndefined();
  expect(Turn.empty.at(-1)).toBeUndefined();
  expect(Turn.empty.digest).toBe(emptyContext);
  expect([...Turn.empty.contexts()]).toEqual([{ length: 0, digest: emptyContext }]);
});

test("the digest is the running hash of the blocks' digests, however the Turn was put together", () => {
  const digest = [1, 2, 3].reduce((context, n) => extendContext(context, said(n).recordedAs), emptyContext);
  expect(turnOf(1, 2, 3).digest).toBe(digest);
  expect(turnOf(1).append(said(2)).append(said(3)).digest).toBe(digest);
  expect(turnOf(1, 9, 3).replace(said(9), said(2)).digest).toBe(digest);
  expect(turnOf(3, 1, 2).move(said(3), 2).digest).toBe(digest);
  expect(turnOf(1, 3, 2).digest).not.toBe(digest);
});

test("at counts from the end when negative, and finds nothing outside", () => {
  const turn = turnOf(1, 2).append(said(3));
  expect([0, 2, -1, -3].map((index) => turn.at(index)?.text)).toEqual(["text 1", "text 3", "text 3", "text 1"]);
  expect([3, -4].map((index) => turn.at(index))).toEqual([undefined, undefined]);
  expect(turn.last).toBe(turn.at(-1));
});

test("finds a block and its place by id", () => {
  const turn = turnOf(1, 2).append(said(3)).append(user("a draft"));
  expect(turn.indexOf(blockId(3))).toBe(2);
  expect(turn.find(blockId(1))).toBe(turn.at(0));
  expect(turn.indexOf(blockId(4))).toBe(-1);
  expect(turn.find(blockId(4))).toBeUndefined();
});

test("after gives the blocks from a place on, all of them from below the beginning", () => {
  const turn = turnOf(1, 2).append(said(3));
  const lengths = (): readonly number[] => [-1, 0, 1, 2, 3, 9].map((index) => turn.after(index).length);
  expect(lengths()).toEqual([3, 3, 2, 1, 0, 0]);
  // Once the blocks were read, another way leads to them.
  expect(turn.blocks).toHaveLength(3);
  expect(lengths()).toEqual([3, 3, 2, 1, 0, 0]);
});

test("appending, inserting and putting blocks in place leave the old Turn as it was", () => {
  const turn = turnOf(1, 2, 3);
  expect(numbersOf(turn.append(said(4), said(5)))).toEqual([1, 2, 3, 4, 5]);
  expect(numbersOf(turn.concat([said(4), said(5)]))).toEqual([1, 2, 3, 4, 5]);
  expect(numbersOf(turn.insert(1, said(4)))).toEqual([1, 4, 2, 3]);
  expect(numbersOf(turn.insert(-1, said(4)))).toEqual([4, 1, 2, 3]);
  expect(numbersOf(turn.insert(9, said(4)))).toEqual([1, 2, 3, 4]);
  expect(numbersOf(turn.with([said(4), said(2)]))).toEqual([4, 2]);
  expect(numbersOf(turn.slice(2))).toEqual([1, 2]);
  expect(numbersOf(turn.slice(-1))).toEqual([]);
  expect(numbersOf(turn)).toEqual([1, 2, 3]);
});

test("keeps its blocks when the caller's array changes later", () => {
  const blocks = [said(1), said(2)];
  const turns = [Turn.of(blocks), Turn.empty.concat(blocks), Turn.empty.with(blocks)];
  blocks.pop();
  expect(turns.map((turn) => turn.blocks.length)).toEqual([2, 2, 2]);
});

test("takes a list of any length", () => {
  const block = said(1);
  const many = Array.from({ length: 200_000 }, () => block);
  expect(
    Turn.of(many)
      .insert(0, block)
      .with(many)
      .filter(() => true).length,
  ).toBe(200_000);
});

test("removes, filters and maps, and is the same Turn where nothing changes", () => {
  const turn = turnOf(1, 2, 3);
  expect(numbersOf(turn.remove(said(2), said(9)))).toEqual([1, 3]);
  expect(numbersOf(turn.filter((block) => block.text !== "text 1"))).toEqual([2, 3]);
  expect(turn.map((block) => block.withText("other")).blocks.map((block) => block.text)).toEqual(
    Array(3).fill("other"),
  );
  const unchanged = [turn.remove(said(9)), turn.filter(() => true), turn.map((block) => block), turn.append()];
  expect([...unchanged, turn.insert(1), turn.with([...turn.blocks])].every((same) => same === turn)).toBe(true);
});

test("a replacement takes over the id of the block it replaces, whatever its own", () => {
  const turn = turnOf(1, 2).replace(said(2), user("a draft"));
  expect(turn.find(blockId(2))?.text).toBe("a draft");
  expect(numbersOf(turn.replace(said(1), said(7)))).toEqual([1, 2]);
});

test("replaces each named block by what the change makes of its present form", () => {
  const turn = turnOf(1, 2, 3).replaceEach([said(1), said(3, "of old")], (block) => block.withText(`${block.text}!`));
  expect(turn.blocks.map((block) => block.text)).toEqual(["text 1!", "text 2", "text 3!"]);
});

test("a change that gives the block back leaves the Turn as it is", () => {
  const turn = turnOf(1, 2);
  expect(turn.replaceEach(turn.blocks, (block) => block)).toBe(turn);
});

test("drafts are compared by object, because they have no id", () => {
  const [one, other] = [user("same"), user("same")];
  expect(Turn.of([one, other]).remove(one).blocks).toEqual([other]);
  expect(Turn.of([one, other]).remove(one).at(0)).toBe(other);
});

test("moves a block to the given place in the result", () => {
  const turn = turnOf(1, 2, 3, 4);
  expect(numbersOf(turn.move(said(1), 2))).toEqual([2, 3, 1, 4]);
  expect(numbersOf(turn.move(said(4), 0))).toEqual([4, 1, 2, 3]);
  expect(numbersOf(turn.move(said(2), 99))).toEqual([1, 3, 4, 2]);
  expect(turn.move(said(2), 1)).toBe(turn);
  expect(turn.move(said(9), 1)).toBe(turn);
});

test("inserts once for a key, though the block was recorded, read back, edited or moved since", () => {
  const clock = (time: string): Block => system(`It is ${time}.`);
  const turn = turnOf(1, 2).insertOnce("clock", clock("noon"), 0);
  expect(turn.blocks.map((block) => block.text)).toEqual(["It is noon.", "text 1", "text 2"]);
  expect(turn.insertOnce("clock", clock("one"))).toBe(turn);
  const [inserted] = turn.blocks;
  if (inserted === undefined) throw new Error("the block is there");
  const changed = turn.replace(inserted, clock("midnight")).move(inserted, 2);
  expect(changed.insertOnce("clock", clock("one"))).toBe(changed);
  const other = turn.insertOnce("calendar", clock("Monday"));
  expect(other.length).toBe(4);
  expect(other.remove(inserted).insertOnce("clock", clock("one")).last?.text).toBe("It is one.");
});

test("a block that only says the same is no insertion", () => {
  const turn = Turn.of([said(1, "Go on.")]);
  expect(turn.insertOnce("nudge", user("Go on.")).length).toBe(2);
});

test("contexts are the digests of all beginnings, longest first", () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(5), { maxLength: 4 }), { maxLength: 8 }), (tails) => {
      let [turn, count] = [Turn.empty, 0];
      for (const tail of tails) turn = turn.append(...tail.map((text) => said(count++, String(text))));
      const naive = [{ length: 0, digest: emptyContext }];
      let context = emptyContext;
      for (const [index, block] of turn.blocks.entries()) {
        context = extendContext(context, block.recordedAs);
        naive.unshift({ length: index + 1, digest: context });
      }
      expect([...turn.contexts()]).toEqual(naive);
      for (const { length, digest } of naive) {
        expect(turn.contextAt(length)).toBe(digest);
        expect(turn.slice(length).digest).toBe(digest);
      }
    }),
  );
});

test("the context before the beginning is empty, the one past the end the whole", () => {
  const turn = turnOf(1, 2);
  expect([turn.contextAt(-1), turn.contextAt(0)]).toEqual([emptyContext, emptyContext]);
  expect([turn.contextAt(2), turn.contextAt(9)]).toEqual([turn.digest, turn.digest]);
});

test("is written as the list of its blocks", () => {
  const turn = Turn.of([said(1), answered(2, "msg_1")]);
  expect(JSON.parse(JSON.stringify(turn))).toEqual(JSON.parse(JSON.stringify(turn.blocks)));
});
