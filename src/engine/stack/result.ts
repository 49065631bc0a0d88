import type { Block } from "../../domain/block.ts";
import { openCalls } from "../../domain/calls.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";
import type { RunStatus } from "../../domain/events/run-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Loss, Repaired, RunRecord, RunStep } from "../../projections/run-record.ts";
import { addUsage, type Usage, usageOf } from "../../projections/usage.ts";
import { answerText, withOutput } from "./output.ts";
import type { SchemaIssue, StandardSchema } from "./schema.ts";

/** How a run ended; frozen through and through. */
export type RunResult<Output = unknown> = {
  /**
   * `calls-open`: the model called what no tool of the engine answers; append the results and run again. `incomplete`: the
   * last answer broke off at a limit, or its server has paused it. `parked`: the run waits, without an owner, until what is in
   * doubt has been settled.
   */
  readonly status: RunStatus | "parked";
  /** False where nothing waited for an answer: this is the recorded result of the run that had given it. */
  readonly isNew: boolean;
  readonly runId: string;
  /** The text of the last answer. */
  readonly text: string;
  /** What the run brought: its blocks behind the last one that was there before, the answer at their end. */
  readonly blocks: readonly Block[];
  /**
   * The whole conversation as the run left it, and what was appended while it was open. Read when it is asked for: an answer
   * in a long conversation needs little of it.
   */
  readonly turn: () => Promise<Turn>;
  /**
   * The answer as the wanted schema gives it (`output`, of the run or its engine); undefined where none was wanted.
   *
   * @throws {OutputMismatchError} where the answer is not of the schema: `outputIssues` tells so without throwing.
   */
  readonly output: Output;
  /** Why there is no `output` although one was wanted; empty where there is one, and where none was. */
  readonly outputIssues: readonly SchemaIssue[];
  /** Whether the run had been cut off, and was taken up again. */
  readonly resumed: boolean;
  /** Calls and effects that nobody knows the end of: block ids and names. */
  readonly inDoubt: readonly { readonly blockId: BlockId; readonly name: string }[];
  /** Calls that wait for an answer from outside the engine. */
  readonly openCalls: readonly Block[];
  /**
   * What did not get through on the way, each once: broken-off answers, what requests left out, refused reasoning, and what the engine
   * itself cut or dropped to make the Turn shorter.
   */
  readonly losses: readonly Loss[];
  /** What requests said otherwise than it stands, so that a server took them: nothing of it was lost. */
  readonly restated: readonly Repaired[];
  /** What the content filters of the server found in the conversation's steps, in their order; most servers say nothing. */
  readonly contentFilters: readonly ContentFilter[];
  /** Of all its model calls, those of layers included. */
  readonly usage: Usage;
  readonly steps: readonly RunStep[];
  /** Model calls that layers made beside the conversation (`ctx.infer`). */
  readonly asides: readonly RunStep[];
  /** A run that was cut off before, and was finished or closed first; null when there was none. */
  readonly closedRun: string | null;
};

type Ended = {
  /** What the outermost layer returned, and how many blocks at its end the run brought. */
  readonly answered: Turn;
  readonly brought: number;
  /** Reads the same, and what was appended meanwhile. */
  readonly turn: () => Promise<Turn>;
  readonly isNew: boolean;
  readonly closedRun: string | null;
  readonly inDoubt?: readonly (readonly [BlockId, string])[];
  /** What the answer has to be of; null where any will do. */
  readonly output: StandardSchema | null;
};

/** A run that has completed, or waits: what its events tell, and the Turn that it left. What it made of that has to be read. */
export async function resultOf(
  { runId, steps, asides, losses, restated, isResumed, status }: RunRecord,
  { answered, brought, turn, isNew, closedRun, inDoubt = [], output: schema }: Ended,
): Promise<RunResult> {
  const blocks = answered.after(answered.length - brought);
  const text = answerText(blocks);
  const isAnswered = status === "completed" || status === "incomplete";
  const missing = isAnswered ? null : `there is no answer yet: the run is ${status ?? "parked"}`;
  const result = {
    status: status ?? "parked",
    isNew,
    runId,
    text,
    blocks,
    turn,
    resumed: isResumed,
    inDoubt: inDoubt.map(([blockId, name]) => ({ blockId, name })),
    openCalls: status === "calls-open" ? openCalls(madeIn(runId, answered)) : [],
    losses: [...losses],
    restated: [...restated],
    contentFilters: steps.flatMap(({ contentFilters }) => contentFilters),
    usage: [...steps, ...asides].map(({ usage }) => usage).reduce(addUsage, usageOf(undefined)),
    steps: [...steps],
    asides: [...asides],
    closedRun,
  } as const;
  return withOutput(result, schema, { text, missing });
}

/** The blocks of a Turn that were made in a run, wherever layers put them: they are named for it. */
export const madeIn = (runId: string, turn: Turn): readonly Block[] =>
  turn.blocks.filter(({ id }) => id?.startsWith(`${runId}/`));
