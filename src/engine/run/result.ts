import type { Block } from "../../domain/block.ts";
import type { Decision, InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { addUsage, type Usage, usageOf } from "../../projections/usage.ts";

export type { Usage } from "../../projections/usage.ts";

/** One answered request. */
export type RunStep = {
  readonly inferenceId: string;
  readonly responseId: string | null;
  readonly status: string | null;
  readonly decision: Decision;
  readonly requestBytes: number;
  readonly blocks: readonly Block[];
  readonly usage: Usage;
};

export type RunResult = {
  /** `parked`: the run waits, without an owner, until what is in doubt has been settled. */
  readonly status: "completed" | "parked";
  readonly runId: string;
  /** The text of the last answer. */
  readonly text: string;
  /** The whole conversation after the run. */
  readonly turn: Turn;
  /** The same without what was appended while the run was open. */
  readonly answeredTurn: Turn;
  /** Whether the run had been cut off, and was taken up again. */
  readonly resumed: boolean;
  /** Calls and effects that nobody knows the end of: block ids and names. */
  readonly inDoubt: readonly { readonly blockId: BlockId; readonly name: string }[];
  readonly usage: Usage;
  readonly steps: readonly RunStep[];
  /** A run that was cut off before, and was finished or closed first; null when there was none. */
  readonly closedRun: string | null;
};

type Ended = {
  /** What the outermost layer returned. */
  readonly answered: Turn;
  /** The same, and what was appended meanwhile. */
  readonly turn: Turn;
  readonly closedRun: string | null;
  readonly isResumed: boolean;
  readonly inDoubt?: readonly (readonly [BlockId, string])[];
};

/** One answered request, as its result tells it. */
export const stepOf = (
  { inferenceId, decision, requestBytes }: InferenceRequestedData,
  { responseId, status, usage }: ResponseReceivedData,
  blocks: readonly Block[],
): RunStep => ({ inferenceId, responseId, status, decision, requestBytes, blocks, usage: usageOf(usage) });

export function resultOf(
  { runId, steps }: { readonly runId: string; readonly steps: readonly RunStep[] },
  { answered, turn, closedRun, isResumed, inDoubt = [] }: Ended,
): RunResult {
  return {
    status: inDoubt.length === 0 ? "completed" : "parked",
    runId,
    text: inDoubt.length === 0 ? lastText(answered) : "",
    turn: turn.frozen(),
    answeredTurn: answered.frozen(),
    resumed: isResumed,
    inDoubt: inDoubt.map(([blockId, name]) => ({ blockId, name })),
    usage: steps.map(({ usage }) => usage).reduce(addUsage, usageOf(undefined)),
    steps,
    closedRun,
  };
}

/** The text of the assistant's messages at the end of a Turn. */
function lastText(turn: Turn): string {
  const texts: string[] = [];
  for (let index = turn.length - 1; index >= 0; index -= 1) {
    const block = turn.at(index);
    if (block?.kind === "assistant") texts.unshift(block.text);
    else if (block?.kind !== "reasoning" && block?.kind !== "other") break;
  }
  return texts.join("");
}
