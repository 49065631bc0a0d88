import { UnreadableEventError } from "../../domain/events/event.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { StoreCorruptedError } from "../ports/event-store.ts";

/** What the reading of an event failed with, as damage of its conversation; null where it says nothing of the event. */
export function damageAt(stream: string, revision: number, cause: unknown): ConversationDamagedError | null {
  if (cause instanceof ConversationDamagedError) return cause;
  const isDamage = cause instanceof UnreadableEventError || cause instanceof StoreCorruptedError;
  return isDamage ? new ConversationDamagedError(cause.message, revision, { stream, cause }) : null;
}
