import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { ConversationFold } from "../../../src/log/aggregate/conversation-fold.ts";
import { readHistory } from "../../../src/log/history/lineage.ts";
import { foldAround } from "../../../src/log/history/skipped-events.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { SavedNames } from "../../../src/log/snapshots/names.ts";
import { type SnapshotWork, SnapshotWriter } from "../../../src/log/snapshots/snapshot-writer.ts";
import { snapshotsOf } from "../stores/snapshots-of.ts";

/** Takes snapshots after less work than the product does, so that short conversations have some. */
export async function takeSnapshots(events: EventStore, stream: string, due: SnapshotWork): Promise<void> {
  const { log } = new TurnlogStore(events);
  await foldAround(log, async (skipped) => {
    const fold = new ConversationFold(stream, { skipped });
    const snapshotWriter = new SnapshotWriter(
      snapshotsOf(events),
      { fold, names: new SavedNames(fold.names) },
      {},
      due,
    );
    for await (const event of readHistory(log, stream, { skipped })) {
      fold.apply(event);
      snapshotWriter.note(event);
    }
    await snapshotWriter.save();
  });
}
