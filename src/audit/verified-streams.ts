import { type ConversationId, conversationOfBlob, conversationStream } from "../domain/ids.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { type ForkPoint, statedFork } from "../log/history/lineage.ts";
import { ConversationDamagedError } from "../projections/damage.ts";

/** The last revision of a stream that is verified; null when none is. */
export type VerifiedStreams = (stream: string) => number | null;

/**
 * What is verified with conversations: they and their blobs, and of each ancestor the events that are inherited, for a fork
 * shows them as its own. Everything when none is named.
 */
export async function verifiedStreams(
  reader: EventReader,
  conversations: readonly ConversationId[] | undefined,
): Promise<VerifiedStreams> {
  if (conversations === undefined) return () => Number.POSITIVE_INFINITY;
  const lastByStream = new Map<string, number>();
  for (const id of conversations) {
    const stream = conversationStream(id);
    lastByStream.set(stream, Number.POSITIVE_INFINITY);
    for (let fork = await forkOf(reader, stream); fork !== null; fork = await forkOf(reader, fork.stream)) {
      // So far it is known already, with its own ancestors; damaged forks may even name each other.
      if ((lastByStream.get(fork.stream) ?? -1) >= fork.revision) break;
      lastByStream.set(fork.stream, fork.revision);
    }
  }
  const named = new Set(conversations);
  return (stream) => {
    const ofBlob = conversationOfBlob(stream);
    const isBlob = ofBlob !== null && named.has(ofBlob);
    return lastByStream.get(stream) ?? (isBlob ? Number.POSITIVE_INFINITY : null);
  };
}

async function forkOf(reader: EventReader, stream: string): Promise<ForkPoint | null> {
  try {
    return await statedFork(reader, stream);
  } catch (error) {
    // That its first event cannot be read is told of the stream itself.
    if (error instanceof ConversationDamagedError) return null;
    throw error;
  }
}
