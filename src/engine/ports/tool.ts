import { checkJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { anything, checkFlag, checkFunction, checkText, kindOf, optionsOf, required } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockId, ConversationId, RunId } from "../../domain/ids.ts";
import { type ApprovalNeed, checkApproval, type ToolApproval } from "./approval-need.ts";
import { issuesText, jsonSchemaOf, type SchemaIssue, type StandardSchema, validate } from "./schema.ts";

/** What a tool receives besides its input. */
export type ToolContext<Context = unknown> = {
  /** The same for every attempt at one call: pass it to services that deduplicate. */
  readonly idempotencyKey: string;
  readonly callId: string;
  /** The conversation, the run and the call's block: `conversation.child(name, ctx)` links a subagent to them. */
  readonly conversationId: ConversationId;
  readonly runId: RunId;
  readonly blockId: BlockId;
  readonly signal: AbortSignal;
  /** The `context` that the caller of the run gave, or undefined. It is never recorded. */
  readonly context: Context;
  /**
   * Shows data to those who watch the run, as a `data` part: progress, sources, a preview. It is not recorded, so nothing is shown again when
   * a run is resumed, unless the tool begins again.
   *
   * @throws {TypeError} if the name is empty, or the data is not JSON.
   */
  readonly emit: (name: string, data: JsonValue) => void;
};

/** A function that the model may call, with the types of its input and result. */
export type Tool<Input = unknown, Result = unknown, Context = unknown> = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, as the provider receives it. */
  readonly parameters: JsonObject;
  /** Whether repeating a call with the same key has no further effect: only then is it ever repeated. */
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  /**
   * Validates the arguments and runs. The model gets a text result as it is, a list of parts made by `text`, `image`, `file` and
   * `audio` as parts, and anything else as JSON. Errors, and results that are not JSON, reach the model as an error.
   */
  readonly run: (argumentsText: string, ctx: ToolContext<Context>) => Promise<unknown>;
  /** The function that the tool was made with, for tests and other tools: without validation or recording. */
  execute(input: Input, ctx: ToolContext<Context>): Result;
  /**
   * The validated input of a call of this tool, for layers that inspect calls before they run; null for every other block.
   *
   * @throws {ToolInputError} if the arguments do not match the schema.
   */
  readonly inputOf: (call: Block) => Promise<Input | null>;
  /** Whether a call with this input needs approval; of an external tool, the reason that is recorded when the call waits. */
  approval(input: Input, ctx: ToolContext<Context>): ApprovalNeed | Promise<ApprovalNeed>;
  /** False if no call does. */
  readonly mayNeedApproval: boolean;
  /** Its calls are answered from outside the engine. */
  readonly isExternal: boolean;
  /** The list that the tool is from, as a digest: part of the tool loop's configuration in the log. */
  readonly identity?: string;
};

/** Default time limit of a tool call. */
const toolTimeoutMs = 60_000;

/** Options of `tool`. */
export type ToolDefinition<Input = unknown, Result = unknown, Context = unknown> = {
  readonly name: string;
  /** The purpose of the tool, as the model reads it. */
  readonly description: string;
  /** Validates the arguments: a schema of zod, valibot, arktype, or any other library that implements Standard Schema. */
  readonly inputSchema: StandardSchema<unknown, Input>;
  /**
   * JSON Schema of the input, as the model reads it. Needed only if the schema library cannot produce one. Keep the two in
   * agreement: only `inputSchema` validates the arguments.
   */
  readonly jsonSchema?: JsonObject;
  /** Whether repeating a call with the same key has no further effect; false by default. */
  readonly idempotent?: boolean;
  /** The time limit of a call in milliseconds; one minute by default. */
  readonly timeoutMs?: number;
  /**
   * Whether a person has to approve calls before they begin: true, a reason, `{ reason, expiresInMs }`, or a function of the input that
   * returns one of these, or false. The engine's `approvals` precedes it.
   */
  readonly needsApproval?: ToolApproval<Input, ToolContext<Context>>;
  /** Returns the result for the model: a text, parts such as `[text("The chart:"), image(url)]`, or a JSON value. */
  readonly execute: (input: Input, ctx: ToolContext<Context>) => Result;
};

const definitionOptions = optionsOf<ToolDefinition>({
  ...{ name: anything, description: anything, inputSchema: anything, jsonSchema: anything, idempotent: checkFlag },
  ...{ needsApproval: anything, timeoutMs: anything, execute: required<ToolDefinition["execute"]>(checkFunction) },
});

/**
 * Defines a tool by the schema of its input. turnlog validates the arguments before the tool runs.
 *
 *     const weather = tool({ name: "weather", description: "Today's weather", inputSchema: z.object({ city: z.string() }),
 *       execute: ({ city }) => `sunny in ${city}` });
 *
 * @throws {TypeError} if an option is unknown or invalid, or the schema is not a schema or has no JSON Schema.
 */
