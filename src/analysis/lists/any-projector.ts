import type { RowProjector } from "../../log/read-models/row-projector.ts";

/** The operations of a projector for any type of view. */
export type AnyProjector = Pick<
  RowProjector<unknown>,
  "name" | "status" | "catchUp" | "rebuild" | "retry" | "read" | "degraded" | "mismatchedRow" | "orphanRows"
>;
