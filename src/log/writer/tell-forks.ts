import type { Actor } from "../../domain/actor.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import { type ConversationId, conversationOfStream, conversationStream } from "../../domain/ids.ts";
import type { EventLog, EventReader } from "../codec/event-log.ts";
import { tryToRead } from "../codec/recorded.ts";
import { readFamilies } from "../history/families.ts";
import { readSkips } from "../history/skipped-events.ts";
import { comparePositions, envelopeAt } from "../ports/event-store.ts";
import { appendNext } from "./append-next.ts";

type Telling = {
  readonly actor: Actor;
  /** What was skipped just now: also told to forks that began meanwhile. */
  readonly skipped: readonly number[];
};

/**
 * Tells each fork, and each fork of a fork, which events it inherits were skipped in this stream since it began, unless it was told before:
 * programs that hold it open, followers and projections read its own stream only. Repeating this finishes what was interrupted. Returns the
 * forks that it told.
 */
export async function tellForks(
  log: EventLog,
  stream: string,
  { actor, skipped }: Telling,
): Promise<readonly ConversationId[]> {
  const conversationId = conversationOfStream(stream);
  if (conversationId === null) return [];
  const heirs = (await readFamilies(log.store)).heirsOf(conversationId);
  if (heirs.size === 0) return [];
  const skips = await readSkips(log, stream);
  const toldNow: ConversationId[] = [];
  for (const [heir, upTo] of heirs) {
    const fork = conversationStream(heir);
    const began = (await envelopeAt(log.store, fork, 0))?.position ?? "";
    const told = await toldOf(log, fork, conversationId);
    const isDue = ({ revision, position }: (typeof skips)[number]): boolean =>
      revision <= upTo && !told.has(revision) && (skipped.includes(revision) || comparePositions(position, began) > 0);
    const revisions = [...new Set(skips.filter(isDue).map(({ revision }) => revision))];
    if (revisions.length === 0) continue;
    const event: ConversationEventOf<"AncestorEventsSkipped"> = {
      ...{ type: "AncestorEventsSkipped", version: 1, data: { conversationId, revisions } },
    };
    await appendNext(log, fork, [{ event, actor }]);
    toldNow.push(heir);
  }
  return toldNow;
}

/** The skipped events of an ancestor that a fork was told of. */
async function toldOf(reader: EventReader, fork: string, ancestor: ConversationId): Promise<ReadonlySet<number>> {
  const told = new Set<number>();
  for await (const envelope of reader.store.readStream(fork)) {
    if (envelope.type !== "AncestorEventsSkipped") continue;
    const reading = await tryToRead(reader.store, envelope);
    if (reading instanceof Error || reading.event.type !== "AncestorEventsSkipped") continue;
    const { conversationId, revisions } = reading.event.data;
    if (conversationId === ancestor) for (const revision of revisions) told.add(revision);
  }
  return told;
}
