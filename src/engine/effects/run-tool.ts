import { messageOf } from "../../base/error-message.ts";
import { isJsonList, type JsonValue, jsonTextOf } from "../../base/json.ts";
import { unwatched } from "../../base/unwatched.ts";
import type { Actor } from "../../domain/actor.ts";
import { Block, idOf } from "../../domain/block.ts";
import { blockFromJson, blockToJson } from "../../domain/block-json.ts";
import { resultBlock } from "../../domain/calls.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { type BlockId, runIdSchema } from "../../domain/ids.ts";
import { isMadeOfParts } from "../../domain/message-content.ts";
import { emitted } from "../options/emitted.ts";
import { type Tool, type ToolContext, ToolInputError } from "../ports/tool.ts";
import type { PastCall, PastEffect } from "../session/run-answers.ts";
import { engineActor, type LiveRun, newBlockId, type RunSession, record } from "../session/session.ts";
import { toolKey } from "../tracing/spans/span.ts";
import { inDoubtText } from "./in-doubt.ts";
import { millisecondsSince, perform, withinTime } from "./perform.ts";
import { isFree, type Permit, permitOf } from "./permit.ts";
import { isToolInDoubt, parkedCall, settledLive } from "./tool-in-doubt.ts";

type Outcome = "ok" | "error" | "timeout" | "in-doubt" | "denied";
/** What the model gets: a text as it is, parts as parts, anything else as JSON. */
type ToolAnswer = {
  readonly output: JsonValue;
  readonly outcome: Outcome;
  /** The tool did not run, because its schema refused the arguments. */
  readonly isInvalid?: boolean;
  /** The text is that of a JSON value. */
  readonly isJson?: boolean;
};

/**
 * Runs one call, at most once: its start is durable before it begins. If the tool throws, the model gets the error and the run
 * continues; only an abort of the run ends it.
 */
export async function runTool(session: RunSession, frame: string, call: Block, signal: AbortSignal): Promise<Block> {
  const { run } = session;
  const { turns } = run.fold;
  if (call.id === null || turns.ownCall(call.id) === null)
    throw new TypeError(
      "ctx.tool: no answer of this run made the call: give a call for which ctx.canRun(call) is true",
    );
  const { id } = call;
  const result = turns.toolResult(id);
  if (result !== null) return result;
  if (turns.isToolStarted(id) || run.calls.running.has(id)) throw new Error(`the call ${id} was already started`);
  signal.throwIfAborted();
  const resultId = newBlockId(run, frame);
  const name = call.name ?? call.type;
  const known = run.journal.call(id, name, frame);
  noteKnown(run, { ...known, id, name, frame });
  const { past } = known;
  if (past.state === "finished") return finishedBefore(run, frame, call, past);
  const tool = session.engine.tools.find((candidate) => candidate.name === name);
  run.calls.running.add(id);
  try {
    const asked = { ...known, tool, call, frame, signal, ctx: contextOf(session, { call, frame, signal }) };
    const permit = isFree(session, asked) ? null : await permitOf(session, asked);
    return await answerCall(session, { call, frame, resultId, tool, signal, past, permit });
  } finally {
    run.calls.running.delete(id);
    saveWhileOthersRun(run);
  }
}

/** Applies what the log has of a call that is met again, up to its result. */
function noteKnown(
  { fold }: LiveRun,
  {
    id: blockId,
    name,
    frame,
    hasBegun,
    approval,
    past,
  }: PastCall & { readonly id: BlockId } & Record<"name" | "frame", string>,
): void {
  const apply = (event: ProposedEvent["event"]): void => {
    fold.apply({ event, actor: engineActor, frame });
  };
  if (approval !== null) apply({ type: "ApprovalRequested", version: 1, data: approval.asked });
  if (hasBegun) apply(startOf(blockId, name));
  // Of an external tool.
  else if (past.state === "parked" || past.state === "settled")
    apply({ type: "ToolParked", version: 1, data: { blockId, name } });
}

const startOf = (blockId: BlockId, name: string) =>
  ({ type: "ToolStarted", version: 1, data: { blockId, name, idempotencyKey: blockId } }) as const;

type Beginning = CallPlace & {
  readonly tool: Tool | undefined;
  readonly signal: AbortSignal;
  readonly past: Exclude<PastEffect, { readonly state: "finished" }>;
  /** Null for a call that needs none. */
  readonly permit: Permit | null;
};

