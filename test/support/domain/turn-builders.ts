import fc from "fast-check";
import { Block } from "../../../src/domain/block.ts";
import { type BlockId, blockIdSchema } from "../../../src/domain/ids.ts";
import { assistant, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import type { Wire } from "../../../src/domain/wire.ts";

/** The id of the n-th block of a test. */
export const blockId = (n: number): BlockId => blockIdSchema.parse(`blk_${String(n).padStart(16, "0")}`);

/** A user's block saying its number, unless told what to say. */
export const said = (n: number, text = `text ${n}`): Block => user(text).withId(blockId(n));

/** An answer that a provider issued under an item id. */
export const answered = (n: number, itemId: string): Block =>
  assistant(`answer ${n}`).withId(blockId(n)).withWire({ scope: "test", itemId });

/** A Turn of blocks that say their numbers. */
export const turnOf = (...numbers: readonly number[]): Turn => Turn.of(numbers.map((n) => said(n)));

/** The numbers of a Turn's blocks, in order. */
export const numbersOf = (turn: Turn): readonly number[] =>
  turn.blocks.map((block) => Number(block.id?.slice("blk_".length)));

/** What two Turns have to agree in to be the same: ids, content, and what the provider said. */
export const versionsOf = (turn: Turn): readonly unknown[] =>
  turn.blocks.map(({ id, digest, wire }) => ({ id, digest, wire }));

/** Two Turns, the second made of the first by a random script of edits. */
export const turnPairs = (maxBlocks: number): fc.Arbitrary<readonly [Turn, Turn]> =>
  fc
    .tuple(fc.array(contents, { maxLength: maxBlocks }), fc.array(steps, { maxLength: 12 }), fc.boolean())
    .map(([texts, script, isShared]) => {
      const from = Turn.of(texts.map((content, n) => blockSaying(n, content)));
      const blocks = [...from.blocks];
      for (const [n, step] of script.entries()) change(blocks, step, 1000 + n);
      return [from, isShared ? from.with(blocks) : Turn.of(blocks)];
    });

type Content = { readonly text: string; readonly wire: Wire | null; readonly isReasoning: boolean };
type Step = { readonly op: "insert" | "copy" | "replace" | "remove" | "move" | "swap" | "reissue" | "reload" } & {
  readonly at: number;
  readonly to: number;
  readonly content: Content;
};

// Few texts and item ids, so that blocks of other ids often have equal content.
const contents: fc.Arbitrary<Content> = fc.record({
  text: fc.constantFrom("yes", "no", "perhaps"),
  wire: fc.option(fc.record({ scope: fc.constantFrom("one", "two"), itemId: fc.constantFrom("item_1", "item_2") })),
  isReasoning: fc.boolean(),
});

const steps: fc.Arbitrary<Step> = fc.record({
  op: fc.constantFrom("insert", "copy", "replace", "remove", "move", "swap", "reissue", "reload"),
  at: fc.nat(60),
  to: fc.nat(60),
  content: contents,
});

function blockSaying(n: number, { text, wire, isReasoning }: Content): Block {
  const id = blockId(n);
  if (!isReasoning) return user(text).withId(id).withWire(wire);
  return new Block({ id, kind: "reasoning", payload: { summary: [{ type: "summary_text", text }] }, wire });
}

function change(blocks: Block[], { op, at, to, content }: Step, freshNumber: number): void {
  const [index, target] = [at % (blocks.length + 1), to % (blocks.length + 1)];
  if (op === "insert") {
    blocks.splice(index, 0, blockSaying(freshNumber, content));
    return;
  }
  const [block, other] = [blocks[index], blocks[target]];
  if (block === undefined) return;
  if (op === "copy") blocks.splice(target, 0, block.withId(blockId(freshNumber)));
  else if (op === "replace") blocks[index] = block.withText(content.text);
  else if (op === "remove") blocks.splice(index, 1);
  else if (op === "move") blocks.splice(target, 0, ...blocks.splice(index, 1));
  else if (op === "reissue") blocks[index] = block.withWire(content.wire);
  else if (op === "reload") blocks[index] = new Block(block);
  else if (other !== undefined) [blocks[index], blocks[target]] = [other, block];
}
