import type { ConversationEventOf } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { foldedHistory } from "../log/history/folded-history.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import type { OpenRun } from "../projections/open-run.ts";

/** A run as the log has it, from its first event to its end, or as far as it got. */
export type RecordedRun = {
  readonly id: string;
  readonly startedRevision: number;
  /** When it began, in milliseconds. */
  readonly startedAt: number;
  readonly started: ConversationEventOf<"RunStarted">["data"];
  readonly turns: OpenRun["turns"];
  readonly events: readonly RecordedEvent[];
  /** Null while it is open: it was cut off, or waits. */
  readonly end: RecordedEvent | null;
};

/** An event, and the run that ends with it: there the folds still know all that the run knew, and nothing later. */
type HistoryStep = {
  readonly recorded: RecordedEvent;
  readonly run: RecordedRun | null;
  /** The folds after the event; the code that takes the next step finds them changed. */
  readonly view: ConversationView;
};

/**
 * The history of a conversation, event by event, with each of its runs at the event that ends it; one that is open comes
 * with the last event.
 */
export async function* historyOf(reader: EventReader, stream: string, to: number): AsyncGenerator<HistoryStep> {
  /** The events of the run that is open. */
  let events: RecordedEvent[] = [];
  let begun: OpenRun | null = null;
  for await (const { recorded, view, isLast } of foldedHistory(reader, stream, to)) {
    const { run } = view.client;
    // Folds that began anew have another object for the same run.
    if (run !== null) {
      if (begun?.id !== run.id) events = [];
      begun = run;
    }
    if (begun !== null && recorded.runId === begun.id) events.push(recorded);
    const isOver = run === null || isLast;
    const over = isOver && begun !== null ? runOf({ run: begun, events }, run === null ? recorded : null) : null;
    yield { recorded, view, run: over };
    if (run === null) begun = null;
  }
}

type Opened = { readonly run: OpenRun; readonly events: RecordedEvent[] };

/** A fork leaves its parent's open run, and so does what comes after a skipped event of one: that has no end of its own. */
function runOf({ run, events }: Opened, last: RecordedEvent | null): RecordedRun {
  const { id, startedRevision, startedAt, started, turns } = run;
  const end = last?.runId === id && last.event.type !== "EventSkipped" ? last : null;
  return { id, startedRevision, startedAt: Date.parse(startedAt), started, turns, events, end };
}

/**
 * Whether a run ended by something that its layers did not bring about: someone cancelled it, its process died, or it took
 * too long. What it would have done next nobody knows.
 */
export function isCutOff({ end }: RecordedRun): boolean {
  if (end === null || end.event.type === "RunCancelled" || end.actor.kind === "recovery") return true;
  return end.event.type === "RunFailed" && end.event.data.kind === "layer-timeout";
}
