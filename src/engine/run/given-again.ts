import { isHole } from "../../domain/events/recorded.ts";
import { readEvents } from "../../log/history/read-events.ts";
import { foldTo, turnOf } from "../../log/snapshots/open.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { CompletedRun } from "../../projections/client-turn/answers.ts";
import { newRunRecord, noteRun } from "../../projections/views/run-record.ts";
import type { EngineOptions } from "../options/engine.ts";
import { madeIn, type RunResult, resultOf } from "../options/result.ts";
import type { RunPart } from "../options/run-part.ts";
import type { ExecuteOptions } from "./run.ts";

/** Returns the recorded result of a run that already answered the request, and shows it to a reader who wanted to see the run. */
export async function giveAgain(
  stream: ConversationWriter,
  answered: CompletedRun,
  { output }: Pick<EngineOptions, "output">,
  { onPart, closedRun }: Pick<ExecuteOptions, "onPart" | "closedRun">,
): Promise<RunResult> {
  const result = await recordedResult(stream, answered, { closedRun, output });
  if (onPart !== undefined) showAgain(result, onPart);
  return result;
}

/** The result of a completed run from its log: no model is asked, and nothing is written. */
async function recordedResult(
  writer: ConversationWriter,
  run: CompletedRun,
  told: { readonly closedRun: string | null } & Pick<EngineOptions, "output">,
): Promise<RunResult> {
  const { runId, stream, from, to, brought } = run;
  const { log } = writer;
  const record = newRunRecord(runId);
  let appended = 0;
  let after = "";
  for await (const recorded of readEvents(log, stream, { from, to, skipped: writer.skipped })) {
    if (isHole(recorded)) continue;
    const { event } = recorded;
    if (event.type === "BlockAppended") appended += 1;
    if (recorded.runId !== runId) continue;
    noteRun(record, recorded);
    if (event.type === "RunCompleted") after = event.data.after;
  }
  // The Turn that it left may have been shortened since.
  const isThere = writer.view.client.committed.digest === after;
  const { committed } = isThere ? writer.view.client : (await foldTo(log, stream, to)).view.client;
  const turn = isThere ? writer.turnReader() : () => turnOf(log, committed, { stream, revision: to });
  const end = committed.length - (isThere ? 0 : appended);
  const calls = record.status === "calls-open" ? madeIn(runId, committed) : [];
  const blocks = [...committed.slice(end).after(end - brought), ...calls];
  const answered = (await turnOf(log, committed, { stream, revision: to, blocks })).slice(end);
  return resultOf(record, { answered, brought, turn, isNew: false, ...told });
}

/** Shows a recorded result to a reader who wanted to see the run. */
function showAgain(result: RunResult, onPart: (part: RunPart) => unknown): void {
  for (const { frame, blocks } of result.steps) for (const block of blocks) onPart({ type: "block", frame, block });
  onPart({ type: "run-end", result });
}
