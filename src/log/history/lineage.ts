import type { ConversationEvent } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { conversationStream } from "../../domain/ids.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { conversationView } from "../../projections/views/conversation-view.ts";
import type { EventReader } from "../codec/event-log.ts";
import { rawEvents } from "../codec/raw-reader.ts";
import { envelopeAt } from "../ports/event-store.ts";
import { damageAt } from "./damage.ts";
import { type SkippedEvents, skipsOf } from "./skipped-events.ts";

/** The event of a parent after which a fork continues. */
export type ForkPoint = { readonly stream: string; readonly revision: number; readonly digest: string };

type HistoryRange = {
  /** The first revision of the conversation's own stream. Ancestors are read only if this is 0. */
  readonly from?: number;
  /** The last revision of its own stream. */
  readonly to?: number | undefined;
  readonly skipped?: SkippedEvents | undefined;
  /** Only events of its own stream, without those that an operator skipped. */
  readonly own?: boolean;
};

/**
 * The whole history of a conversation (rule: Lineage): the events of its ancestors up to each fork, the oldest first, under their own
 * streams and revisions, then its own. Nothing is copied, and no other function reads them together.
 *
 * @throws {ConversationDamagedError} at an event that cannot be read, unless it was skipped, and if an ancestor is missing or has
 * changed since the fork.
 */
export async function* readHistory(
  reader: EventReader,
  stream: string,
  { from = 0, to, skipped, own = false }: HistoryRange = {},
): AsyncGenerator<RecordedEvent> {
  let due = from;
  try {
    // A skipped event may not be JSON, so the reads leave it out. One loop serves all cases, because each event passes it.
    for (const range of skipped?.around(stream, { from, to }) ?? [{ from, to }]) {
      due = range.from;
      const bounds = range.to === undefined ? {} : { to: range.to };
      for await (const recorded of rawEvents(reader, stream, { from: range.from, ...bounds })) {
        if (!own && recorded.revision === 0) yield* readAncestors(reader, recorded, skipped);
        yield recorded;
        due = recorded.revision + 1;
      }
    }
  } catch (cause) {
    throw damageAt(stream, due, cause) ?? cause;
  }
}

/** The ancestors' events of a conversation with this first event; none if it is not a fork. */
export async function* readAncestors(
  reader: EventReader,
  first: RecordedEvent,
  skipped?: SkippedEvents,
): AsyncGenerator<RecordedEvent> {
  const fork = forkPointOf(first.event);
  if (fork === null) return;
  await checkFork(reader, first.stream, fork);
  for (const { stream, revision } of [...(await forksBefore(reader, fork)), fork]) {
    yield* readHistory(reader, stream, { to: revision, skipped, own: true });
  }
}

/** Where the lineage of a conversation left each of its ancestors, the oldest first; empty if it is not a fork. */
export async function forksOf(reader: EventReader, stream: string): Promise<readonly ForkPoint[]> {
  const fork = await forkPoint(reader, stream);
  return fork === null ? [] : [...(await forksBefore(reader, fork)), fork];
}

/** Where a conversation left its parent; null if it is not a fork. */
export async function forkPoint(reader: EventReader, stream: string): Promise<ForkPoint | null> {
  const fork = await statedFork(reader, stream);
  if (fork !== null) await checkFork(reader, stream, fork);
  return fork;
}

/**
 * The same as the conversation states it, without checking that the parent exists and is unchanged. A conversation whose first event
 * was skipped has no parent.
 */
export async function statedFork(reader: EventReader, stream: string): Promise<ForkPoint | null> {
  try {
    for await (const { event } of readHistory(reader, stream, { to: 0, own: true })) return forkPointOf(event);
  } catch (error) {
    if (!(error instanceof ConversationDamagedError) || (await skipsOf(reader, stream, 0)).length === 0) throw error;
  }
  return null;
}

/** Whether this event starts a fork. */
export const isFork = (event: ConversationEvent): boolean => forkPointOf(event) !== null;

/** Where a conversation with this first event states that it left its parent; null if it is not a fork. */
function forkPointOf(event: ConversationEvent): ForkPoint | null {
  if (event.type !== "ConversationStarted" || event.data.origin.type !== "fork") return null;
  const { conversationId, revision, digest } = event.data.origin;
  return { stream: conversationStream(conversationId), revision, digest };
}

async function forksBefore(reader: EventReader, fork: ForkPoint): Promise<readonly ForkPoint[]> {
  const forks: ForkPoint[] = [];
  for (let next = await forkPoint(reader, fork.stream); next !== null; next = await forkPoint(reader, next.stream)) {
    forks.unshift(next);
  }
  return forks;
}

/** The event's digest covers all events before it: if it matches, nothing that the fork inherits has changed. */
async function checkFork(reader: EventReader, stream: string, fork: ForkPoint): Promise<void> {
  const there = await envelopeAt(reader.store, fork.stream, fork.revision);
  if (there?.digest === fork.digest) return;
  const problem =
    there === null
      ? `it was forked from ${placeOf(fork)}, which this store does not have: copy that conversation too`
      : `the event ${placeOf(fork)} that it was forked from has changed`;
  throw new ConversationDamagedError(problem, 0, { stream });
}

const placeOf = ({ stream, revision }: ForkPoint): string => `${stream.replace(/^conversation-/, "")}@${revision}`;

/** Folds a conversation's history only to find damage. */
export async function foldHistory(reader: EventReader, stream: string, range: HistoryRange): Promise<void> {
  let view = conversationView.initial(stream);
  for await (const recorded of readHistory(reader, stream, range)) view = conversationView.apply(view, recorded);
}
