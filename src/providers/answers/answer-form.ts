import type { JsonObject } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/stack/provider.ts";

/** What answers are in one dialect. */
export type AnswerForm = {
  /** Whether a JSON object is an answer. */
  readonly isAnswer: (body: JsonObject) => boolean;
  /** What of an answer stands by itself: it is held against the limit of items, and kept of an answer that failed. */
  readonly itemsOf: (response: JsonObject) => readonly JsonObject[];
  readonly hasFailed: (response: JsonObject) => boolean;
  /** Tells listeners of an answer that came whole. */
  readonly tell: (response: JsonObject, onDelta: (delta: StreamDelta) => void) => void;
};

/** Puts the parts of one streamed answer together: the lines of NDJSON, the events of an event stream. */
export type StreamedAnswer = {
  /**
   * Takes a part, with the name of its event (null of a line, and of an event without one); returns the answer with the last one, null before.
   *
   * @throws {ProviderError} for a part that tells an error.
   */
  take(event: string | null, data: JsonObject): JsonObject | null;
  /** The answer, when the stream has ended and no part was the last one; null, and absent, where it broke off. */
  end?(): JsonObject | null;
  /** Whether an item that is not complete has more bytes than it may. */
  readonly isTooLarge?: boolean;
  /** What has come so far, as items: it is on record of an answer that breaks off. */
  readonly partial?: readonly JsonObject[];
};

/** One that is held to its limits, and tells what has come. */
export type AnswerStream = StreamedAnswer & {
  readonly isTooLarge: boolean;
  readonly partial: readonly JsonObject[];
};
