import { isActor } from "../domain/actor.ts";
import { type ConversationEvent, parseConversationEvent, UnreadableEventError } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { ParsedEvent } from "./codec/event-log.ts";

/**
 * A stored event as projections see it: validated, in its current version.
 *
 * @throws {UnreadableEventError} for an unknown type or version, data that is not of its schema, or an actor that is none.
 */
export function readRecorded(stored: ParsedEvent): RecordedEvent {
  if (!isActor(stored.actor)) throw new UnreadableEventError("its actor is damaged");
  return recordedOf(stored, parseConversationEvent(stored.type, stored.version, stored.data));
}

/** The same, for an event whose content is at hand. */
export const recordedOf = (stored: ParsedEvent, event: ConversationEvent): RecordedEvent => ({
  stream: stored.stream,
  revision: stored.revision,
  id: stored.id,
  at: stored.at,
  actor: stored.actor,
  runId: stored.runId ?? null,
  frame: stored.frame ?? null,
  event,
});
