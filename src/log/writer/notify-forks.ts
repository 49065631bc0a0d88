import type { Actor } from "../../domain/actor.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import { type ConversationId, conversationOfStream, conversationStream } from "../../domain/ids.ts";
import type { EventLog, EventReader } from "../codec/event-log.ts";
import { tryToRead } from "../codec/recorded.ts";
import { readFamilies } from "../history/families.ts";
import { readSkips } from "../history/skipped-events.ts";
import { comparePositions, envelopeAt } from "../ports/event-store.ts";
import { appendNext } from "./append-next.ts";

type Notifying = {
  readonly actor: Actor;
  /** What was skipped just now: forks that began meanwhile are notified of it, too. */
  readonly skipped: readonly number[];
};

/**
 * Records in each fork, and in each fork of a fork, which of the events that it inherits were skipped in this stream since it began, unless it
 * has them already: programs that hold it open, followers and projections read its own stream only. Repeating this finishes what was interrupted.
 * Returns the forks that it wrote to.
 */
export async function notifyForks(
  log: EventLog,
  stream: string,
  { actor, skipped }: Notifying,
): Promise<readonly ConversationId[]> {
  const conversationId = conversationOfStream(stream);
  if (conversationId === null) return [];
  const descendants = (await readFamilies(log.store)).descendantsOf(conversationId);
  if (descendants.size === 0) return [];
  const skips = await readSkips(log, stream);
  const notified: ConversationId[] = [];
  for (const [id, upTo] of descendants) {
    const fork = conversationStream(id);
    const began = (await envelopeAt(log.store, fork, 0))?.position ?? "";
    const known = await skipsKnownTo(log, fork, conversationId);
    const isDue = ({ revision, position }: (typeof skips)[number]): boolean =>
      revision <= upTo && !known.has(revision) && (skipped.includes(revision) || comparePositions(position, began) > 0);
    const revisions = [...new Set(skips.filter(isDue).map(({ revision }) => revision))];
    if (revisions.length === 0) continue;
    const event: ConversationEventOf<"AncestorEventsSkipped"> = {
      ...{ type: "AncestorEventsSkipped", version: 1, data: { conversationId, revisions } },
    };
    await appendNext(log, fork, [{ event, actor }]);
    notified.push(id);
  }
  return notified;
}

/** The skipped events of an ancestor that a fork has a record of. */
async function skipsKnownTo(reader: EventReader, fork: string, ancestor: ConversationId): Promise<ReadonlySet<number>> {
  const known = new Set<number>();
  for await (const envelope of reader.store.readStream(fork)) {
    if (envelope.type !== "AncestorEventsSkipped") continue;
    const reading = await tryToRead(reader.store, envelope);
    if (reading instanceof Error || reading.event.type !== "AncestorEventsSkipped") continue;
    const { conversationId, revisions } = reading.event.data;
    if (conversationId === ancestor) for (const revision of revisions) known.add(revision);
  }
  return known;
}
