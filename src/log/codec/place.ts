import type { EventPlace } from "../../domain/events/recorded.ts";
import type { Envelope } from "../ports/event-store.ts";
import { actorOf } from "./actor-line.ts";

/** An event with its place. Lists the members of `placeOf` explicitly, so that it creates one object per event. */
export const recordedAs = <Event>(envelope: Envelope, event: Event): EventPlace & { readonly event: Event } => ({
  stream: envelope.stream,
  revision: envelope.revision,
  id: envelope.id,
  at: envelope.at,
  actor: actorOf(envelope),
  runId: envelope.runId ?? null,
  frame: envelope.frame ?? null,
  digest: envelope.digest,
  event,
});

/** The place of an event, which is known even if its content is damaged. */
export const placeOf = (envelope: Envelope): EventPlace => ({
  stream: envelope.stream,
  revision: envelope.revision,
  id: envelope.id,
  at: envelope.at,
  actor: actorOf(envelope),
  runId: envelope.runId ?? null,
  frame: envelope.frame ?? null,
  digest: envelope.digest,
});
