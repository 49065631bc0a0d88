import { UnreadableEventError } from "../../domain/events/event.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { StoreCorruptedError } from "../ports/store-errors.ts";

/** Turns an error of reading an event into damage of its conversation; null if the error is not about the event. */
export function damageAt(stream: string, revision: number, cause: unknown): ConversationDamagedError | null {
  if (cause instanceof ConversationDamagedError) return cause;
  const isDamage = cause instanceof UnreadableEventError || cause instanceof StoreCorruptedError;
  return isDamage ? new ConversationDamagedError(cause.message, revision, { stream, cause }) : null;
}
