import { setTimeout as sleep } from "node:timers/promises";
import { rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { jsonOf, jsonTextOf } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { ApprovalDecidedData, ApprovalRequestedData } from "../../domain/events/tool-events.ts";
import type { ConversationId } from "../../domain/ids.ts";
import {
  type ApprovalDecision,
  type ApprovalHandler,
  type ApprovalQuestion,
  recordableDecision,
} from "../options/approvals.ts";
import type { Tool } from "../ports/tool.ts";

/** How long a person who is there may take before the run waits without an owner. */
const answerWithinMs = 5 * 60_000;

/** How often a handler is asked whose decision could not be taken. */
const maxQuestions = 3;

/** What is asked, of which run, and how a decision is checked. */
export type Asking = {
  readonly conversationId: ConversationId;
  readonly runId: string;
  readonly asked: ApprovalRequestedData;
  readonly call: Block;
  /** The tool that checks edited arguments; undefined if this process does not have it. */
  readonly tool: Tool | undefined;
  readonly signal: AbortSignal;
};

/**
 * Asks the person who is there; null if there is none, or no decision comes in time. What is no decision is refused and asked again, and the
 * model hears nothing of that.
 *
 * @throws the signal's reason if it aborts.
 */
export async function askHandler(handler: ApprovalHandler | null, asking: Asking): Promise<ApprovalDecision | null> {
  if (handler === null) return null;
  const { conversationId, runId, asked, call, tool, signal: outer } = asking;
  const { blockId, name, inputSchema = null, reason = null, expiresAt = null } = asked;
  const late = new AbortController();
  const signal = AbortSignal.any([outer, late.signal]);
  const said = { conversationId, runId, blockId, name, inputSchema, reason, expiresAt, call, signal };
  const question = { ...said, input: jsonOf(call.arguments === "" ? "{}" : call.arguments) ?? call.arguments };
  const timer = new AbortController();
  try {
    const time = sleep(answerWithinMs, null, { signal: timer.signal });
    return await Promise.race([answered(handler, question, { tool, call }), time, rejectionOf(outer)]);
  } catch (error) {
    if (outer.aborted) throw error;
    const told = `onApproval failed, so the run waits for a decision about the call ${blockId}: ${messageOf(error)}`;
    process.emitWarning(told, "TurnlogWarning");
    return null;
  } finally {
    timer.abort();
    late.abort(new Error("the answer came too late"));
  }
}

type Checking = Pick<Asking, "tool" | "call">;

async function answered(
  handler: ApprovalHandler,
  question: Omit<ApprovalQuestion, "refused">,
  checking: Checking,
): Promise<ApprovalDecision | null> {
  let refused: string | null = null;
  for (let count = 0; count < maxQuestions; count += 1) {
    const given: unknown = await handler({ ...question, refused });
    if (given === null || given === undefined) return null;
    const decision = recordableDecision("onApproval", given);
    refused = decision.how === "edit" ? await inputRefusal(decision.input, checking) : null;
    if (refused === null) return decision;
  }
  return null;
}

/** Why the tool does not take edited arguments; null if it does. */
export async function inputRefusal(input: unknown, { tool, call }: Checking): Promise<string | null> {
  try {
    await tool?.inputOf(call.withText(jsonTextOf(input)));
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** The decision as an event records it. */
export function decidedData(
  { blockId, inputDigest }: Pick<ApprovalRequestedData, "blockId" | "inputDigest">,
  { actor: _, ...decision }: ApprovalDecision,
): ApprovalDecidedData {
  return { blockId, inputDigest, ...decision };
}
