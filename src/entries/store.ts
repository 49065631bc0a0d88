/** What the author of an event store needs: the ports of events, views and snapshots, and what they throw. */
export {
  type AppendResult,
  type Envelope,
  type EventStore,
  EventTooLargeError,
  type Head,
  type OrphanEvents,
  type PreparedAppend,
  type ReadLogOptions,
  type ReadStreamOptions,
  StoreClosedError,
  StoreCorruptedError,
  type StoredEnvelope,
  StoreNotFoundError,
  StoreReplacedError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../log/ports/event-store.ts";
export type { Snapshot, SnapshotKey, SnapshotStore } from "../log/ports/snapshot-store.ts";
export type {
  Checkpoint,
  Quarantine,
  QuarantinedEvent,
  SaveResult,
  ViewBatch,
  ViewBuild,
  ViewRow,
  ViewStore,
} from "../log/ports/view-store.ts";
