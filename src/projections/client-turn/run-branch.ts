import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { BlockVersions } from "./block-versions.ts";

/** One answered provider call. */
export type TurnStep = {
  readonly author: Actor;
  readonly result: Turn;
  /** The blocks that entered the Turn. */
  readonly output: readonly Block[];
  /** A later request was made from it, or one of its tools has started: it is never forgotten (rule: Runs that do not complete). */
  isKept: boolean;
};

/** What a run has done, as far as its Turn depends on it if the run does not complete (rule: Runs that do not complete). */
export type RunSoFar = {
  /** The Turn that it started from. */
  readonly base: Turn;
  readonly steps: readonly TurnStep[];
  /** The Turns that frames returned. */
  readonly results: ReadonlyMap<string, Turn>;
  readonly versions: BlockVersions;
  /** By the ids of the calls. */
  readonly toolResults: ReadonlyMap<BlockId, Block>;
  readonly resultIds: ReadonlySet<BlockId>;
};

/** Whether a Turn holds a block of a step's output. Tries the usual place first. */
export function contains(turn: Turn, step: TurnStep): boolean {
  if (step.output.length === 0) return false;
  if (turn.at(step.result.length - step.output.length)?.id === step.output[0]?.id) return true;
  return step.output.some((block) => turn.find(idOf(block)) !== undefined);
}

/**
 * The Turn if the run does not complete: the Turn it started from, then the blocks of provider and tools on the branch of the last answered
 * call that counts. Results that no Turn holds yet follow their calls; `closing` are those that the end of the run adds.
 */
export function unfinishedTurn(run: RunSoFar, closing: ReadonlyMap<BlockId, Block>): Turn {
  const branch = branchOf(run);
  const present = new Set(branch.map(idOf));
  const blocks: Block[] = [];
  let waiting: { readonly frame: string; readonly result: Block }[] = [];
  for (const block of branch) {
    if (block.kind !== "tool_result" && waiting.some(({ frame }) => frame !== frameOfBlock(block))) {
      blocks.push(...waiting.map(({ result }) => result));
      waiting = [];
    }
    blocks.push(block);
    const id = idOf(block);
    const result = block.kind === "tool_call" ? (run.toolResults.get(id) ?? closing.get(id)) : undefined;
    if (result !== undefined && !present.has(idOf(result))) waiting.push({ frame: frameOfBlock(block), result });
  }
  return run.base.append(...blocks, ...waiting.map(({ result }) => result));
}

/** The blocks that provider and tools made in this run, on the branch that ends with the last step that counts. */
export function branchOf({ steps, results, versions, resultIds }: RunSoFar): readonly Block[] {
  const step = steps.findLast((candidate) => candidate.isKept);
  if (step === undefined) return [];
  return step.result.blocks.flatMap((block) => {
    const made = versions.made(idOf(block));
    // A call's result counts as its tool's, even if a person settled the call.
    const isOurs = made !== null && (made.author.kind === "provider" || resultIds.has(idOf(block)));
    return isOurs ? asReturned(results, made.block) : [];
  });
}

/** A block as the outermost finished frame above its own returned it: what a filter removed stays removed. */
function asReturned(results: ReadonlyMap<string, Turn>, block: Block): readonly Block[] {
  const id = idOf(block);
  const numbers = frameOfBlock(block).split(".");
  for (let length = 1; length < numbers.length; length += 1) {
    const result = results.get(numbers.slice(0, length).join("."));
    if (result !== undefined) return [result.find(id) ?? []].flat();
  }
  return [block];
}

/** A block made in a run is named `<run>/<frame>/<n>`. */
const frameOfBlock = (block: Block): string => idOf(block).split("/")[1] ?? "0";
