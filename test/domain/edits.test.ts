import { expect, test } from "vitest";
import { blockToJson } from "../../src/domain/block-json.ts";
import { applyEdits, type BlockContent, describeEdit, type Edit, editSchema } from "../../src/domain/edits.ts";
import type { Turn } from "../../src/domain/turn.ts";
import { blockId, numbersOf, said, turnOf } from "../support/domain/turn-builders.ts";

const content = (n: number, text?: string): BlockContent => ({ block: blockToJson(said(n, text)) });
const insert = (after: number | null, ...numbers: readonly number[]): Edit => ({
  op: "insert",
  after: after === null ? null : blockId(after),
  blocks: numbers.map((n) => content(n)),
});
const remove = (...numbers: readonly number[]): Edit => ({ op: "remove", blockIds: numbers.map(blockId) });
const move = (n: number, after: number | null): Edit => ({
  op: "move",
  blockId: blockId(n),
  after: after === null ? null : blockId(after),
});
const replace = (n: number, text: string): Edit => ({ op: "replace", blockId: blockId(n), block: content(n, text) });

const edited = (turn: Turn, ...edits: readonly Edit[]): Turn => applyEdits(turn, edits, () => undefined);

test("inserts after a block, and at the beginning", () => {
  expect(numbersOf(edited(turnOf(1, 2), insert(1, 7, 8)))).toEqual([1, 7, 8, 2]);
  expect(numbersOf(edited(turnOf(1, 2), insert(null, 7)))).toEqual([7, 1, 2]);
  expect(numbersOf(edited(turnOf(), insert(null, 7, 8)))).toEqual([7, 8]);
});

test("inserts after a block that an earlier edit of the list put in place", () => {
  expect(numbersOf(edited(turnOf(1, 2), insert(2, 7), insert(7, 8), insert(2, 9)))).toEqual([1, 2, 9, 7, 8]);
  expect(numbersOf(edited(turnOf(1, 2, 3), move(1, 3), insert(1, 8)))).toEqual([2, 3, 1, 8]);
});

test("removes blocks before it places any, in any order of the edits", () => {
  expect(numbersOf(edited(turnOf(1, 2, 3), insert(1, 7), remove(2)))).toEqual([1, 7, 3]);
  expect(numbersOf(edited(turnOf(1, 2, 3), move(3, null), move(1, 3)))).toEqual([3, 1, 2]);
});

test("puts a removed id back when an insert brings it", () => {
  expect(numbersOf(edited(turnOf(1, 2, 3), remove(1), insert(3, 1)))).toEqual([2, 3, 1]);
});

test("replaces a block where it is, or where it is moved to", () => {
  const texts = (turn: Turn): readonly string[] => turn.blocks.map((block) => block.text);
  expect(texts(edited(turnOf(1, 2, 3), replace(2, "other")))).toEqual(["text 1", "other", "text 3"]);
  expect(texts(edited(turnOf(1, 2, 3), move(2, 3), replace(2, "other")))).toEqual(["text 1", "text 3", "other"]);
});

test("keeps the block objects that no edit replaces", () => {
  const turn = turnOf(1, 2, 3, 4);
  const result = edited(turn, move(3, 1), remove(2));
  expect(result.blocks.every((block) => block === turn.find(blockId(Number(block.id?.slice(4)))))).toBe(true);
});

test("shares what comes before the first change", () => {
  const turn = turnOf(1, 2).append(said(3), said(4));
  expect(edited(turn, insert(4, 5)).slice(4)).toBe(turn);
  expect(edited(turn, insert(2, 5)).slice(2)).toBe(turn.slice(2));
  expect(edited(turn, move(4, 2)).slice(2)).toBe(turn.slice(2));
});

test("gives the same Turn when there is nothing to change", () => {
  const turn = turnOf(1, 2);
  expect(edited(turn)).toBe(turn);
});

