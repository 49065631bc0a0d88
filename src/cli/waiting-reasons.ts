import type { ListedConversation } from "../conversation/list.ts";
import { conversationStream } from "../domain/ids.ts";
import { tryToRead } from "../log/codec/recorded.ts";
import type { EventStore } from "../log/ports/event-store.ts";

type WaitingRun = Pick<ListedConversation, "id" | "openRun">;

/**
 * A listed conversation with the reasons of what it waits for. The rows of lists hold no contents, so the reasons are read from the newest events,
 * which an erasure reaches.
 */
export async function withReasons<Listed extends WaitingRun>(events: EventStore, listed: Listed) {
  const { id, openRun } = listed;
  if (openRun === null) return { ...listed, openRun };
  const sought = new Set<string>(openRun.waitingFor.map(({ blockId }) => blockId));
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
  const waitingFor = openRun.waitingFor.map((each) => ({ ...each, reason: reasons.get(each.blockId) ?? null }));
  return { ...listed, openRun: { ...openRun, waitingFor } };
}
