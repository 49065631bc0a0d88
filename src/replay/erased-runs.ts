import type { EventReader } from "../log/codec/event-log.ts";
import { erasuresIn } from "../log/history/erasures.ts";
import type { RecordedRun } from "./recorded-runs.ts";

/**
 * Says whether content that a run read or recorded was erased since, so that its layers cannot be executed again on what they had. A run after
 * the erasure has read the stand-ins, and can.
 */
export async function erasedSince(reader: EventReader, stream: string): Promise<(run: RecordedRun) => boolean> {
  const erasures = await erasuresIn(reader, stream);
  return ({ startedRevision, turns, events }) => {
    if (events.some(({ hasErased }) => hasErased === true)) return true;
    const later = new Set(
      erasures.filter(({ revision }) => revision > startedRevision).flatMap(({ blockIds }) => blockIds),
    );
    return later.size > 0 && turns.base.blocks.some(({ id, isErased }) => isErased && id !== null && later.has(id));
  };
}
