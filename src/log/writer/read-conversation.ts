import type { ReadEvent } from "../../domain/events/recorded.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { skippedIn } from "../history/folded-history.ts";
import { followEvents, readEvents } from "../history/read-events.ts";
import { SkippedEvents } from "../history/skipped-events.ts";
import type { ConversationWriter } from "./conversation-writer.ts";

/** The parts of a writer that reading events needs. */
type Reading = Pick<ConversationWriter, "log" | "name" | "skipped">;

/** A conversation's own events from a revision on, with a hole for each event that the fold leaves out. */
export const readOwn = ({ log, name, skipped }: Reading, from: number): AsyncIterable<ReadEvent> =>
  readEvents(log, name, { from, skipped });

/** The same, after all events were folded. */
export async function* readAnew(writer: ConversationWriter, from: number): AsyncIterable<ReadEvent> {
  yield* readEvents(writer.log, writer.name, { from, skipped: await readSkipped(writer) });
}

/**
 * The events of a conversation from a revision on, from any writer, until the signal aborts. By default, only those after what its
 * writer already knows.
 */
export async function* follow(
  writer: ConversationWriter,
  from: number | undefined,
  signal: AbortSignal,
): AsyncIterable<ReadEvent> {
  const { log, name, head } = writer;
  const known = from === undefined ? (head ?? (await log.store.head(name))) : null;
  const first = from ?? (known === null ? 0 : known.revision + 1);
  // Future events cannot have been skipped.
  const skipped = from === undefined ? new SkippedEvents() : await readSkipped(writer);
  yield* followEvents(log, name, { from: first, signal, skipped });
}

/** The events that a fold leaves out; if the conversation stops at damage, those skipped before it. */
export async function readSkipped(writer: ConversationWriter): Promise<SkippedEvents> {
  try {
    await writer.refresh();
    return writer.skipped;
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    return skippedIn(writer.log, writer.name);
  }
}
