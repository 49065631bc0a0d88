import { jsonTextOf } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import { Block, idOf } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import { isApproval } from "../../domain/decider/facts.ts";
import type { ApprovalDecidedData, ApprovalRequestedData } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import { mayNeedApproval, needOf } from "../options/approvals.ts";
import type { AskedNeed } from "../ports/approval-need.ts";
import { EffectInDoubtError } from "../ports/effect-errors.ts";
import type { Tool, ToolContext } from "../ports/tool.ts";
import type { PastCall } from "../session/run-answers.ts";
import { engineActor, type LiveRun, type RunSession, record } from "../session/session.ts";
import { askHandler, decidedData, inputRefusal } from "./ask-approval.ts";
import { parkedCall } from "./tool-in-doubt.ts";

/** How a call goes on. */
export type Permit =
  /** It begins, with these arguments. The note tells the model what a person said about it. */
  | { readonly how: "begin"; readonly argumentsText: string; readonly note: string }
  /** Its arguments are invalid: it does not begin, and the model gets the error. */
  | { readonly how: "refuse"; readonly error: unknown }
  /** It does not begin: a person denied it, or did not decide in time. */
  | { readonly how: "deny"; readonly output: string; readonly actor: Actor };

export type PermitPlace = Pick<PastCall, "past" | "hasBegun" | "approval"> & {
  readonly tool: Tool | undefined;
  readonly call: Block;
  readonly frame: string;
  readonly signal: AbortSignal;
  readonly ctx: ToolContext;
};

/** Whether a call begins without further ado, as most calls do. */
export const isFree = (session: RunSession, { tool, past, approval }: PermitPlace): boolean =>
  approval === null &&
  (tool === undefined ||
    past.state !== "none" ||
    !(tool.isExternal || mayNeedApproval(session.engine.approvals, tool)));

/**
 * Finds out whether a call may begin (rule: Approval). A call that somebody outside of the run has to decide or to answer waits here, until the
 * run is left to them.
 *
 * @throws the signal's reason when it aborts, which is how a run that waits ends its stack.
 */
export async function permitOf(session: RunSession, place: PermitPlace): Promise<Permit> {
  const { gate } = session.run;
  const id = idOf(place.call);
  // Before anything is awaited, so that calls made at the same time know of each other.
  gate.enter(id);
  let ruling: Ruling;
  try {
    ruling = await rulingOn(session, place);
  } catch (error) {
    gate.leave(id);
    throw error;
  }
  if ("wait" in ruling) return gate.wait({ id, frame: place.frame, event: ruling.wait }, place.signal);
  if (ruling.isDecided) await gate.clear(id, place.signal);
  else gate.leave(id);
  return ruling.permit;
}

type Ruling =
  | { readonly wait: Parameters<typeof record>[1] }
  /** A decided call waits until all others are decided. */
  | { readonly permit: Permit; readonly isDecided: boolean };

const asItIs = (call: Block): Permit => ({ how: "begin", argumentsText: call.arguments, note: "" });

async function rulingOn(session: RunSession, place: PermitPlace): Promise<Ruling> {
  const { tool, call, approval, past, ctx } = place;
  if (approval !== null) return rulingByLog(session, place, approval);
  const free = { permit: asItIs(call), isDecided: false };
  if (tool === undefined || past.state !== "none" || session.run.isReplay) return free;
  let input: unknown;
  try {
    input = await tool.inputOf(call);
  } catch (error) {
    // Validated again, a schema that depends on more than the input might accept it, and the call would begin without approval.
    return { permit: { how: "refuse", error }, isDecided: false };
  }
  if (tool.isExternal) return { wait: parkedCall(call, await waitReason(tool, input, ctx)) };
  const need = await needOf(session.engine.approvals, tool, { input, ctx });
  return need === null ? free : ask(session, place, need);
}

/** What an external tool says about a call that waits. If its function fails or gives no text, the call waits without a reason. */
async function waitReason(tool: Tool, input: unknown, ctx: ToolContext): Promise<string> {
  try {
    const given: unknown = await tool.approval(input, ctx);
    return typeof given === "string" ? given : "";
  } catch {
    return "";
  }
}

