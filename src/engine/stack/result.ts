import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import { openCalls } from "../../domain/calls.ts";
import type { RunStatus } from "../../domain/events/run-events.ts";
import { freezeAll } from "../../domain/freeze-all.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Loss, RunRecord, RunStep } from "../../projections/run-record.ts";
import { addUsage, type Usage, usageOf } from "../../projections/usage.ts";
import { issuesText, type SchemaIssue, type StandardSchema, validate } from "./schema.ts";

export type { Loss, RunStep } from "../../projections/run-record.ts";
export type { Usage } from "../../projections/usage.ts";

/** How a run ended; frozen through and through. */
export type RunResult<Output = unknown> = {
  /**
   * `calls-open`: the model called what no tool of the engine answers; append the results and run again. `incomplete`: the
   * last answer broke off at a limit. `parked`: the run waits, without an owner, until what is in doubt has been settled.
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
  /** What did not get through on the way: broken-off answers, repaired requests, refused reasoning. */
  readonly losses: readonly Loss[];
  readonly usage: Usage;
  readonly steps: readonly RunStep[];
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
  { runId, steps, losses, isResumed, status }: RunRecord,
  { answered, brought, turn, isNew, closedRun, inDoubt = [], output: schema }: Ended,
): Promise<RunResult> {
  const blocks = answered.after(answered.length - brought);
  const text = lastText(blocks);
  const output = schema === null ? { value: undefined, issues: [] } : await outputOf(schema, status ?? "parked", text);
  const result: RunResult = {
    status: status ?? "parked",
    isNew,
    runId,
    text,
    blocks,
    output: output.value,
    outputIssues: output.issues,
    turn,
    resumed: isResumed,
    inDoubt: inDoubt.map(([blockId, name]) => ({ blockId, name })),
    openCalls: status === "calls-open" ? openCalls(madeIn(runId, answered)) : [],
    losses: [...losses],
    usage: steps.map(({ usage }) => usage).reduce(addUsage, usageOf(undefined)),
    steps: [...steps],
    closedRun,
  };
  // Not enumerable, so that what prints or copies a result does not come upon it.
  const get = (): never => {
    throw new OutputMismatchError(text, output.issues);
  };
  if (output.issues.length > 0) Object.defineProperty(result, "output", { get, enumerable: false });
  return freezeAll(result);
}

/** The answer is not of the schema that was wanted. It is in the conversation as it came, and was paid for. */
export class OutputMismatchError extends TurnlogError<"output-mismatch"> {
  override readonly name = "OutputMismatchError";
  /** The answer. */
  readonly text: string;
  /** What is wrong with it, and where. */
  readonly issues: readonly SchemaIssue[];

  constructor(text: string, issues: readonly SchemaIssue[]) {
    super("output-mismatch", `the answer is not of the wanted output: ${issuesText(issues)}`);
    this.text = text;
    this.issues = issues;
  }
}

type Validated = { readonly value: unknown; readonly issues: readonly SchemaIssue[] };

/** The text of an answer as its schema gives it. Whatever goes wrong with it, the run has completed. */
async function outputOf(schema: StandardSchema, status: RunResult["status"], text: string): Promise<Validated> {
  const mismatch = (message: string): Validated => ({ value: undefined, issues: [{ message, path: [] }] });
  if (status === "parked" || status === "calls-open") return mismatch(`there is no answer yet: the run is ${status}`);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    return mismatch(`the answer is no JSON: ${messageOf(error)}`);
  }
  try {
    const validated = await validate(schema, given);
    return validated.issues === undefined
      ? { value: validated.value, issues: [] }
      : { value: undefined, issues: validated.issues };
  } catch (error) {
    return mismatch(`the schema could not validate it: ${messageOf(error)}`);
  }
}

/** The blocks of a Turn that were made in a run, wherever layers put them: they are named for it. */
export const madeIn = (runId: string, turn: Turn): readonly Block[] =>
  turn.blocks.filter(({ id }) => id?.startsWith(`${runId}/`));

/** The text of the assistant's messages at the end. */
function lastText(blocks: readonly Block[]): string {
  const texts: string[] = [];
  for (const block of blocks.toReversed()) {
    if (block.kind === "assistant") texts.unshift(block.text);
    else if (block.kind !== "reasoning" && block.kind !== "other") break;
  }
  return texts.join("");
}
