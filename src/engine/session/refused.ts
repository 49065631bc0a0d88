import { InvalidEventError } from "../../domain/events/event.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { EventTooLargeError } from "../../log/ports/event-store.ts";

/** An event that no store takes: it could not be read again, or is over a bound although what is big stands beside it. */
export type Refusal = InvalidEventError | EventTooLargeError;

export const isRefusal = (error: unknown): error is Refusal =>
  error instanceof InvalidEventError || error instanceof EventTooLargeError;

/** What is recorded in the place of an answer that was refused: that there was one, and why it is not here. */
export function failureInPlaceOf(refused: ProposedEvent, { message }: Refusal): ProposedEvent | null {
  const { event } = refused;
  const why = `the answer cannot be stored: ${message}`;
  switch (event.type) {
    case "ResponseReceived": {
      const { inferenceId } = event.data;
      const nothing = { status: null, code: null, param: null, partial: [] };
      const data = { inferenceId, kind: "unstorable", outcome: "unknown", message: why, ...nothing } as const;
      return { ...refused, event: { type: "InferenceFailed", version: 1, data } };
    }
    case "EffectFinished": {
      const data = { ...event.data, answer: { outcome: "error", message: why } } as const;
      return { ...refused, event: { ...event, data } };
    }
    default:
      return null;
  }
}
