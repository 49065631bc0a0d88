import { checkWhole, optionsOf, type ValueCheck } from "../../base/options.ts";

/** How to treat old encrypted reasoning. Providers do not document how long they can read it. */
export type ReasoningPolicy = {
  /**
   * The age in milliseconds, since its answer, from which encrypted reasoning in a request causes a warning: a `reasoning-aged`
   * part, and one process warning per engine. One day by default; `Infinity` for never.
   */
  readonly warnAfterMs?: number;
  /** The age in milliseconds, since its answer, from which requests leave encrypted reasoning out. By default they never do. */
  readonly keepForMs?: number;
};

const msOrForever: ValueCheck<number> = (what, given) =>
  given === Number.POSITIVE_INFINITY ? given : checkWhole(what, given);

const reasoningOptions = optionsOf<ReasoningPolicy>({ warnAfterMs: msOrForever, keepForMs: msOrForever });

const dayMs = 24 * 60 * 60 * 1000;

/**
 * The policy with its defaults; `keepForMs` is null for ever.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export function reasoningPolicy(given: ReasoningPolicy = {}): {
  readonly warnAfterMs: number;
  readonly keepForMs: number | null;
} {
  reasoningOptions.check("createEngine's reasoning", given, "createEngine: reasoning.");
  const { warnAfterMs = dayMs, keepForMs = Number.POSITIVE_INFINITY } = given;
  return { warnAfterMs, keepForMs: keepForMs === Number.POSITIVE_INFINITY ? null : keepForMs };
}
