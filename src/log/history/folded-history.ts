import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { EventReader } from "../codec/event-log.ts";
import { foldHistory, readHistory } from "./lineage.ts";
import { noteSkip, SkippedEvents } from "./skipped-events.ts";

/** An event, and the folds that have just taken it in: the next event changes them. */
export type FoldedEvent = {
  readonly recorded: RecordedEvent;
  readonly view: ConversationView;
  /** Nothing comes after it. */
  readonly isLast: boolean;
};

/**
 * What a conversation is read as, up to a revision of its own stream, with the folds after each event, once: where they come to damage
 * that was skipped they begin anew without that event, and the events that were given before are not given again.
 *
 * @throws {ConversationDamagedError} at damage that was not skipped, after all events before it were yielded.
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

/** The same without the folds: what is damaged and was skipped is left out. */
export async function* readSoundHistory(
  reader: EventReader,
  stream: string,
  to?: number,
): AsyncGenerator<RecordedEvent> {
  for await (const { recorded } of foldedHistory(reader, stream, to)) yield recorded;
}

/** What folds of a conversation leave out; of one that stops at damage, what they leave out before. */
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
