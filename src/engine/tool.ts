import * as z from "zod";
import { freezeJson } from "../base/frozen-json.ts";
import type { JsonObject } from "../base/json.ts";
import type { BlockId, ConversationId, RunId } from "../domain/ids.ts";

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

/** Declares a tool by a zod schema of its input; the arguments are validated before it runs. */
export function tool<Schema extends z.ZodType>(definition: {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  /** Gives what the model is to be told: a text, or what has a JSON text. */
  readonly execute: (input: z.output<Schema>, ctx: ToolContext) => unknown;
}): Tool {
  const { name, description, inputSchema, idempotent = false, timeoutMs = toolTimeoutMs, execute } = definition;
  return {
    name,
    description,
    parameters: parametersOf(inputSchema),
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

/** The settings' `tools` member for these tools. */
export const toolDefinitions = (tools: readonly Tool[]): readonly JsonObject[] =>
  tools.map(({ name, description, parameters }) => ({
    type: "function",
    name,
    description,
    parameters,
    strict: false,
  }));

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch (cause) {
    throw new ToolInputError("invalid arguments: not JSON", { cause });
  }
}

function parametersOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: "input" });
  // A round trip drops zod's own hidden members.
  const json = JSON.parse(JSON.stringify(parameters)) as JsonObject;
  freezeJson(json);
  return json;
}
