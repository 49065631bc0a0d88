import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { isOfTheStore, readEvent } from "../codec/recorded.ts";
import { type EventStore, envelopeAt, type StoredEnvelope } from "../ports/event-store.ts";
import { readFacts } from "./restore.ts";
import { readSnapshot } from "./snapshot.ts";

type Watched = {
  /** An ancestor's stream, and its last revision that was checked. */
  readonly stream: string;
  readonly seen: number;
  /** The fork's own stream. */
  readonly own: string;
};

/** What a fork has to know of what an ancestor recorded since. */
type AncestorNews = {
  readonly invalidations: readonly ConversationEventOf<"AnchorInvalidated">[];
  /** The last of its revisions that was looked at. */
  readonly revision: number;
};

/**
 * What an ancestor has recorded since it was last looked at that speaks against what the fork knows. Up to the ancestor's newest
 * snapshot that says which events to read, so that a fork does not read all that its parent went on to write.
 */
export async function inheritedInvalidations(
  store: EventStore,
  { stream, seen, own }: Watched,
  { server }: ConversationView,
): Promise<AncestorNews> {
  const invalidations: ConversationEventOf<"AnchorInvalidated">[] = [];
  const head = await store.head(stream);
  if (head === null || head.revision <= seen) return { invalidations, revision: seen };
  let { revision } = head;
  for await (const envelope of newsOf(store, { stream, seen })) {
    revision = Math.max(revision, envelope.revision);
    if (envelope.type !== "AnchorInvalidated") continue;
    const event = await readInvalidation(store, envelope);
    if (event === null) continue;
    const { scope, anchor } = event.data;
    // For everything that an endpoint holds, only the fork's own events count once the endpoint has answered the fork.
    const isKnown =
      anchor === null
        ? server.contexts.all.some((each) => each.scope === scope) &&
          !server.contexts.all.some((each) => each.scope === scope && each.stream === own)
        : server.contexts.byAnchor({ scope, anchor }) !== null;
    if (isKnown) invalidations.push(event);
  }
  return { invalidations, revision };
}

/**
 * Null for an event that cannot be read. Its conversation stops there until an operator skips it, but a sound fork continues: if the
 * fork continues from something invalid, the server rejects that.
 */
async function readInvalidation(
  store: EventStore,
  envelope: StoredEnvelope,
): Promise<ConversationEventOf<"AnchorInvalidated"> | null> {
  try {
    const { event } = await readEvent(store, envelope);
    return event.type === "AnchorInvalidated" ? event : null;
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return null;
  }
}

/** The events of a stream after a revision. Up to its newest snapshot, only those that the snapshot lists as invalidations. */
async function* newsOf(
  store: EventStore,
  { stream, seen }: Pick<Watched, "stream" | "seen">,
): AsyncIterable<StoredEnvelope> {
  const told = await toldBySnapshot(store, { stream, seen });
  for (const revision of told.revisions) {
    const envelope = await envelopeAt(store, stream, revision);
    if (envelope !== null) yield envelope;
  }
  yield* store.readStream(stream, { from: told.upTo + 1 });
}

async function toldBySnapshot(
  store: EventStore,
  { stream, seen }: Pick<Watched, "stream" | "seen">,
): Promise<{ readonly revisions: readonly number[]; readonly upTo: number }> {
  const nothing = { revisions: [], upTo: seen };
  const snapshot = await readSnapshot(store, stream, Number.MAX_SAFE_INTEGER);
  if (snapshot === null || snapshot.revision <= seen || store.snapshots === undefined) return nothing;
  const facts = await readFacts(store.snapshots, { stream, name: snapshot.data.facts });
  if (facts === undefined) return nothing;
  const revisions = facts.flatMap(({ others }) =>
    others.flatMap((fact) => (fact[0] === "invalidated" || fact[0] === "scope-invalidated" ? [fact[2].revision] : [])),
  );
  // Inherited ones have revisions of other streams: the events at these revisions are read, and are not invalidations.
  return { revisions: revisions.filter((revision) => revision > seen), upTo: snapshot.revision };
}
