import type { JsonObject } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";

/** How answers look in one dialect. */
export type AnswerForm = {
  /** Whether a JSON object is an answer. */
  readonly isAnswer: (body: JsonObject) => boolean;
  /** The items of an answer: each is checked against the limit of items, and recorded if the answer fails. */
  readonly itemsOf: (response: JsonObject) => readonly JsonObject[];
  readonly hasFailed: (response: JsonObject) => boolean;
  /** Passes the parts of a complete answer to a listener. */
  readonly tell: (response: JsonObject, onDelta: (delta: StreamDelta) => void) => void;
};

/** Assembles one streamed answer from its parts: the lines of NDJSON, or the events of an event stream. */
export type StreamedAnswer = {
  /**
   * Takes a part, with the name of its event (null for a line, and for an event without a name). Returns the answer after the last part,
   * and null before.
   *
   * @throws {ProviderError} if the part reports an error.
   */
  take(event: string | null, data: JsonObject): JsonObject | null;
  /** Returns the answer if the stream ended without marking its last part; null, like an absent `end`, if the answer was cut off. */
  end?(): JsonObject | null;
  /** Whether an incomplete item has exceeded its limit. */
  readonly isTooLarge?: boolean;
  /** The items so far, which are recorded if the answer is cut off. */
  readonly partial?: readonly JsonObject[];
};

/** A streamed answer that checks its limits and reports what has come. */
export type AnswerStream = StreamedAnswer & {
  readonly isTooLarge: boolean;
  readonly partial: readonly JsonObject[];
};
