import { type EventStore, StoreUnavailableError } from "../log/ports/event-store.ts";
import { conversationList } from "../projections/conversation-list.ts";
import type { Projection } from "../projections/projection.ts";
import { usage } from "../projections/usage.ts";
import { type CatchUpOptions, createProjector, type Projector } from "../read-models/projector.ts";
import { createMemoryViews } from "../stores/memory/views.ts";
import { UsageError } from "./exit-codes.ts";

/** What can be done with a projector whatever its views are. */
export type AnyProjector = Pick<
  Projector<unknown>,
  "name" | "status" | "catchUp" | "rebuild" | "retry" | "read" | "degraded" | "wrongRow" | "rowsOfNothing"
>;

/** The projections over the whole log that turnlog ships. */
export const readModels = (events: EventStore): readonly AnyProjector[] => [
  createProjector(events, conversationList),
  createProjector(events, usage),
];

/** The read model of a name. @throws {UsageError} when there is none. */
export function findReadModel(events: EventStore, name: string): AnyProjector {
  const models = readModels(events);
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  throw new UsageError(
    `there is no projection '${name}': there are ${models.map((model) => model.name).join(" and ")}; \`turnlog help projections\` lists what can be done with them`,
  );
}

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
