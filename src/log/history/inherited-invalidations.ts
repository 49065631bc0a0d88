import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import { readEvent } from "../codec/recorded.ts";
import type { EventStore } from "../ports/event-store.ts";

type Watched = {
  /** An ancestor's stream, and the last of its revisions that was looked at. */
  readonly stream: string;
  readonly seen: number;
  /** The fork's own stream. */
  readonly own: string;
};

/** What an ancestor has recorded since it was last looked at that speaks against responses which the fork knows. */
export async function inheritedInvalidations(
  store: EventStore,
  { stream, seen, own }: Watched,
  { server }: ConversationView,
): Promise<{ readonly invalidations: readonly ConversationEventOf<"AnchorInvalidated">[]; readonly revision: number }> {
  const invalidations: ConversationEventOf<"AnchorInvalidated">[] = [];
  let revision = seen;
  for await (const envelope of store.readStream(stream, { from: seen + 1 })) {
    revision = envelope.revision;
    if (envelope.type !== "AnchorInvalidated") continue;
    const { event } = await readEvent(store, envelope);
    if (event.type !== "AnchorInvalidated") continue;
    const { scope, anchor } = event.data;
    // Of all that an endpoint holds, the fork speaks for itself once it was answered there.
    const isKnown =
      anchor === null
        ? server.contexts.all.some((each) => each.scope === scope) &&
          !server.contexts.all.some((each) => each.scope === scope && each.stream === own)
        : server.contexts.byAnchor({ scope, anchor }) !== null;
    if (isKnown) invalidations.push(event);
  }
  return { invalidations, revision };
}