export function tool<Input, Result, Context = unknown>(
  definition: ToolDefinition<Input, Result, Context>,
): Tool<Input, Result, Context> {
  definitionOptions.checkNames("tool", definition);
  const { name, description, inputSchema, jsonSchema, idempotent = false, timeoutMs = toolTimeoutMs } = definition;
  const { execute, needsApproval = false } = definition;
  checkText("tool: name", name, "the name that the model calls");
  definitionOptions.checkValues(`tool '${name}': `, definition);
  checkApproval(`tool '${name}': needsApproval`, needsApproval);
  const inputOf = (argumentsText: string) => validArguments({ schema: inputSchema, tool: name }, argumentsText);
  return {
    name,
    description,
    parameters: jsonSchemaOf(`tool '${name}': inputSchema`, inputSchema, jsonSchema),
    idempotent,
    timeoutMs,
    run: async (argumentsText, ctx) => execute(await inputOf(argumentsText), ctx),
    execute,
    inputOf: async (call) => (call.kind === "tool_call" && call.name === name ? inputOf(call.arguments) : null),
    approval: typeof needsApproval === "function" ? needsApproval : () => needsApproval,
    mayNeedApproval: needsApproval !== false,
    isExternal: false,
  };
}

/** Options of `externalTool`. */
export type ExternalToolDefinition<Input = unknown> = Pick<
  ToolDefinition<Input>,
  "name" | "description" | "inputSchema" | "jsonSchema"
> & {
  /** What a person reads about a call that waits: a text, or a function of the validated input. Recorded; the model does not get it. */
  readonly reason?: string | ((input: Input, ctx: ToolContext) => string | Promise<string>);
};

const externalOptions = optionsOf<ExternalToolDefinition>({
  ...{ name: anything, description: anything, inputSchema: anything, jsonSchema: anything },
  reason(what, given) {
    // The signature of a function cannot be checked before it is called.
    if (typeof given === "string" || typeof given === "function") return given as never;
    throw new TypeError(`${what} is ${kindOf(given)}: give a text, or a function of the input that returns one`);
  },
});

/**
 * Defines a tool that something outside the engine runs: a browser, a queue, a person. The run waits for the results of its calls, also
 * across processes: give each with `conversation.settle(call, { how: "result", output })`, or append it as a tool result.
 *
 *     const confirm = externalTool({ name: "confirm", description: "Asks the user", inputSchema: z.object({ question: z.string() }) });
 *
 * @throws {TypeError} if an option is unknown or invalid, or the schema is not a schema or has no JSON Schema.
 */
export function externalTool<Input>(definition: ExternalToolDefinition<Input>): Tool<Input, never> {
  externalOptions.checkNames("externalTool", definition);
  const { name, description, inputSchema, jsonSchema, reason = "" } = definition;
  checkText("externalTool: name", name, "the name that the model calls");
  externalOptions.checkValues(`externalTool '${name}': `, definition);
  const execute = (): never => {
    throw new TypeError(`the tool ${name} is external: its calls are answered from outside the engine`);
  };
  const made = tool<Input, never>({
    ...{ name, description, inputSchema, execute, idempotent: true },
    ...(jsonSchema === undefined ? {} : { jsonSchema }),
  });
  return { ...made, approval: typeof reason === "function" ? reason : () => reason, isExternal: true };
}

/** The model called a tool with arguments that do not match the schema. The model gets the error, and the run continues. */
export class ToolInputError extends TurnlogError<"tool-input"> {
  override readonly name = "ToolInputError";
  /** What is wrong, and where; empty if the arguments are not JSON. */
  readonly issues: readonly SchemaIssue[];
  /** The tool whose schema refused the arguments; null if the error does not say. */
  readonly tool: string | null;

  constructor(
    what: string,
    issues: readonly SchemaIssue[],
    { tool = null, ...options }: ErrorOptions & { readonly tool?: string | null } = {},
  ) {
    super("tool-input", `invalid arguments: ${what}`, options);
    this.issues = issues;
    this.tool = tool;
  }
}

type Validating<Input> = { readonly schema: StandardSchema<unknown, Input>; readonly tool: string };

async function validArguments<Input>({ schema, tool }: Validating<Input>, text: string): Promise<Input> {
  const input = await validate(schema, parseArguments(tool, text));
  if (input.issues !== undefined) throw new ToolInputError(issuesText(input.issues), input.issues, { tool });
  return input.value;
}

function parseArguments(tool: string, text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch (cause) {
    throw new ToolInputError("not JSON", [], { cause, tool });
  }
}

/** @throws {TypeError} if it is not a tool, or no provider's API would accept it. */
export function checkTool(where: string, tool: unknown): void {
  const given = isJsonObject(tool) ? tool : {};
  const { name, description, parameters, run } = given;
  if (typeof run !== "function" || typeof name !== "string" || !isJsonObject(parameters)) {
    const what = isJsonObject(tool) ? `an object that tool() did not make` : kindOf(tool);
    throw new TypeError(`${where} is ${what}: write tool({ name, description, inputSchema, execute })`);
  }
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw new TypeError(
      `${where} is named '${name}', but models accept only names of 1 to 64 letters, digits, _ and -`,
    );
  if (typeof description !== "string")
    throw new TypeError(
      `${where}, '${name}': description is ${kindOf(description)}: give a text that tells the model what the tool is for`,
    );
  checkJson(`${where}, '${name}': parameters`, parameters);
  if (parameters["type"] !== "object")
    throw new TypeError(
      `${where}, '${name}': its input is not an object, and models accept only objects: wrap it in z.object({ … })`,
    );
}
