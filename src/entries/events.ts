/** The events of conversations as readers get them, and their data (docs/EVENTS.md). */

export type { Declaration } from "../domain/declared-settings.ts";
export type { ConversationEvent, ConversationEventOf } from "../domain/events/event.ts";
export type {
  BoundDigest,
  ContentFilter,
  Decision,
  Divergence,
  InferenceRequestedData,
  Repair,
  Withheld,
} from "../domain/events/inference-events.ts";
export {
  type EventHole,
  type EventPlace,
  isHole,
  type ProposedEvent,
  type ReadEvent,
  type RecordedEvent,
  type SkippedBy,
} from "../domain/events/recorded.ts";
export type { Owner, RunStatus } from "../domain/events/run-events.ts";
export type { Compaction, Counts } from "../domain/events/shared.ts";
export type { Exchange } from "../domain/exchanges.ts";
export type { ActorAlias, BlobId, BlockName, ConfigName, SettingsName } from "../domain/ids.ts";
