import type { ConversationEventOf } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { readSoundHistory } from "../log/history/lineage.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
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
  let view = conversationView.initial(stream);
  /** The run that is open, or none. */
  const begun: Opened[] = [];
  let last: HistoryStep | null = null;
  for await (const recorded of readSoundHistory(reader, stream, to)) {
    if (last !== null) yield last;
    view = conversationView.apply(view, recorded);
    const { run } = view.client;
    if (run !== null && begun[0]?.run !== run) begun[0] = { run, events: [] };
    const [open] = begun;
    if (open !== undefined && recorded.runId === open.run.id) open.events.push(recorded);
    last = { recorded, view, run: open === undefined || run !== null ? null : runOf(open, recorded) };
    if (run === null) begun.pop();
  }
  const [open] = begun;
  if (last !== null) yield open === undefined ? last : { ...last, run: runOf(open, null) };
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
