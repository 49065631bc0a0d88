import { expect, test } from "vitest";
import type { Block } from "../../src/domain/block.ts";
import { blockFromJson, blockToJson } from "../../src/domain/block-json.ts";
import { user } from "../../src/domain/make-block.ts";
import { Turn } from "../../src/domain/turn.ts";
import { blockId } from "../support/domain/turn-builders.ts";

const draft = user("hello");
const recorded = blockFromJson(structuredClone(blockToJson(draft.withId(blockId(1)))));

/** Assigns as JavaScript does, which has no `readonly`. */
const assign = (target: object, member: string, value: unknown): void => {
  (target as Record<string, unknown>)[member] = value;
};

test.each<[string, Block]>([
  ["a draft", draft],
  ["a block that was recorded", recorded],
  ["a changed block", recorded.withText("changed")],
  ["a block under another id", recorded.withId(blockId(2))],
  ["a block with a wire", recorded.withWire({ scope: "here" })],
])("assigning to a member of %s is a TypeError", (_, block) => {
  const before = JSON.stringify(block);
  const { digest } = block;
  for (const member of ["payload", "kind", "id", "wire", "anything"]) {
    expect(() => assign(block, member, { content: "evil" }), member).toThrow(TypeError);
  }
  expect(JSON.stringify(block)).toBe(before);
  expect(block.digest).toBe(digest);
});

test.each<[string, Turn]>([
  ["a Turn", Turn.of([recorded])],
  ["the empty Turn", Turn.empty],
  ["a longer Turn", Turn.of([recorded]).append(draft)],
  ["a Turn whose blocks are still stored", Turn.stored(Turn.empty, { length: 1, digest: "", read: () => [recorded] })],
])("assigning to a member of %s is a TypeError", (_, turn) => {
  const { length } = turn;
  for (const member of ["length", "blocks", "digest", "anything"]) {
    expect(() => assign(turn, member, 0), member).toThrow(TypeError);
  }
  expect(turn).toHaveLength(length);
});
