import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { type ConversationView, conversationView } from "../../projections/views/conversation-view.ts";
import type { EventReader } from "../codec/event-log.ts";
import { foldHistory, readHistory } from "./lineage.ts";
import { noteSkip, SkippedEvents } from "./skipped-events.ts";

/** An event, and the folds right after they applied it: the next event changes them. */
export type FoldedEvent = {
  readonly recorded: RecordedEvent;
  readonly view: ConversationView;
  /** No event follows. */
  readonly isLast: boolean;
};

/**
 * A conversation's history up to a revision of its own stream, with the folds after each event. Each event is yielded once: if the folds
 * find damage that was skipped, they start over without that event, and events already yielded are not yielded again.
 *
 * @throws {ConversationDamagedError} at damage that was not skipped, after yielding all events before it.
 */
export async function* foldedHistory(reader: EventReader, stream: string, to?: number): AsyncGenerator<FoldedEvent> {
  let given = 0;
  for (const skipped = new SkippedEvents(); ; ) {
    try {
      const view = conversationView.initial(stream);
      let held: RecordedEvent | null = null;
      let folded = 0;
      for await (const recorded of readHistory(reader, stream, { to, skipped })) {
        if (held !== null) {
          given = folded;
          yield { recorded: held, view, isLast: false };
        }
        conversationView.apply(view, recorded);
        folded += 1;
        held = folded > given ? recorded : null;
      }
      if (held !== null) yield { recorded: held, view, isLast: true };
      return;
    } catch (error) {
      if (!(await noteSkip(reader, error, skipped))) throw error;
    }
  }
}

/** The same without the folds, and without damaged events that were skipped. */
export async function* readSoundHistory(
  reader: EventReader,
  stream: string,
  to?: number,
): AsyncGenerator<RecordedEvent> {
  for await (const { recorded } of foldedHistory(reader, stream, to)) yield recorded;
}

/** What folds of a conversation leave out; if they stop at damage, what they leave out before it. */
export async function skippedIn(reader: EventReader, stream: string): Promise<SkippedEvents> {
  const skipped = new SkippedEvents();
  for (;;) {
    try {
      await foldHistory(reader, stream, { skipped });
      return skipped;
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      if (!(await noteSkip(reader, error, skipped))) return skipped;
    }
  }
}
