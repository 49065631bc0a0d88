import type { Block } from "../../domain/block.ts";
import { Turn } from "../../domain/turn.ts";
import type { Provider } from "../stack/provider.ts";

/** What a Turn says by a request's instructions, and what by its input: the context that servers hold is of the input. */
export type SplitTurn = {
  /** How many blocks at the beginning of the Turn go into the instructions. */
  readonly count: number;
  readonly instructions: readonly string[];
  readonly input: Turn;
};

/**
 * Takes the leading system blocks out of the context where the endpoint is told so (rule: Settings): a changed system prompt then
 * changes a setting, and every context stays what it was. Blocks that are more than text stay, and so does a Turn that is
 * nothing else.
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

/** Those of which `splitTurn` asks what they say. */
export function leadingSystemBlocks(turn: Turn): readonly Block[] {
  const blocks: Block[] = [];
  for (let block = turn.at(0); block?.kind === "system"; block = turn.at(blocks.length)) blocks.push(block);
  return blocks;
}

/** What a request's instructions can say of a block; null where it is no system block, or holds more than text. */
function instructionText(block: Block | undefined): string | null {
  if (block?.kind !== "system") return null;
  const isMessage = Object.keys(block.payload).every((name) => name === "role" || name === "content");
  const isPlain = isMessage && block.parts.every(isPlainText);
  return isPlain ? block.text : null;
}

const isPlainText = ({ type, text, ...others }: Block["parts"][number]): boolean =>
  type === "text" && typeof text === "string" && Object.keys(others).length === 0;

/**
 * The Turn without its first blocks. What the newest one of the same owner has in common with it is not computed again:
 * after n new blocks it costs n digests, as it does for the Turn itself.
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
