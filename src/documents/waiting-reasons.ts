import { type ConversationId, conversationStream } from "../domain/ids.ts";
import { tryToRead } from "../log/codec/recorded.ts";
import type { EventStore } from "../log/ports/event-store.ts";

/**
 * Why calls of a conversation's open run wait, by the ids of their blocks. The rows of lists hold no contents, so the reasons are read from the newest
 * events, which an erasure reaches.
 */
export async function waitingReasons(
  events: EventStore,
  id: ConversationId,
  calls: readonly { readonly blockId: string }[],
): Promise<ReadonlyMap<string, string>> {
  const sought = new Set(calls.map(({ blockId }) => blockId));
  const reasons = new Map<string, string>();
  for await (const envelope of events.readStream(conversationStream(id), { direction: "backwards" })) {
    if (sought.size === 0) break;
    const recorded = await tryToRead(events, envelope);
    if (recorded instanceof Error) continue;
    const { event } = recorded;
    if (event.type === "RunStarted") break;
    if (event.type !== "ApprovalRequested" && event.type !== "ToolParked") continue;
    const { blockId, reason } = event.data;
    if (sought.delete(blockId) && reason !== undefined) reasons.set(blockId, reason);
  }
  return reasons;
}
