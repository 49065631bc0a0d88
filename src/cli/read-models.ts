import { type AnyProjector, readModels } from "../conversation/read-models.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { UsageError } from "./exit-codes.ts";

/** The read model of a name. @throws {UsageError} when there is none. */
export function findReadModel(events: EventStore, name: string): AnyProjector {
  const models = readModels(events);
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  throw new UsageError(
    `there is no projection '${name}': there are ${models.map((model) => model.name).join(" and ")}; \`turnlog help projections\` lists what can be done with them`,
  );
}
