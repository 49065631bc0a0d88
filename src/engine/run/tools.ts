import type { JsonValue } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import { toolResult } from "../../domain/make-block.ts";
import type { Tool } from "../tool.ts";
import { rejectionOf } from "./abort.ts";
import { engineActor, newBlockId, type RunSession, record } from "./session.ts";

type Outcome = "ok" | "error" | "timeout";
type Answer = { readonly output: JsonValue; readonly outcome: Outcome };

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
  const name = call.name ?? call.itemType;
  const idempotencyKey = id;
  session.turns.startTool(id);
  session.runningTools.add(id);
  record(
    session,
    { type: "StartTool", runId: session.runId, data: { blockId: id, name, idempotencyKey } },
    engineActor,
    frame,
  );
  const resultId = newBlockId(session, frame);
  try {
    await session.recorder.flush();
    signal.throwIfAborted();
    session.emit({ type: "tool-call-start", frame, call });
    const began = performance.now();
    const tool = session.engine.tools.find((candidate) => candidate.name === name);
    const { output, outcome } = await answerOf(tool, call, {
      idempotencyKey,
      signal,
      onLate: (late) => session.onLate(call, resultBlock(call, late).withId(resultId), performance.now() - began),
    });
    const durationMs = Math.round((performance.now() - began) * 100) / 100;
    const block = resultBlock(call, output).withId(resultId);
    const actor: Actor = { kind: "tool", name };
    const data = { blockId: id, result: blockToJson(block), outcome, durationMs };
    record(session, { type: "FinishTool", runId: session.runId, data }, actor, frame);
    session.turns.finishTool(id, block, actor);
    session.emit({ type: "tool-call-end", frame, call, result: block, outcome, durationMs });
    return block;
  } finally {
    session.runningTools.delete(id);
    saveWhileOthersRun(session);
  }
}

/** A result joins the next append; while other tools still run that may take long, so it goes ahead. */
function saveWhileOthersRun(session: RunSession): void {
  setImmediate(() => {
    if (session.runningTools.size > 0) session.recorder.flush().catch(() => undefined);
  });
}

/** The block that answers a call with an output. */
export function resultBlock(call: Block, output: JsonValue): Block {
  const isCustom = call.itemType === "custom_tool_call";
  const type = isCustom ? "custom_tool_call_output" : "function_call_output";
  return toolResult({
    callId: call.callId ?? "",
    output: typeof output === "string" ? output : JSON.stringify(output),
    type,
  });
}

type Attempt = {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Gets the answer of a tool that came back when nobody waited for it any more. */
  readonly onLate: (output: JsonValue) => void;
};

async function answerOf(tool: Tool | undefined, call: Block, attempt: Attempt): Promise<Answer> {
  const { idempotencyKey, signal, onLate } = attempt;
  if (tool === undefined) return { output: `Error: there is no tool named ${call.name ?? "?"}`, outcome: "error" };
  const timeout = new AbortController();
  const ends = AbortSignal.any([signal, timeout.signal]);
  const timer = setTimeout(() => timeout.abort(new Error(`no answer within ${tool.timeoutMs} ms`)), tool.timeoutMs);
  try {
    const context = { idempotencyKey, callId: call.callId ?? "", signal: ends };
    const work = tool.run(call.arguments, context);
    work.then(
      (output) => {
        if (ends.aborted) onLate(output);
      },
      () => undefined,
    );
    const output = await Promise.race([work, rejectionOf(ends)]);
    return { output: output ?? "", outcome: "ok" };
  } catch (error) {
    // Whether it took effect is not known: whoever ends the run says so.
    if (signal.aborted) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return { output: `Error: ${message}`, outcome: timeout.signal.aborted ? "timeout" : "error" };
  } finally {
    clearTimeout(timer);
  }
}
