import { checkJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { anything, checkFlag, checkFunction, checkText, kindOf, optionsOf, required } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockId, ConversationId, RunId } from "../../domain/ids.ts";
import { issuesText, jsonSchemaOf, type SchemaIssue, type StandardSchema, validate } from "./schema.ts";

/** What a tool is told besides its input. */
export type ToolContext<Context = unknown> = {
  /** The same for every attempt at one call: hand it to services that deduplicate. */
  readonly idempotencyKey: string;
  readonly callId: string;
  /** The conversation, the run and the call's block: what `conversation.child(name, ctx)` links a subagent to. */
  readonly conversationId: ConversationId;
  readonly runId: RunId;
  readonly blockId: BlockId;
  readonly signal: AbortSignal;
  /** What the caller of the run gave as its `context`; it is recorded nowhere. Undefined where none was given. */
  readonly context: Context;
};

/** A function that the model may call, with the types of its arguments and of what it gives. */
export type Tool<Input = unknown, Result = unknown, Context = unknown> = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, as the provider is told it. */
  readonly parameters: JsonObject;
  /** Running it twice with one key does what running it once does: only then it is ever run again. */
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  /**
   * Validates the arguments and runs. Its answer is told to the model: a text as it is, a list of parts that `text`, `image`, `file` and
   * `audio` made as those, anything else as JSON. What it throws, or gives that is no JSON, is told as its error.
   */
  readonly run: (argumentsText: string, ctx: ToolContext<Context>) => Promise<unknown>;
  /** The function that the tool was made with, for tests and for other tools: nothing is validated or recorded. */
  execute(input: Input, ctx: ToolContext<Context>): Result;
  /**
   * What a call of this tool asks for, validated: for layers that look at calls before they run. Null for every other block.
   *
   * @throws {ToolInputError} when its arguments are not of the schema.
   */
  readonly inputOf: (call: Block) => Promise<Input | null>;
};

/** Tools may take this long unless they say otherwise. */
const toolTimeoutMs = 60_000;

/** A tool as `tool` takes it. */
export type ToolDefinition<Input = unknown, Result = unknown, Context = unknown> = {
  readonly name: string;
  /** What the tool is for, as the model is told it. */
  readonly description: string;
  /** Validates the arguments: a schema of zod, valibot, arktype, or any other library that speaks Standard Schema. */
  readonly inputSchema: StandardSchema<unknown, Input>;
  /**
   * The input as the model is told it, in JSON Schema. Only needed where the schema's library cannot say it; what both say has
   * to agree, for the arguments are validated by `inputSchema` alone.
   */
  readonly jsonSchema?: JsonObject;
  /** Running it twice with one key does what running it once does; false when absent. */
  readonly idempotent?: boolean;
  /** How long a call may take, in milliseconds; a minute when absent. */
  readonly timeoutMs?: number;
  /** Gives what the model is to be told: a text, parts such as `[text("The chart:"), image(url)]`, or what has a JSON text. */
  readonly execute: (input: Input, ctx: ToolContext<Context>) => Result;
};

const definitionOptions = optionsOf<ToolDefinition>({
  ...{ name: anything, description: anything, inputSchema: anything, jsonSchema: anything, idempotent: checkFlag },
  ...{ timeoutMs: anything, execute: required<ToolDefinition["execute"]>(checkFunction) },
});

/**
 * Declares a tool by a schema of its input; the arguments are validated before it runs.
 *
 *     const weather = tool({ name: "weather", description: "Today's weather", inputSchema: z.object({ city: z.string() }),
 *       execute: ({ city }) => `sunny in ${city}` });
 *
 * @throws {TypeError} for an option that is none, and for a schema that is none or has no JSON Schema.
 */
export function tool<Input, Result, Context = unknown>(
  definition: ToolDefinition<Input, Result, Context>,
): Tool<Input, Result, Context> {
  definitionOptions.checkNames("tool", definition);
  const { name, description, inputSchema, jsonSchema, idempotent = false, timeoutMs = toolTimeoutMs } = definition;
  const { execute } = definition;
  checkText("tool: name", name, "the name that the model calls");
  definitionOptions.checkValues(`tool '${name}': `, definition);
  const inputOf = (argumentsText: string) => validArguments(inputSchema, argumentsText);
  return {
    name,
    description,
    parameters: jsonSchemaOf(`tool '${name}': inputSchema`, inputSchema, jsonSchema),
    idempotent,
    timeoutMs,
    run: async (argumentsText, ctx) => execute(await inputOf(argumentsText), ctx),
    execute,
    inputOf: async (call) => (call.kind === "tool_call" && call.name === name ? inputOf(call.arguments) : null),
  };
}

/** The model called a tool with arguments that are not of its schema. It is told so, and the run goes on. */
export class ToolInputError extends TurnlogError<"tool-input"> {
  override readonly name = "ToolInputError";
  /** What is wrong, and where; empty where the arguments are no JSON. */
  readonly issues: readonly SchemaIssue[];

  constructor(what: string, issues: readonly SchemaIssue[], options?: ErrorOptions) {
    super("tool-input", `invalid arguments: ${what}`, options);
    this.issues = issues;
  }
}

async function validArguments<Input>(schema: StandardSchema<unknown, Input>, text: string): Promise<Input> {
  const input = await validate(schema, parseArguments(text));
  if (input.issues !== undefined) throw new ToolInputError(issuesText(input.issues), input.issues);
  return input.value;
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch (cause) {
    throw new ToolInputError("not JSON", [], { cause });
  }
}

/** @throws {TypeError} for what is no tool, or one that no model's API takes. */
export function checkTool(where: string, tool: unknown): void {
  const given = isJsonObject(tool) ? tool : {};
  const { name, description, parameters, run } = given;
  if (typeof run !== "function" || typeof name !== "string" || !isJsonObject(parameters)) {
    const what = isJsonObject(tool) ? `an object that tool() did not make` : kindOf(tool);
    throw new TypeError(`${where} is ${what}: write tool({ name, description, inputSchema, execute })`);
  }
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw new TypeError(`${where} is named '${name}', and models take names of 1 to 64 letters, digits, _ and -`);
  if (typeof description !== "string")
    throw new TypeError(`${where}, '${name}': description is ${kindOf(description)}: tell the model what it is for`);
  checkJson(`${where}, '${name}': parameters`, parameters);
  if (parameters["type"] !== "object")
    throw new TypeError(
      `${where}, '${name}': its input is no object, and models take no other: wrap it in z.object({ … })`,
    );
}
