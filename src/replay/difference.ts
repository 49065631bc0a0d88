import type { JsonValue } from "../base/json.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { type DifferentField, differenceWords } from "../engine/planning/checked-fold.ts";

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

/** The difference at an event, told by its values unless it is told in words. */
export function differenceAt(
  { stream, revision, frame, actor }: Pick<RecordedEvent, "stream" | "revision" | "frame" | "actor">,
  { field, recorded, replayed }: DifferentField,
  words?: string,
): ReplayDifference {
  const layer = actor.kind === "middleware" ? actor.name : null;
  const found = { field, recorded, replayed };
  return { stream, revision, frame, layer, ...found, message: words ?? differenceWords(found) };
}
