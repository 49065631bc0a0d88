import type { JsonValue } from "../base/json.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { type DifferentField, differenceWords } from "../engine/recorded/checked-fold.ts";

/** The first place where a replay diverges from the log. */
export type ReplayDifference = {
  readonly stream: string;
  /** The event that differs; null if the log has none. */
  readonly revision: number | null;
  readonly frame: string | null;
  /** The layer that caused it; null if none did. */
  readonly layer: string | null;
  /** What differs: a member of the event (`decision.anchor`, `after`), or `answer` if the log has none. */
  readonly field: string;
  readonly recorded: JsonValue;
  readonly replayed: JsonValue;
  /** The difference in words. */
  readonly message: string;
};

/** The difference at an event, described by its values unless words are given. */
export function differenceAt(
  { stream, revision, frame, actor }: Pick<RecordedEvent, "stream" | "revision" | "frame" | "actor">,
  { field, recorded, replayed }: DifferentField,
  words?: string,
): ReplayDifference {
  const layer = actor.kind === "middleware" ? actor.name : null;
  const found = { field, recorded, replayed };
  return { stream, revision, frame, layer, ...found, message: words ?? differenceWords(found) };
}
