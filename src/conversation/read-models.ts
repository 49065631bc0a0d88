import { type EventStore, StoreUnavailableError } from "../log/ports/event-store.ts";
import { conversationList } from "../projections/conversation-list.ts";
import type { Projection } from "../projections/projection.ts";
import { searchTexts } from "../projections/search-texts.ts";
import { usage } from "../projections/usage.ts";
import { type CatchUpOptions, createProjector, type Projector } from "../read-models/projector.ts";
import { createMemoryViews } from "../stores/memory/views.ts";

/** What can be done with a projector whatever its views are. */
export type AnyProjector = Pick<
  Projector<unknown>,
  "name" | "status" | "catchUp" | "rebuild" | "retry" | "read" | "degraded" | "wrongRow" | "rowsOfNothing"
>;

/** The projections over the whole log that have one row a conversation. */
export const readModels = (events: EventStore): readonly AnyProjector[] => [
  createProjector(events, conversationList),
  createProjector(events, usage),
];

/** Those, and the index of search, which has many. */
export const allReadModels = (events: EventStore): readonly AnyProjector[] => [
  ...readModels(events),
  createProjector(events, searchTexts),
];

/**
 * A projector whose rows have all events. Where rows cannot be kept (a file that may only be read, a full disk) they are made
 * for this one time.
 */
export async function caughtUp<View>(
  events: EventStore,
  projection: Projection<View>,
  options: CatchUpOptions = {},
): Promise<Projector<View>> {
  if (events.views !== undefined) {
    try {
      const projector = createProjector(events, projection);
      await projector.catchUp(options);
      return projector;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
  const projector = createProjector(events, projection, { views: createMemoryViews() });
  await projector.catchUp(options);
  return projector;
}
