import type { ConversationEventOf } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { foldedHistory } from "../log/history/folded-history.ts";
import type { OpenRun } from "../projections/client-turn/open-run.ts";
import type { ConversationView } from "../projections/views/conversation-view.ts";

/** A run in the log, from its first event to its end, or to its last event so far. */
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

/** An event, and the run that it ends: at that event the folds still have everything the run knew, and nothing later. */
type HistoryStep = {
  readonly recorded: RecordedEvent;
  readonly run: RecordedRun | null;
  /** The folds after the event; the next step changes them. */
  readonly view: ConversationView;
};

/**
 * The history of a conversation, event by event. Each run comes with the event that ends it; an open run comes
 * with the last event.
 */
export async function* historyOf(reader: EventReader, stream: string, to: number): AsyncGenerator<HistoryStep> {
  /** The events of the open run. */
  let events: RecordedEvent[] = [];
  let begun: OpenRun | null = null;
  for await (const { recorded, view, isLast } of foldedHistory(reader, stream, to)) {
    const { run } = view.client;
    // After the folds have started over, another object represents the same run.
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

/** A fork ends its parent's open run, and a skipped event ends its own; such a run has no end event. */
function runOf({ run, events }: Opened, last: RecordedEvent | null): RecordedRun {
  const { id, startedRevision, startedAt, started, turns } = run;
  const end = last?.runId === id && last.event.type !== "EventSkipped" ? last : null;
  return { id, startedRevision, startedAt: Date.parse(startedAt), started, turns, events, end };
}

/**
 * Whether a run was ended by something other than its layers: it was cancelled, its process died, or it took
 * too long. What it would have done next is unknown.
 */
export function isCutOff({ end }: RecordedRun): boolean {
  if (end === null || end.event.type === "RunCancelled" || end.actor.kind === "recovery") return true;
  return end.event.type === "RunFailed" && end.event.data.kind === "layer-timeout";
}