async function rulingByLog(
  session: RunSession,
  place: PermitPlace,
  { asked, decision }: NonNullable<PastCall["approval"]>,
): Promise<Ruling> {
  const { call, frame, hasBegun, past } = place;
  const { run } = session;
  const isSame = asked.inputDigest === Block.named(call, run.names).recordedAs;
  const again: AskedNeed = { reason: asked.reason ?? null, expiresInMs: null };
  if (!isSame) {
    if (!hasBegun) return ask(session, place, again);
    const isRepeated = past.state === "started" || (past.state === "settled" && past.settlement.how === "rerun");
    if (isRepeated) run.journal.failApproved(idOf(call), asked.name, frame);
  }
  if (decision === null) {
    // A run that waits is not executed again: only a replay comes here.
    await run.journal.consumed();
    const open = new EffectInDoubtError("an approval");
    run.recorder.fail(open);
    throw open;
  }
  const { data, actor } = decision;
  if (data.how === "edit" && !hasBegun) {
    const refused = await inputRefusal(data.input, place);
    const reason = `${asked.reason ?? "it needs approval"}; the edited input was refused: ${refused ?? ""}`;
    if (refused !== null) return ask(session, place, { ...again, reason });
  }
  // A call that has begun or ended was decided in a part of the run that has been shown.
  if (!hasBegun && past.state === "none") tellDecided(run, { call, frame, decision });
  return { permit: permitBy(data, { asked, call, actor }), isDecided: true };
}

/** Shows a decision to the observers of a run. */
export function tellDecided(
  { emit }: Pick<LiveRun, "emit">,
  {
    call,
    frame,
    decision: { data, actor },
  }: { readonly call: Block; readonly frame: string; readonly decision: Decision },
): void {
  const { how, input, message = null } = data;
  emit({ type: "approval-decided", frame, call, how, actor, ...(input === undefined ? {} : { input }), message });
}

type Decision = { readonly data: ApprovalDecidedData; readonly actor: Actor };

type Decided = { readonly asked: ApprovalRequestedData; readonly call: Block; readonly actor: Actor };

/** How a call goes on by a decision about it. */
export function permitBy(data: ApprovalDecidedData, { asked, call, actor }: Decided): Permit {
  if (!isApproval(data)) return { how: "deny", output: denialText(data, asked), actor };
  const { how, input, message } = data;
  const argumentsText = how === "edit" ? jsonTextOf(input) : call.arguments;
  const edited = how === "edit" ? `A person approved this call with other arguments: ${argumentsText}` : "";
  const said =
    message === undefined ? "" : `${how === "edit" ? "They" : "The person who approved this call"} said: ${message}`;
  return { how: "begin", argumentsText, note: [edited, said].filter((each) => each !== "").join("\n") };
}

/** What the model reads in place of the result of a call that does not begin. */
function denialText({ how, message }: ApprovalDecidedData, { expiresAt }: ApprovalRequestedData): string {
  if (how === "deny") return message === undefined ? "denied: a person did not allow this call" : `denied: ${message}`;
  const until = expiresAt === undefined ? "in time" : `until ${expiresAt}`;
  return message === undefined ? `not approved: no decision came ${until}` : `not approved: ${message}`;
}

/** Asks the person who is there; otherwise the call waits for a decision. */
async function ask(session: RunSession, place: PermitPlace, need: AskedNeed): Promise<Ruling> {
  const { run, engine } = session;
  const { call, frame, signal, tool } = place;
  const named = Block.named(call, run.names);
  const blockId: BlockId = idOf(call);
  const { reason, expiresInMs } = need;
  const name = call.name ?? call.type;
  const asked: ApprovalRequestedData = {
    ...{ blockId, name, inputDigest: named.recordedAs },
    // Otherwise the person would see other arguments than those that are asked about.
    ...(run.fold.turns.version(blockId, named.recordedAs) === null ? { call: blockToJson(named) } : {}),
    ...(tool === undefined ? {} : { inputSchema: tool.parameters }),
    ...(reason === null ? {} : { reason }),
    ...(expiresInMs === null ? {} : { expiresAt: timeAfter(engine.clock(), expiresInMs) }),
  };
  const request = { type: "ApprovalRequested", version: 1, data: asked } as const;
  const { conversationId, id: runId } = run;
  const asking = { conversationId, runId, asked, call: named, tool, signal };
  // A crash while the person thinks must not lose the answer that made the call.
  if (engine.onApproval !== null) await run.recorder.flush();
  run.emit({ type: "approval-requested", frame, call, reason, expiresAt: asked.expiresAt ?? null });
  const decision = await run.gate.inTurn(() => askHandler(engine.onApproval, asking));
  if (decision === null) return { wait: request };
  const data = decidedData(asked, decision);
  tellDecided(run, { call, frame, decision: { data, actor: decision.actor } });
  record(run, request, engineActor, frame);
  record(run, { type: "ApprovalDecided", version: 1, data }, decision.actor, frame);
  return { permit: permitBy(data, { asked, call, actor: decision.actor }), isDecided: true };
}

/** The last time whose ISO text can be compared as text: the end of the year 9999. */
const endOfTimeMs = 253_402_300_799_999;

const timeAfter = (now: number, ms: number): string => new Date(Math.min(now + ms, endOfTimeMs)).toISOString();
