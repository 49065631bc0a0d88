import { isJsonObject, type JsonObject, type JsonValue, jsonCopy } from "../../base/json.ts";
import { anything, choiceOf, kindOf, meant, optionsOf, required } from "../../base/options.ts";
import { type Actor, isCaller } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockId, ConversationId } from "../../domain/ids.ts";
import {
  type ApprovalNeed,
  type AskedNeed,
  askedNeed,
  checkApproval,
  checkMessage,
  type ToolApproval,
} from "../ports/approval-need.ts";
import type { Tool, ToolContext } from "../ports/tool.ts";

/**
 * The engine's rule of which calls need approval, by the names of tools, or as a function of each call. It precedes the `needsApproval` of the
 * tool, which decides if the function returns undefined or the names do not include the tool.
 */
export type Approvals<Context = unknown> =
  | Readonly<Record<string, ToolApproval<never, ToolContext<Context>>>>
  | ((
      call: { readonly name: string; readonly input: unknown },
      ctx: ToolContext<Context>,
    ) => ApprovalNeed | undefined | Promise<ApprovalNeed | undefined>);

/** A call that a person is asked about. */
export type ApprovalQuestion = {
  readonly conversationId: ConversationId;
  readonly runId: string;
  /** The id of the call's block: `conversation.approve` takes it too. */
  readonly blockId: BlockId;
  readonly name: string;
  /** The arguments as the tool would get them. */
  readonly input: JsonValue;
  /** The JSON Schema that an edited input has to match. */
  readonly inputSchema: JsonObject | null;
  readonly reason: string | null;
  readonly expiresAt: string | null;
  /** Why the last decision of this handler could not be taken; null when it is asked for the first time. */
  readonly refused: string | null;
  /** The call as the tool loop has it. */
  readonly call: Block;
  /** Aborts when the run ends, or the answer comes too late. */
  readonly signal: AbortSignal;
};

/** What a named person decides about a call. `message` is for the model. */
export type ApprovalDecision =
  | { readonly how: "approve" | "deny"; readonly message?: string; readonly actor: Actor }
  | { readonly how: "edit"; readonly input: JsonValue; readonly message?: string; readonly actor: Actor };

/** Asks a person who is there, at a terminal for example; returns null to leave the decision to `conversation.approve`. */
export type ApprovalHandler = (
  question: ApprovalQuestion,
) => ApprovalDecision | null | Promise<ApprovalDecision | null>;

const decisionMembers = optionsOf<{
  readonly how: ApprovalDecision["how"];
  readonly input?: unknown;
  readonly message?: string;
  readonly actor: Actor;
}>({
  ...{ how: required(choiceOf("approve", "edit", "deny")), input: anything, message: checkMessage, actor: anything },
});

/**
 * A decision in the form in which it is recorded.
 *
 * @throws {TypeError} if it is not a decision, its input is not JSON, or its actor is not a named person or program.
 */
export function recordableDecision(where: string, given: unknown): ApprovalDecision {
  decisionMembers.check(where, given);
  // The table has checked these members.
  const { how, input, message, actor } = given as ApprovalDecision & { readonly input?: unknown };
  const said = { ...(message === undefined ? {} : { message }), actor: namedActor(where, actor) };
  if (how !== "edit") {
    if (input !== undefined) throw new TypeError(`${where}: input belongs to how: "edit"`);
    return { how, ...said };
  }
  return { how, input: recordableInput(where, input), ...said };
}

/** @throws {TypeError} if it is not JSON. */
export function recordableInput(where: string, input: unknown): JsonValue {
  try {
    return jsonCopy(input);
  } catch (cause) {
    throw new TypeError(`${where}: input is not JSON: give the arguments for the tool`, { cause });
  }
}

/** @throws {TypeError} for a decision without the name of who made it: a person is asked. */
export function namedActor(where: string, actor: unknown): Actor {
  const given: Partial<Record<string, unknown>> = isJsonObject(actor) ? actor : {};
  const { kind, name } = given;
  // Compared member by member, because the caller may give anything.
  if (typeof name === "string" && name !== "" && (kind === "user" || kind === "app" || kind === "operator"))
    return { kind, name };
  const found = !isJsonObject(actor)
    ? kindOf(actor)
    : isCaller(actor as Actor)
      ? "an actor without a name"
      : "no person";
  throw new TypeError(
    `${where}: actor is ${found}: say who decides, such as { kind: "user", name: "ann" } (or kind "operator" or "app")`,
  );
}

/** @throws {TypeError} if it is no rule, or names a tool that the engine does not have or does not run. */
export function checkApprovals(what: string, given: unknown, tools: readonly Tool[]): void {
  if (given === undefined || typeof given === "function") return;
  if (!isJsonObject(given))
    throw new TypeError(`${what} is ${kindOf(given)}: give { refund: true }, or a function of each call`);
  const run = tools.filter(({ isExternal }) => !isExternal).map(({ name }) => name);
  for (const [name, approval] of Object.entries(given)) {
    if (tools.some((tool) => tool.name === name && tool.isExternal))
      throw new TypeError(
        `${what}: '${name}' is an external tool, which the engine does not run: decide where it runs`,
      );
    if (!run.includes(name)) {
      const instead = run.length === 0 ? "the engine runs no tools" : meant(name, run);
      throw new TypeError(`${what} names '${name}', which is no tool of the engine: ${instead}`);
    }
    checkApproval(`${what}: ${name}`, approval);
  }
}

/**
 * The engine's rule for a call, else its tool's. A rule that throws asks.
 *
 * @param input - The validated input of the call.
 */
export async function needOf(
  approvals: Approvals | null,
  tool: Tool,
  { input, ctx }: { readonly input: unknown; readonly ctx: ToolContext },
): Promise<AskedNeed | null> {
  try {
    const ruled = await engineRule(approvals, tool.name, { input, ctx });
    return askedNeed(ruled === undefined ? await tool.approval(input, ctx) : ruled);
  } catch {
    // The error may contain what the person who decides must not see.
    return { reason: "the rule that decides whether the call needs approval failed", expiresInMs: null };
  }
}

async function engineRule(
  approvals: Approvals | null,
  name: string,
  { input, ctx }: { readonly input: unknown; readonly ctx: ToolContext },
): Promise<unknown> {
  if (approvals === null) return undefined;
  if (typeof approvals === "function") return approvals({ name, input }, ctx);
  if (!Object.hasOwn(approvals, name)) return undefined;
  const rule: unknown = approvals[name];
  // The tool's own schema has given the input.
  return typeof rule === "function" ? (rule as (input: unknown, ctx: ToolContext) => unknown)(input, ctx) : rule;
}

/** Whether a call of this tool may need approval: only then is anything evaluated before it begins. */
export function mayNeedApproval(approvals: Approvals | null, tool: Tool): boolean {
  if (typeof approvals === "function") return true;
  const rule: unknown = approvals !== null && Object.hasOwn(approvals, tool.name) ? approvals[tool.name] : undefined;
  return rule === undefined ? tool.mayNeedApproval : rule !== false;
}
