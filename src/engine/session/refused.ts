import { InvalidEventError } from "../../domain/events/event.ts";
import { EventTooLargeError } from "../../log/ports/event-store.ts";
import type { ProposedEvent } from "../../log/writer/conversation-writer.ts";

/** An event that no store takes: it could not be read again, or is over a bound although what is big stands beside it. */
export type Refusal = InvalidEventError | EventTooLargeError;

export const isRefusal = (error: unknown): error is Refusal =>
  error instanceof InvalidEventError || error instanceof EventTooLargeError;

/** What is recorded in the place of an answer that was refused: that there was one, and why it is not here. */
export function failureInPlaceOf(refused: ProposedEvent, { message }: Refusal): ProposedEvent | null {
  const { command } = refused;
  const why = `the answer cannot be stored: ${message}`;
  switch (command.type) {
    case "ReceiveResponse": {
      const { inferenceId } = command.data;
      const nothing = { status: null, code: null, param: null, partial: [] };
      const data = { inferenceId, kind: "unstorable", outcome: "unknown", message: why, ...nothing } as const;
      return { ...refused, command: { type: "FailInference", runId: command.runId, data } };
    }
    case "FinishEffect": {
      const data = { ...command.data, answer: { outcome: "error", message: why } } as const;
      return { ...refused, command: { ...command, data } };
    }
    default:
      return null;
  }
}
