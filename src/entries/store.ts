/** For authors of event stores: the ports of events, views and snapshots, their errors, and the checks that every store passes. */
export { TurnlogError, type TurnlogErrorCode } from "../base/turnlog-error.ts";
export { type CreateStoreOptions, createStore } from "../conversation/open-store.ts";
export type { Actor } from "../domain/actor.ts";
export type { BlockNames } from "../domain/block-names.ts";
export { checkBounds } from "../log/codec/bounds.ts";
export type { EventLog, EventLogSources, LogAppendResult } from "../log/codec/event-log.ts";
export { type PresentEvent, resolveHeadMismatch } from "../log/codec/idempotent-append.ts";
export type { EventIds } from "../log/codec/ids.ts";
export type { AnyEvent, NewEvent } from "../log/codec/prepare.ts";
export type { ChangedEvent } from "../log/codec/watched-log.ts";
export { maxAppendBytes, maxEventBytes } from "../log/ports/event-bounds.ts";
export {
  type AppendResult,
  comparePositions,
  type Envelope,
  type ErasedStream,
  type ErasingStore,
  type ErasureResult,
  type EventStore,
  type Head,
  type LineErasure,
  type OrphanEvents,
  type PreparedAppend,
  type ReadLogOptions,
  type ReadStreamOptions,
  type ScrubResult,
  type StoredEnvelope,
  type StreamErasure,
} from "../log/ports/event-store.ts";
export type { Liveness } from "../log/ports/liveness.ts";
export type { Snapshot, SnapshotKey, SnapshotStore } from "../log/ports/snapshot-store.ts";
export {
  EventTooLargeError,
  StoreClosedError,
  StoreCorruptedError,
  StoreNotFoundError,
  StoreReplacedError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../log/ports/store-errors.ts";
export type {
  Checkpoint,
  ListedPage,
  ListRange,
  PlacedRow,
  PlaceInList,
  Quarantine,
  QuarantinedEvent,
  SaveResult,
  ViewBatch,
  ViewBuild,
  ViewRow,
  ViewStore,
} from "../log/ports/view-store.ts";
export type { Check } from "../testing/contracts/check.ts";
export { eventStoreChecks } from "../testing/contracts/event-store.ts";
export { erasureChecks } from "../testing/contracts/event-store-erasure.ts";
export { livenessChecks, type StoreWithLiveness } from "../testing/contracts/liveness.ts";
export { type StoreWithSnapshots, snapshotStoreChecks } from "../testing/contracts/snapshot-store.ts";
export { type StoreWithViews, viewStoreChecks } from "../testing/contracts/view-store.ts";
