import type { AnyProjector } from "../conversation/read-models.ts";
import { UsageError } from "./exit-codes.ts";

/** The one of these read models that has a name. @throws {UsageError} when there is none. */
export function findReadModel(models: readonly AnyProjector[], name: string): AnyProjector {
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  throw new UsageError(
    `there is no projection '${name}': there are ${models.map((model) => model.name).join(" and ")}; \`turnlog help projections\` lists what can be done with them`,
  );
}
