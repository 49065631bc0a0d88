import type { Block } from "../../domain/block.ts";
import { openCalls } from "../../domain/calls.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";
import type { RunStatus } from "../../domain/events/run-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { addUsage, type Usage, usageOf } from "../../projections/usage.ts";
import type { Loss, Repaired, RunRecord, RunStep } from "../../projections/views/run-record.ts";
import type { Waiting } from "../../projections/views/waiting.ts";
import { answerText, withOutput } from "../ports/output.ts";
import type { SchemaIssue, StandardSchema } from "../ports/schema.ts";

/** How a run ended; deeply frozen. */
export type RunResult<Output = unknown> = {
  /**
   * `calls-open`: the model called tools that the engine does not run; append their results and run again. `incomplete`: the last
   * answer broke off at a limit, or its server paused it. `parked`: the run waits, without an owner, for what `waitingFor` lists.
   */
  readonly status: RunStatus | "parked";
  /** False if there was nothing to answer: this is then the recorded result of the earlier run. */
  readonly isNew: boolean;
  readonly runId: string;
  /** The text of the last answer. */
  readonly text: string;
  /** The blocks that the run added behind the earlier ones, with the answer at the end. */
  readonly blocks: readonly Block[];
  /**
   * Reads the whole conversation as the run left it, with what was appended while the run was open. It is a function because few
   * callers need all of a long conversation.
   */
  readonly turn: () => Promise<Turn>;
  /**
   * The answer as parsed by the schema (`output`, of the run or its engine); undefined if no schema was given.
   *
   * @throws {OutputMismatchError} if the answer does not match the schema. Check `outputIssues` to avoid the throw.
   */
  readonly output: Output;
  /** Why the answer does not match the schema; empty if it matches, or no schema was given. */
  readonly outputIssues: readonly SchemaIssue[];
  /** Whether the run was interrupted and resumed. */
  readonly resumed: boolean;
  /**
   * What a `parked` run waits for: decisions about calls (`approval`), settlements of calls and effects with an unknown outcome (`doubt`), and
   * results of external tools (`external`).
   */
  readonly waitingFor: readonly Waiting[];
  /** Calls that need an answer from outside the engine. */
  readonly openCalls: readonly Block[];
  /**
   * What was lost on the way, each loss once: broken-off answers, blocks that requests left out, refused reasoning, and what the
   * engine cut or dropped to shorten the Turn.
   */
  readonly losses: readonly Loss[];
  /** What requests expressed in another form so that the server accepted it; nothing was lost. */
  readonly restated: readonly Repaired[];
  /** The findings of the server's content filters, in the order of the steps; most servers report none. */
  readonly contentFilters: readonly ContentFilter[];
  /** Of all model calls of the run, including those of layers. */
  readonly usage: Usage;
  readonly steps: readonly RunStep[];
  /** Model calls that layers made outside the conversation (`ctx.infer`). */
  readonly asides: readonly RunStep[];
  /** An earlier interrupted run that was finished or closed first, or null. */
  readonly closedRun: string | null;
};

type Ended = {
  /** The Turn that the outermost layer returned, and how many blocks at its end the run added. */
  readonly answered: Turn;
  readonly brought: number;
  /** Reads the same Turn, with what was appended meanwhile. */
  readonly turn: () => Promise<Turn>;
  readonly isNew: boolean;
  readonly closedRun: string | null;
  readonly waitingFor?: readonly Waiting[];
  /** The schema that the answer has to match, or null. */
  readonly output: StandardSchema | null;
};

/** The result of a run that has completed or is parked, from its record and the Turn that it left. */
export async function resultOf(
  { runId, steps, asides, losses, restated, isResumed, status }: RunRecord,
  { answered, brought, turn, isNew, closedRun, waitingFor = [], output: schema }: Ended,
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
    waitingFor,
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

/** The blocks of a Turn that the run made, wherever layers put them: their ids begin with the run's id. */
export const madeIn = (runId: string, turn: Turn): readonly Block[] =>
  turn.blocks.filter(({ id }) => id?.startsWith(`${runId}/`));
