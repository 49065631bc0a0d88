import type { Block } from "../../domain/block.ts";
import { Turn } from "../../domain/turn.ts";
import type { Provider } from "../ports/provider.ts";

/** A Turn, split into a request's instructions and its input: the context that servers hold covers only the input. */
export type SplitTurn = {
  /** The number of leading blocks of the Turn that go into the instructions. */
  readonly count: number;
  readonly instructions: readonly string[];
  readonly input: Turn;
};

/**
 * Removes the leading system blocks from the context if the endpoint takes them as instructions (rule: Settings): a changed system
 * prompt then changes a setting, and every context stays the same. Blocks with more than text stay, and so does a Turn of nothing
 * else.
 */
export function splitTurn(owner: object, turn: Turn, { systemAs }: Pick<Provider, "systemAs">): SplitTurn {
  const instructions: string[] = [];
  if (systemAs === "instructions") {
    for (let place = 0; place < turn.length; place += 1) {
      const text = instructionText(turn.at(place));
      if (text === null) break;
      instructions.push(text);
    }
  }
  const count = instructions.length === turn.length ? 0 : instructions.length;
  return {
    count,
    instructions: instructions.slice(0, count).filter((text) => text !== ""),
    input: withoutFirst(owner, turn, count),
  };
}

/** The leading system blocks, which `splitTurn` may take as instructions. */
export function leadingSystemBlocks(turn: Turn): readonly Block[] {
  const blocks: Block[] = [];
  for (let block = turn.at(0); block?.kind === "system"; block = turn.at(blocks.length)) blocks.push(block);
  return blocks;
}

/** The text of a block for a request's instructions; null if it is not a system block, or holds more than text. */
function instructionText(block: Block | undefined): string | null {
  if (block?.kind !== "system") return null;
  const isMessage = Object.keys(block.payload).every((name) => name === "role" || name === "content");
  const isPlain = isMessage && block.parts.every(isPlainText);
  return isPlain ? block.text : null;
}

const isPlainText = ({ type, text, ...others }: Block["parts"][number]): boolean =>
  type === "text" && typeof text === "string" && Object.keys(others).length === 0;

/**
 * The Turn without its first blocks. It reuses the digests that it shares with the newest Turn of the same owner, so that n new
 * blocks cost n digests, as they do for the Turn itself.
 */
export function withoutFirst(owner: object, turn: Turn, count: number): Turn {
  if (count === 0) return turn;
  const before = newest.get(owner);
  const shared = before?.count === count ? turn.commonPrefixLength(before.turn) : 0;
  const beginning = before !== undefined && shared > count ? before.rest.slice(shared - count) : Turn.empty;
  const rest = beginning.concat(turn.after(Math.max(shared, count)));
  newest.set(owner, { turn, count, rest });
  return rest;
}

const newest = new WeakMap<object, { readonly turn: Turn; readonly count: number; readonly rest: Turn }>();
