import { type JsonObject, valueAt } from "../wire.ts";
import type { CacheFacts } from "./facts.ts";
import type { PromptPlace } from "./prompt.ts";

/** A prompt as a front has read it, and its request. */
export interface ReadPrompt {
  readonly body: JsonObject;
  readonly places: readonly PromptPlace[];
}

/** What of a prompt differs first from an earlier one. */
export interface Difference {
  /** A member that separates caches, a setting by its path, or the kind of the unit. */
  readonly what: string;
  /** The tokens of the earlier prompt that this one shares with it, and the others. */
  readonly shared: number;
  readonly lost: number;
}

type Facts = Pick<CacheFacts, "separatedBy" | "order" | "settings">;

/** The first difference; null if the prompt only adds to the earlier one. It depends on the two requests alone, not on what is cached. */
export function firstDifference(facts: Facts, earlier: ReadPrompt, now: ReadPrompt): Difference | null {
  const separating = facts.separatedBy.find((path) => textAt(earlier.body, path) !== textAt(now.body, path));
  const whole = earlier.places.at(-1)?.tokens ?? 0;
  if (separating !== undefined) return { what: separating, shared: 0, lost: whole };
  const at = earlier.places.findIndex(({ digest }, n) => now.places[n]?.digest !== digest);
  if (at < 0) return null;
  const units = [earlier, now].flatMap(({ places }) => places[at]?.unit ?? []);
  // Where only one of the two prompts goes on with a tool, the tools differ.
  const [first] = units.toSorted((left, right) => rankOf(left, facts) - rankOf(right, facts));
  const shared = earlier.places[at - 1]?.tokens ?? 0;
  return { what: first === undefined ? "message" : whatOf(first), shared, lost: whole - shared };
}

const textAt = (body: JsonObject, path: string): string => JSON.stringify(valueAt(body, path));

const whatOf = ({ kind, path }: PromptPlace["unit"]): string =>
  kind === "setting" ? path.slice("settings.".length) : kind;

/** The place of a unit in the order in which a front reads: settings come before their part. */
function rankOf(unit: PromptPlace["unit"], { order, settings }: Facts): number {
  const setting = settings.find(({ path }) => unit.kind === "setting" && path === whatOf(unit));
  const part = setting?.before ?? order.find((each) => each === unit.kind);
  return (part === undefined ? order.length : order.indexOf(part)) * 2 + (setting === undefined ? 1 : 0);
}
