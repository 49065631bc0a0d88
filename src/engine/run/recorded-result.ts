import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { readHistory } from "../../log/history/lineage.ts";
import { foldAround } from "../../log/history/skipped-events.ts";
import { foldTo, turnOf } from "../../log/snapshots/fold.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { CompletedRun } from "../../projections/answers.ts";
import { newRunRecord, noteRun } from "../../projections/run-record.ts";
import { type RunResult, resultOf } from "../stack/result.ts";
import type { RunPart } from "../stack/run-part.ts";

/** The result of a run that completed, as the log has it: nobody is asked, and nothing is written. */
export async function recordedResult(
  { log, view }: ConversationWriter,
  run: CompletedRun,
  closedRun: string | null,
): Promise<RunResult> {
  const { runId, stream, to, brought } = run;
  const { client } = view;
  const turn = client.answers.answeredBy === run ? client.committed : await turnOf(log, await foldTo(log, stream, to));
  const record = newRunRecord(runId);
  let appended = 0;
  for (const recorded of await eventsBetween(log, run)) {
    if (recorded.event.type === "BlockAppended") appended += 1;
    if (recorded.runId === runId) noteRun(record, recorded);
  }
  const answered = turn.slice(turn.length - appended);
  return resultOf(record, { answered, brought, turn, isNew: false, closedRun });
}

/** Shows a recorded result to a reader who wanted to see the run. */
export function showAgain(result: RunResult, onPart: (part: RunPart) => void): void {
  for (const { frame, blocks } of result.steps) for (const block of blocks) onPart({ type: "block", frame, block });
  onPart({ type: "run-end", result });
}

const eventsBetween = (
  log: ConversationWriter["log"],
  { stream, from, to }: CompletedRun,
): Promise<readonly RecordedEvent[]> =>
  foldAround(log, async (skipped) => {
    const events: RecordedEvent[] = [];
    for await (const recorded of readHistory(log, stream, { from, to, skipped })) events.push(recorded);
    return events;
  });
