import { isJsonList, isJsonObject, type JsonValue } from "../base/json.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";

/** Where a replay parts from the log: the first place at which it says something else. */
export type ReplayDifference = {
  readonly stream: string;
  /** The event that says otherwise; null where the log has none. */
  readonly revision: number | null;
  readonly frame: string | null;
  /** The layer whose doing it is, where it is one's. */
  readonly layer: string | null;
  /** What differs: a member of the event (`decision.anchor`, `after`), or `answer` where the log has none to give. */
  readonly field: string;
  readonly recorded: JsonValue;
  readonly replayed: JsonValue;
  /** The same in words. */
  readonly message: string;
};

type DifferentField = Pick<ReplayDifference, "field" | "recorded" | "replayed">;

/** The first member, by path, in which two values differ as JSON; null when they are equal. */
export function firstDifference(recorded: JsonValue, replayed: JsonValue, field: string): DifferentField | null {
  if (isJsonObject(recorded) && isJsonObject(replayed)) {
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
      const found = firstDifference(recorded[name] ?? null, replayed[name] ?? null, `${field}.${name}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isJsonList(recorded) && isJsonList(replayed) && recorded.length === replayed.length) {
    for (const [index, value] of recorded.entries()) {
      const found = firstDifference(value, replayed[index] ?? null, `${field}.${index}`);
      if (found !== null) return found;
    }
    return null;
  }
  return recorded === replayed ? null : { field, recorded, replayed };
}

/** The difference at an event. */
export function differenceAt(
  { stream, revision, frame, actor }: Pick<RecordedEvent, "stream" | "revision" | "frame" | "actor">,
  found: DifferentField,
  what?: string,
): ReplayDifference {
  const layer = actor.kind === "middleware" ? actor.name : null;
  const { field, recorded, replayed } = found;
  const message = what ?? `${field} is ${shown(recorded)} in the log, and ${shown(replayed)} when it is made again`;
  return { stream, revision, frame, layer, ...found, message };
}

const maxShown = 80;

function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