test("takes a block version that the log holds from those who know it", () => {
  const held = said(7);
  const ref: Edit = { op: "insert", after: null, blocks: [{ ref: { id: blockId(7), digest: held.recordedAs } }] };
  const resolve = (version: { readonly digest: string }) => (version.digest === held.digest ? held : undefined);
  expect(applyEdits(turnOf(1), [ref], resolve).at(0)).toBe(held);
});

test("a version that the log does not hold is damage, and so is one under another id", () => {
  const { recordedAs: digest } = said(7);
  const edits: readonly Edit[] = [{ op: "insert", after: null, blocks: [{ ref: { id: blockId(7), digest } }] }];
  expect(() => applyEdits(turnOf(1), edits, () => undefined)).toThrow(
    expect.objectContaining({ code: "unknown-block-version" }),
  );
  expect(() => applyEdits(turnOf(1), edits, () => said(8))).toThrow(
    expect.objectContaining({ code: "unknown-block-version" }),
  );
});

const damages: readonly (readonly [string, readonly Edit[]])[] = [
  ["removes a block that is not there", [remove(9)]],
  ["removes a block twice", [remove(1), remove(1)]],
  ["names a block twice in one removal", [remove(1, 1)]],
  ["removes a block that moves", [move(1, 2), remove(1)]],
  ["moves a block that is removed", [remove(1), move(1, 2)]],
  ["moves a block twice", [move(1, 2), move(1, null)]],
  ["moves a block that is not there", [move(9, 1)]],
  ["moves a block after itself", [move(1, 1)]],
  ["moves a block after one that is not in place yet", [move(1, 2), move(2, 3)]],
  ["inserts after a block that is not there", [insert(9, 7)]],
  ["inserts after a block that is removed", [remove(2), insert(2, 7)]],
  ["inserts after a block that comes later in the list", [insert(8, 7), insert(1, 8)]],
  ["inserts a block that is there", [insert(3, 1)]],
  ["inserts a block that is there, further on", [insert(1, 3)]],
  ["inserts a block twice", [insert(1, 7), insert(2, 7)]],
  ["inserts a block that moves", [insert(1, 3), move(3, null)]],
  ["replaces a block that is not there", [replace(9, "other")]],
  ["replaces a block twice", [replace(1, "other"), replace(1, "another")]],
  ["replaces a block that is removed", [remove(1), replace(1, "other")]],
  ["removes a block that is replaced", [replace(1, "other"), remove(1)]],
  ["replaces a block by one of another id", [{ op: "replace", blockId: blockId(1), block: content(2) }]],
];

test.each(damages)("is damage when an edit %s", (_, edits) => {
  expect(() => edited(turnOf(1, 2, 3), ...edits)).toThrow(expect.objectContaining({ code: "edit-does-not-apply" }));
});

test("an edit that does not apply is named, without its content", () => {
  expect(() => edited(turnOf(1, 2, 3), insert(9, 7, 8))).toThrow(
    `cannot insert ${blockId(7)}, ${blockId(8)} after ${blockId(9)}: `,
  );
});

test("every edit has a phrase for people", () => {
  expect([remove(1, 2), move(1, null), move(1, 2), replace(1, "other")].map(describeEdit)).toEqual([
    `remove ${blockId(1)}, ${blockId(2)}`,
    `move ${blockId(1)} to the beginning`,
    `move ${blockId(1)} after ${blockId(2)}`,
    `replace ${blockId(1)}`,
  ]);
});

test("edits of the log are strict: nothing unknown, nothing empty, no half content", () => {
  const wrong: readonly object[] = [
    { ...remove(1), by: "me" },
    { op: "remove", blockIds: [] },
    { op: "insert", after: null, blocks: [] },
    { op: "insert", after: "nobody", blocks: [content(1)] },
    { op: "insert", after: null, blocks: [{ ...content(1), ref: { id: blockId(1), digest: said(1).digest } }] },
    { op: "insert", after: null, blocks: [{ ref: { id: blockId(1), digest: "short" } }] },
    { op: "replace", blockId: blockId(1), block: {} },
    { op: "swap", blockIds: [blockId(1), blockId(2)] },
  ];
  expect(wrong.filter((edit) => editSchema.safeParse(edit).success)).toEqual([]);
});
