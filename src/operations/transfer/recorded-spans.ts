import type { ConversationId } from "../../domain/ids.ts";
import { conversationStream } from "../../domain/ids.ts";
import { RunSpans, type SpanKnowledge } from "../../engine/tracing/spans/run-spans.ts";
import type { SpanChange, SpanEnd, SpanKey, SpanStart } from "../../engine/tracing/spans/span.ts";
import type { SpanOptions } from "../../engine/tracing/spans/span-options.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import { foldedHistory } from "../../log/history/folded-history.ts";

/** A span from its beginning to its end. */
export type RecordedSpan = { readonly runId: string; readonly start: SpanStart; readonly end: SpanEnd };

/**
 * The spans of a conversation's own runs, from its log: those that live tracing made of the same events. Runs of its ancestors are theirs.
 *
 * @throws {ConversationDamagedError} at an event that cannot be read and was not skipped.
 */
export async function* recordedSpans(
  reader: EventReader,
  conversationId: ConversationId,
  options: SpanOptions,
): AsyncGenerator<RecordedSpan> {
  const stream = conversationStream(conversationId);
  const runs = new Map<string, SpansOfRun>();
  for await (const { recorded, view } of foldedHistory(reader, stream)) {
    const { runId, event } = recorded;
    if (recorded.stream !== stream || runId === null) continue;
    const known: SpanKnowledge = {
      settings: (name) => view.server.settings.get(name),
      outgoing: (frame) => view.client.run?.turns.given(frame).blocks ?? null,
    };
    const run = runs.get(runId) ?? new SpansOfRun(runId, new RunSpans({ conversationId, runId }, options));
    runs.set(runId, run);
    yield* run.finished(run.spans.take(recorded, known));
    // What comes after the end of a run makes no more spans.
    if (endsRun.has(event.type)) runs.delete(runId);
  }
  for (const run of runs.values()) yield* run.finished(run.spans.leave());
}

const endsRun: ReadonlySet<string> = new Set(["RunCompleted", "RunFailed", "RunCancelled"]);

class SpansOfRun {
  readonly runId: string;
  readonly spans: RunSpans;
  readonly #begun = new Map<SpanKey, SpanStart>();

  constructor(runId: string, spans: RunSpans) {
    this.runId = runId;
    this.spans = spans;
  }

  *finished(changes: readonly SpanChange[]): Generator<RecordedSpan> {
    for (const change of changes) {
      const start = this.#begun.get(change.key);
      if (change.type === "start") this.#begun.set(change.key, change);
      else if (start !== undefined) {
        this.#begun.delete(change.key);
        yield { runId: this.runId, start, end: change };
      }
    }
  }
}
