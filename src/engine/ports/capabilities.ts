import type { JsonValue } from "../../base/json.ts";

/** A capability that an endpoint seems to lack. */
export type Lesson = {
  readonly capability: string;
  readonly reason: string;
  /** The model that was asked, if the capability belongs to models. */
  readonly model?: string;
};

/**
 * What an endpoint can do, as configured; what turnlog observes is learned and recorded (`CapabilityLearned`). Names with JSON
 * values: the engine reads those below, and a codec may read others. An absent capability is missing.
 */
export type Capabilities = {
  /** Continues from an earlier answer. */
  readonly chain?: boolean;
  /** `none`: its answers do not say what they continue from, so a server that ignores the anchor goes unnoticed. */
  readonly echo?: "anchor" | "none";
  /** `context`: it reports the input tokens of everything that it read, so a count that is too low reveals a context that was left out. */
  readonly counts?: "context" | "none";
  /** Has conversation objects, which requests add to. */
  readonly conversations?: boolean;
  /** Accepts a chained request without input. */
  readonly emptyInput?: boolean;
  /** Accepts the ids of stored items in a full request. */
  readonly itemIds?: boolean;
  /**
   * What it does with reasoning whose prefix (instructions, tools, earlier blocks) has changed: `withhold` keeps it from the model,
   * `refuse` rejects the request. Absent, or `ignore`: it does not check.
   */
  readonly reasoningPrefix?: "withhold" | "refuse" | "ignore";
  /** Says of a request what of its prompt differs from an earlier one, if it is asked to. */
  readonly cacheDiagnostics?: boolean;
  readonly [name: string]: JsonValue | undefined;
};
