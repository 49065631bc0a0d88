/** Read models: rows that follow the log, both turnlog's own and your own. */

export { changes$ } from "../conversation/changes.ts";
export type { Labels } from "../domain/decider/labels.ts";
export type { ConversationOrigin } from "../domain/events/conversation-events.ts";
export { isHole, type ProposedEvent, type ReadEvent, type RecordedEvent } from "../domain/events/recorded.ts";
export type {
  ListedPage,
  ListRange,
  PlacedRow,
  PlaceInList,
  Quarantine,
  QuarantinedEvent,
  ViewStore,
} from "../log/ports/view-store.ts";
export type { MismatchedRow } from "../log/read-models/mismatched-rows.ts";
export type { ProjectedView } from "../log/read-models/projected-view.ts";
export { createProjector, type Projector } from "../log/read-models/projector.ts";
export type { CatchUpOptions, ListedView, ProjectorOptions } from "../log/read-models/row-projector.ts";
export type { ProjectorStatus } from "../log/read-models/status.ts";
export type { DeclaredSettings } from "../projections/declared-settings.ts";
export { byStream, type Projection, type RowPlace } from "../projections/projection.ts";
export type { AskedAnchor } from "../projections/server-contexts/exchange-context.ts";
export { type UsageOfRequest, type UsageRow, type UsageView, usage, usageByDay } from "../projections/usage.ts";
export {
  type ContextBytes,
  type ConversationListView,
  type ConversationSummary,
  conversationList,
  type ListedFailure,
  type ListSort,
} from "../projections/views/conversation-list.ts";
export type { ListedRun, ListedWaiting } from "../projections/views/listed-run.ts";
export { createMemoryViews, type MemoryViews } from "../stores/memory/views.ts";
