import type { EventStore } from "../../../src/log/ports/event-store.ts";
import type { SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";

/** Where a store of the tests keeps its snapshots. */
export function snapshotsOf({ snapshots }: EventStore): SnapshotStore {
  if (snapshots === undefined) throw new Error("the store keeps no snapshots");
  return snapshots;
}