/** Runs a call as the log and its permit allow, and records its result. A call whose tool cannot know its outcome is settled first. */
export async function answerCall(session: RunSession, beginning: Beginning): Promise<Block> {
  try {
    return await answerOnce(session, beginning);
  } catch (error) {
    if (!isToolInDoubt(error)) throw error;
    // An app that had the call run again is not asked a second time: a person decides.
    const isAsked = beginning.past.state === "settled";
    return answerCall(session, {
      ...beginning,
      past: await settledLive(session, beginning, { isAsked, reason: error.message }),
    });
  }
}

async function answerOnce(session: RunSession, beginning: Beginning): Promise<Block> {
  const { call, frame, tool, past, permit, signal } = beginning;
  const { run } = session;
  const name = call.name ?? call.type;
  if (permit?.how === "deny") {
    const { output, actor } = permit;
    return finish(run, beginning, { output, outcome: "denied", durationMs: 0, actor });
  }
  const { answer, durationMs, settledBy } = await perform<ToolAnswer>(session, past, {
    ...{ frame, signal, actor: engineActor, effect: { kind: "tool", frame, call } },
    gated: { id: idOf(call), frame, event: parkedCall(call, "") },
    // Running an unknown tool has no effect, so it may be repeated.
    isIdempotent: tool === undefined || tool.idempotent,
    start: startOf(idOf(call), name),
    onBegin: () => run.emit({ type: "tool-call-start", frame, call }),
    work: async () =>
      permit?.how === "refuse"
        ? refused(session, tool, permit.error)
        : answerOf(session, tool, withArguments(beginning)),
    injected: (given) => told(session, name, given),
    settled: (settlement) =>
      settlement.how === "result"
        ? told(session, name, settlement.output)
        : { output: inDoubtText, outcome: "in-doubt" },
  });
  const noted = permit?.how === "begin" ? withNote(answer, permit.note) : answer;
  return finish(run, beginning, { ...noted, durationMs, actor: settledBy ?? { kind: "tool", name } });
}

/** The call goes on with the arguments that were approved. */
const withArguments = ({ permit, ...place }: Beginning) => ({
  ...{ ...place, argumentsText: permit?.how === "begin" ? permit.argumentsText : place.call.arguments },
});

/** The model reads what a person said of its call before the result. */
function withNote(answer: ToolAnswer, note: string): ToolAnswer {
  if (note === "") return answer;
  const { output } = answer;
  if (typeof output === "string") return { ...answer, output: `${note}\n\n${output}`, isJson: false };
  return { ...answer, output: [{ type: "text", text: note }, ...(isJsonList(output) ? output : [output])] };
}

type CallPlace = { readonly call: Block; readonly frame: string; readonly resultId: BlockId };

type Finish = ToolAnswer & {
  readonly durationMs: number;
  readonly actor: Actor;
};

function finish(run: LiveRun, { call, frame, resultId }: CallPlace, given: Finish): Block {
  const { output, outcome, durationMs, actor, isInvalid = false, isJson = false } = given;
  const block = Block.named(resultBlock(call, output).withId(resultId), run.names);
  const said = { ...(isInvalid ? { invalid: true as const } : {}), ...(isJson ? { json: true as const } : {}) };
  const data = { blockId: idOf(call), result: blockToJson(block), outcome, durationMs, ...said };
  const at = run.clock.deliveredNow();
  record(run, { type: "ToolFinished", version: 1, data }, actor, frame, at);
  run.emit({ type: "tool-call-end", frame, call, result: block, outcome, durationMs, isInvalid });
  return block;
}

/** Returns the answer that the log already has. */
function finishedBefore(
  run: LiveRun,
  frame: string,
  call: Block,
  { at, actor, answer }: Extract<PastEffect, { readonly state: "finished" }>,
): Block {
  if (answer.type !== "tool") throw new Error(`${idOf(call)} is an effect of a layer, not a tool call`);
  const { finished: data } = answer;
  const { id, digest } = data.result;
  const block = run.journal.turns.version(id, digest) ?? blockFromJson(data.result);
  run.clock.delivered(at);
  run.fold.apply({ event: { type: "ToolFinished", version: 1, data }, actor, frame }, { blocks: [block] });
  return block;
}

