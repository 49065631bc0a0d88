import type { EventPlace } from "../../domain/events/recorded.ts";
import type { Envelope } from "../ports/event-store.ts";

/** An event whose content is at hand, at its place. It names the members of `placeOf` so that it makes one object per event. */
export const recordedAs = <Event>(envelope: Envelope, event: Event): EventPlace & { readonly event: Event } => ({
  stream: envelope.stream,
  revision: envelope.revision,
  id: envelope.id,
  at: envelope.at,
  actor: envelope.actor,
  runId: envelope.runId ?? null,
  frame: envelope.frame ?? null,
  digest: envelope.digest,
  event,
});

/** The place of an event, which no damage to its content hides. */
export const placeOf = (envelope: Envelope): EventPlace => ({
  stream: envelope.stream,
  revision: envelope.revision,
  id: envelope.id,
  at: envelope.at,
  actor: envelope.actor,
  runId: envelope.runId ?? null,
  frame: envelope.frame ?? null,
  digest: envelope.digest,
});
