import { conversationView } from "../../projections/conversation-view.ts";
import type { EventReader } from "../codec/event-log.ts";
import { forksOf, readHistory } from "./lineage.ts";
import { foldAround, SkippedEvents } from "./skipped-events.ts";

/** What folds of a conversation, up to a revision, go around: those of its lineage's skipped events that are damaged. */
export async function skippedIn(reader: EventReader, stream: string, to?: number): Promise<SkippedEvents> {
  if (!(await hasSkips(reader, stream))) return new SkippedEvents();
  return foldAround(reader, async (skipped) => {
    let view = conversationView.initial(stream);
    for await (const recorded of readHistory(reader, stream, { to, skipped })) {
      view = conversationView.apply(view, recorded);
    }
    return skipped;
  });
}

/** Whether anything was skipped at all: only then the lineage has to be folded to know what. */
async function hasSkips(reader: EventReader, stream: string): Promise<boolean> {
  const ancestors = (await forksOf(reader, stream)).map((fork) => fork.stream);
  for (const each of [...ancestors, stream]) {
    for await (const { type } of reader.store.readStream(each)) if (type === "EventSkipped") return true;
  }
  return false;
}