/**
 * A tool's result in the form that the model gets. An error counts as one whether it was thrown or returned, and so does a value
 * without a text.
 */
function told(session: RunSession, name: string, output: unknown): ToolAnswer {
  if (output instanceof Error) return failed(session, output);
  try {
    if (typeof output === "string" || isMadeOfParts(output)) return { output, outcome: "ok" };
    return { output: jsonTextOf(output), outcome: "ok", isJson: true };
  } catch (cause) {
    const why = cause instanceof RangeError ? "what is nested too deeply" : `what is no JSON: ${messageOf(cause)}`;
    return failed(session, new Error(`the tool ${name} gave ${why}`, { cause }));
  }
}

/** A tool's error in the form that the model gets: the app's text, or a fixed text if the app gives none. */
function failed({ engine }: RunSession, error: unknown, outcome: "error" | "timeout" = "error"): ToolAnswer {
  try {
    const output: unknown = engine.onToolError(error);
    if (typeof output === "string") return { output, outcome };
    unwatched(output);
  } catch {
    // The error itself is not used instead: it may contain what the app would have left out.
  }
  return { output: "Error: the tool failed, and onToolError gave no text for it", outcome };
}

/** The same, for an error that came before the tool ran if its own schema refused the arguments. */
function refused(session: RunSession, tool: Tool | undefined, error: unknown): ToolAnswer {
  const answer = failed(session, error);
  // What a tool calls may throw such an error as well.
  return error instanceof ToolInputError && error.tool === tool?.name ? { ...answer, isInvalid: true } : answer;
}

/** A result joins the next append; while other tools still run that may take long, so it goes ahead. */
function saveWhileOthersRun({ calls, recorder }: LiveRun): void {
  setImmediate(() => {
    if (calls.running.size > 0) recorder.flush().catch(() => undefined);
  });
}

/** Runs a tool in the context of its span, so that what the tool traces is within it. */
const inSpan = async <T>({ tracing }: LiveRun, call: Block, work: () => T): Promise<Awaited<T>> =>
  await (tracing === null ? work() : tracing.within(toolKey(idOf(call)), work));

/** Counts a call as under way until it has ended, whether or not a caller waits for it. */
function underWay<T>({ underWay }: LiveRun["calls"], working: Promise<T>): Promise<T> {
  const end = (): void => void underWay.delete(working);
  underWay.add(working);
  working.then(end, end);
  return working;
}

/** What a tool is told, with what names the call for one that opens a conversation of its own. */
const contextOf = ({ run, engine }: RunSession, { call, frame, signal }: Calling): ToolContext => ({
  conversationId: run.conversationId,
  runId: runIdSchema.parse(run.id),
  blockId: idOf(call),
  callId: call.callId ?? "",
  idempotencyKey: idOf(call),
  signal,
  context: engine.context,
  emit: (name, data) => {
    run.emit({ type: "data", frame, ...emitted(name, data), layer: null, call });
  },
});

type Calling = { readonly call: Block; readonly frame: string; readonly signal: AbortSignal };

async function answerOf(
  session: RunSession,
  tool: Tool | undefined,
  {
    call,
    frame,
    resultId,
    signal,
    argumentsText,
  }: CallPlace & { readonly signal: AbortSignal; readonly argumentsText: string },
): Promise<ToolAnswer> {
  if (tool === undefined) return failed(session, new Error(`there is no tool named ${call.name ?? "?"}`));
  const { timeoutMs, name } = tool;
  const began = performance.now();
  const onLate = (given: unknown): void => {
    const { output, outcome } = told(session, name, given ?? "");
    const result = Block.named(resultBlock(call, output).withId(resultId), session.run.names);
    session.run.calls.onLate(call, result, { outcome, durationMs: millisecondsSince(began), frame });
  };
  const limits = { signal, timeoutMs, tooLate: `no answer within ${timeoutMs} ms`, onLate };
  const ended = await withinTime(limits, (ends) =>
    underWay(
      session.run.calls,
      inSpan(session.run, call, () => tool.run(argumentsText, contextOf(session, { call, frame, signal: ends }))),
    ),
  );
  if (ended.outcome === "ok") return told(session, name, ended.value ?? "");
  if (isToolInDoubt(ended.error) && !tool.idempotent) throw ended.error;
  return ended.outcome === "error" ? refused(session, tool, ended.error) : failed(session, ended.error, ended.outcome);
}
