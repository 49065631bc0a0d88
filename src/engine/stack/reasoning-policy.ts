import { checkWhole, optionsOf, type ValueCheck } from "../../base/options.ts";

/** What a caller wants done with encrypted reasoning as it grows old: how long endpoints can read theirs is not documented. */
export type ReasoningPolicy = {
  /**
   * Milliseconds from its answer on, from which a request that carries encrypted reasoning warns: a `reasoning-aged` part, and once
   * for an engine a warning of the process. A day when absent; `Infinity` for never.
   */
  readonly warnAfterMs?: number;
  /** Milliseconds from its answer on, from which encrypted reasoning is left out of requests. For ever when absent. */
  readonly keepForMs?: number;
};

const msOrForever: ValueCheck<number> = (what, given) =>
  given === Number.POSITIVE_INFINITY ? given : checkWhole(what, given);

const reasoningOptions = optionsOf<ReasoningPolicy>({ warnAfterMs: msOrForever, keepForMs: msOrForever });

const dayMs = 24 * 60 * 60 * 1000;

/**
 * A policy as it was given, complete; `keepForMs` is null for ever.
 *
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
 */
export function reasoningPolicy(given: ReasoningPolicy = {}): {
  readonly warnAfterMs: number;
  readonly keepForMs: number | null;
} {
  reasoningOptions.check("createEngine's reasoning", given, "createEngine: reasoning.");
  const { warnAfterMs = dayMs, keepForMs = Number.POSITIVE_INFINITY } = given;
  return { warnAfterMs, keepForMs: keepForMs === Number.POSITIVE_INFINITY ? null : keepForMs };
}
