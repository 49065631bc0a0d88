import { rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { jsonTextOf } from "../../base/json.ts";
import { unwatched } from "../../base/unwatched.ts";
import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { blockFromJson, blockToJson } from "../../domain/block-json.ts";
import { type BlockId, conversationIdSchema, conversationOfStream, runIdSchema } from "../../domain/ids.ts";
import { resultBlock } from "../../domain/result-block.ts";
import { intercept } from "../session/breakpoint.ts";
import type { PastEffect } from "../session/journal-answer.ts";
import { delivered, engineActor, newBlockId, type RunSession, record } from "../session/session.ts";
import type { Tool, ToolContext } from "../stack/tool.ts";
import { type EffectStart, effectStartOf, inDoubtText } from "./in-doubt.ts";

type Outcome = "ok" | "error" | "timeout" | "in-doubt";
/** What the model is told: a text as it is, anything else as JSON. */
type ToolAnswer = { readonly output: string; readonly outcome: Outcome };

/**
 * Runs one call, at most once: it is durable that it began before it begins. What a tool throws is told to the model and
 * the run goes on; only an abort of the run ends it.
 */
export async function runTool(session: RunSession, frame: string, call: Block, signal: AbortSignal): Promise<Block> {
  const id = idOf(call);
  if (!session.calls.has(id)) throw new Error(`no response of this run made the call ${id}`);
  const known = session.turns.toolResult(id);
  if (known !== null) return known;
  if (session.turns.isToolStarted(id)) throw new Error(`the call ${id} has been started`);
  signal.throwIfAborted();
  session.turns.startTool(id);
  const resultId = newBlockId(session, frame);
  const name = call.name ?? call.type;
  const past = session.journal.effect(id, name, frame);
  if (past.state === "finished") return finishedBefore(session, call, past);
  const tool = session.engine.tools.find((candidate) => candidate.name === name);
  session.runningTools.add(id);
  try {
    // A tool that never was there has nothing to do twice.
    const idempotent = tool === undefined || tool.idempotent;
    const beginning = await effectStartOf(session, past, { blockId: id, name, call, idempotent, frame, signal });
    if (beginning.begin === "no") return settled(session, { call, frame, resultId }, beginning);
    if (beginning.begin === "first") {
      const data = { blockId: id, name, idempotencyKey: id };
      record(session, { type: "ToolStarted", version: 1, data }, engineActor, frame);
    }
    await session.recorder.flush();
    signal.throwIfAborted();
    session.emit({ type: "tool-call-start", frame, call });
    const began = performance.now();
    const onLate = (late: ToolAnswer): void => {
      const durationMs = performance.now() - began;
      session.onLate(call, resultBlock(call, late.output).withId(resultId), { outcome: late.outcome, durationMs });
    };
    const { output, outcome } = await session.parking.during(() =>
      intercept(
        session.interceptor,
        { kind: "tool", frame, call },
        {
          work: () => answerOf(session, tool, call, { ...callOf(session, id), idempotencyKey: id, signal, onLate }),
          injected: (given) => told(session, name, given),
        },
      ),
    );
    const durationMs = Math.round((performance.now() - began) * 100) / 100;
    return finish(session, { call, frame, resultId }, { output, outcome, durationMs, actor: { kind: "tool", name } });
  } finally {
    session.runningTools.delete(id);
    saveWhileOthersRun(session);
  }
}

type CallPlace = { readonly call: Block; readonly frame: string; readonly resultId: BlockId };

type Finish = {
  readonly output: string;
  readonly outcome: Outcome;
  readonly durationMs: number;
  readonly actor: Actor;
};

function finish(session: RunSession, { call, frame, resultId }: CallPlace, given: Finish): Block {
  const { output, outcome, durationMs, actor } = given;
  const block = resultBlock(call, output).withId(resultId);
  const data = { blockId: idOf(call), result: blockToJson(block), outcome, durationMs };
  const at = delivered(session, session.now());
  record(session, { type: "ToolFinished", version: 1, data }, actor, frame, at);
  session.turns.finishTool(idOf(call), block, actor);
  session.emit({ type: "tool-call-end", frame, call, result: block, outcome, durationMs });
  return block;
}

/** The log has the answer already. */
function finishedBefore(
  session: RunSession,
  call: Block,
  { at, actor, answer }: Extract<PastEffect, { readonly state: "finished" }>,
): Block {
  if (answer.type !== "tool") throw new Error(`${idOf(call)} is an effect of a layer, not a tool call`);
  const { id, digest } = answer.result;
  const block = session.journal.turns.version(id, digest) ?? blockFromJson(answer.result);
  delivered(session, at);
  session.turns.finishTool(idOf(call), block, actor);
  return block;
}

/** Somebody said what became of a call that nobody knew the end of. */
function settled(
  session: RunSession,
  place: CallPlace,
  { settlement, actor }: Extract<EffectStart, { readonly begin: "no" }>,
): Block {
  const { call } = place;
  const given: ToolAnswer =
    settlement.how === "result"
      ? told(session, call.name ?? call.type, settlement.output)
      : { output: inDoubtText, outcome: "in-doubt" };
  return finish(session, place, { ...given, durationMs: 0, actor });
}

/** What a tool gave, as the model is told it. An error is its error, whether thrown or not, and so is what has no text. */
function told(session: RunSession, name: string, output: unknown): ToolAnswer {
  if (output instanceof Error) return failed(session, output);
  try {
    return { output: typeof output === "string" ? output : jsonTextOf(output), outcome: "ok" };
  } catch (cause) {
    const why = cause instanceof RangeError ? "what is nested too deeply" : `what is no JSON: ${messageOf(cause)}`;
    return failed(session, new Error(`the tool ${name} gave ${why}`, { cause }));
  }
}

/** What the model is told of a tool's error: as the app says it, and nothing of it where the app cannot say it. */
function failed({ engine }: RunSession, error: unknown, outcome: "error" | "timeout" = "error"): ToolAnswer {
  try {
    const output: unknown = engine.onToolError(error);
    if (typeof output === "string") return { output, outcome };
    unwatched(output);
  } catch {
    // The error is not told in its place: it may hold what the app would have left out.
  }
  return { output: "Error: the tool failed, and onToolError gave no text for it", outcome };
}

/** A result joins the next append; while other tools still run that may take long, so it goes ahead. */
function saveWhileOthersRun(session: RunSession): void {
  setImmediate(() => {
    if (session.runningTools.size > 0) session.recorder.flush().catch(() => undefined);
  });
}

/** What names the call, for a tool that opens a conversation of its own. */
const callOf = ({ stream, runId }: RunSession, blockId: BlockId): CallName => ({
  conversationId: conversationIdSchema.parse(conversationOfStream(stream)),
  runId: runIdSchema.parse(runId),
  blockId,
});

type CallName = Pick<ToolContext, "conversationId" | "runId" | "blockId">;
type Attempt = CallName & {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Gets the answer of a tool that came back when nobody waited for it any more. */
  readonly onLate: (answer: ToolAnswer) => void;
};

async function answerOf(
  session: RunSession,
  tool: Tool | undefined,
  call: Block,
  attempt: Attempt,
): Promise<ToolAnswer> {
  const { signal, onLate, ...named } = attempt;
  if (tool === undefined) return failed(session, new Error(`there is no tool named ${call.name ?? "?"}`));
  const timeout = new AbortController();
  const ends = AbortSignal.any([signal, timeout.signal]);
  const timer = setTimeout(() => timeout.abort(new Error(`no answer within ${tool.timeoutMs} ms`)), tool.timeoutMs);
  try {
    const context = { ...named, callId: call.callId ?? "", signal: ends };
    const work = tool.run(call.arguments, context);
    work.then(
      (output) => {
        if (ends.aborted) onLate(told(session, tool.name, output ?? ""));
      },
      () => undefined,
    );
    const output = await Promise.race([work, rejectionOf(ends)]);
    return told(session, tool.name, output ?? "");
  } catch (error) {
    // Whether it took effect is not known: whoever ends the run says so.
    if (signal.aborted) throw error;
    return failed(session, error, timeout.signal.aborted ? "timeout" : "error");
  } finally {
    clearTimeout(timer);
  }
}
