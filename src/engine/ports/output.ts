import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import { freezeAll } from "../../domain/freeze-all.ts";
import { issuesText, type SchemaIssue, type StandardSchema, validate } from "./schema.ts";

/** The answer does not match the schema. The log has the answer as it came, and its tokens were used. */
export class OutputMismatchError extends TurnlogError<"output-mismatch"> {
  override readonly name = "OutputMismatchError";
  /** The answer. */
  readonly text: string;
  /** What is wrong, and where. */
  readonly issues: readonly SchemaIssue[];

  constructor(text: string, issues: readonly SchemaIssue[]) {
    super("output-mismatch", `the answer does not match the output schema: ${issuesText(issues)}`);
    this.text = text;
    this.issues = issues;
  }
}

type Output = { readonly output: unknown; readonly outputIssues: readonly SchemaIssue[] };

/**
 * Adds the parsed, frozen output to a result. If the answer does not match the schema, `outputIssues` says why, and reading
 * `output` throws; this function does not, because the answer has been paid for.
 */
export async function withOutput<Told extends object>(
  told: Told,
  schema: StandardSchema | null,
  { text, missing }: { readonly text: string; readonly missing: string | null },
): Promise<Told & Output> {
  const output = schema === null ? nothing : await outputOf(schema, { text, missing });
  const result = { ...told, ...output };
  const get = (): never => {
    throw new OutputMismatchError(text, output.outputIssues);
  };
  // Not enumerable, so that code which prints or copies a result does not trigger the error.
  if (output.outputIssues.length > 0) Object.defineProperty(result, "output", { get, enumerable: false });
  return freezeAll(result);
}

const nothing: Output = { output: undefined, outputIssues: [] };
const mismatch = (message: string): Output => ({ output: undefined, outputIssues: [{ message, path: [] }] });

async function outputOf(
  schema: StandardSchema,
  { text, missing }: { readonly text: string; readonly missing: string | null },
): Promise<Output> {
  if (missing !== null) return mismatch(missing);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    return mismatch(`the answer is not JSON: ${messageOf(error)}`);
  }
  try {
    const validated = await validate(schema, given);
    return validated.issues === undefined
      ? { output: validated.value, outputIssues: [] }
      : { output: undefined, outputIssues: validated.issues };
  } catch (error) {
    return mismatch(`the schema could not validate it: ${messageOf(error)}`);
  }
}

/** The text of the assistant's messages at the end of these blocks. */
export function answerText(blocks: readonly Block[]): string {
  const texts: string[] = [];
  for (const block of blocks.toReversed()) {
    if (block.kind === "assistant") texts.unshift(block.text);
    else if (block.kind !== "reasoning" && block.kind !== "other") break;
  }
  return texts.join("");
}
