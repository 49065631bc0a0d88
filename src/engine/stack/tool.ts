import * as z from "zod";
import { messageOf } from "../../base/error-message.ts";
import { checkJson, freezeJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { checkFunction, checkOptions, checkText, kindOf, type OptionNames } from "../../base/options.ts";
import type { BlockId, ConversationId, RunId } from "../../domain/ids.ts";

/** What a tool is told besides its input. */
export type ToolContext = {
  /** The same for every attempt at one call: hand it to services that deduplicate. */
  readonly idempotencyKey: string;
  readonly callId: string;
  /** The conversation, the run and the call's block: what `conversation.child(name, ctx)` links a subagent to. */
  readonly conversationId: ConversationId;
  readonly runId: RunId;
  readonly blockId: BlockId;
  readonly signal: AbortSignal;
};

/** A function that the model may call. */
export type Tool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, as the provider is told it. */
  readonly parameters: JsonObject;
  /** Running it twice with one key does what running it once does: only then it is ever run again. */
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  /**
   * Validates the arguments and runs. Its answer is told to the model: a text as it is, anything else as JSON. What it
   * throws, or gives that is no JSON, is told as its error.
   */
  readonly run: (argumentsText: string, ctx: ToolContext) => Promise<unknown>;
};

/** Tools may take this long unless they say otherwise. */
const toolTimeoutMs = 60_000;

/** A tool as `tool` takes it. */
export type ToolDefinition<Schema extends z.ZodType> = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  /** Gives what the model is to be told: a text, or what has a JSON text. */
  readonly execute: (input: z.output<Schema>, ctx: ToolContext) => unknown;
};

const definitionNames: OptionNames<ToolDefinition<z.ZodType>> = {
  ...{ name: true, description: true, inputSchema: true, idempotent: true, timeoutMs: true, execute: true },
};

/**
 * Declares a tool by a zod schema of its input; the arguments are validated before it runs.
 *
 * @throws {TypeError} for an option that is none, and for a schema that is none or has no JSON Schema.
 */
export function tool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): Tool {
  checkOptions("tool", definition, definitionNames);
  const { name, description, inputSchema, idempotent = false, timeoutMs = toolTimeoutMs, execute } = definition;
  checkText("tool: name", name, "the name that the model calls");
  checkFunction(`tool '${name}': execute`, execute);
  return {
    name,
    description,
    parameters: parametersOf(`tool '${name}': inputSchema`, inputSchema),
    idempotent,
    timeoutMs,
    async run(argumentsText, ctx) {
      const input = inputSchema.safeParse(parseArguments(argumentsText));
      if (!input.success) throw new ToolInputError(`invalid arguments: ${z.prettifyError(input.error)}`);
      return await execute(input.data, ctx);
    },
  };
}

/** The model called a tool with arguments that are not of its schema. It is told so, and the run goes on. */
class ToolInputError extends Error {
  override readonly name = "ToolInputError";
  readonly code = "tool-input";
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch (cause) {
    throw new ToolInputError("invalid arguments: not JSON", { cause });
  }
}

function parametersOf(place: string, schema: z.ZodType): JsonObject {
  const { $schema: _, ...parameters } = jsonSchemaOf(place, schema);
  // A round trip drops zod's own hidden members.
  const json = JSON.parse(JSON.stringify(parameters)) as JsonObject;
  freezeJson(json);
  return json;
}

function jsonSchemaOf(place: string, schema: z.ZodType): object & { readonly $schema?: string } {
  const given: unknown = schema;
  // A schema of another copy of zod is one too; those of zod 3 are not.
  if (typeof given !== "object" || given === null || !("_zod" in given))
    throw new TypeError(`${place} is ${kindOf(given)}, and no schema of zod 4: give z.object({ … })`);
  try {
    return z.toJSONSchema(schema, { io: "input" });
  } catch (cause) {
    throw new TypeError(`${place} has no JSON Schema that a model could be told: ${messageOf(cause)}`, { cause });
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
