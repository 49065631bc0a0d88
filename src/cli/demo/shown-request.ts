import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { planAgain } from "../../engine/planning/recorded-request.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import { type TimelineView, timeline } from "../../projections/timeline.ts";
import { codecs } from "../../providers/codecs.ts";
import type { DemoRequest } from "../documents/running.ts";

/** Both folds of a conversation, kept up with its events. */
export type WatchedConversation = { view: ConversationView; times: TimelineView; next: number };

export const watch = (stream: string): WatchedConversation => ({
  view: conversationView.initial(stream),
  times: timeline.initial(stream),
  next: 0,
});

/** Folds one more event; what it says of a request, if it is one. */
export function see(watched: WatchedConversation, recorded: RecordedEvent): DemoRequest | null {
  watched.view = conversationView.apply(watched.view, recorded);
  watched.times = timeline.apply(watched.times, recorded);
  watched.next = recorded.revision + 1;
  const { event, revision } = recorded;
  if (event.type !== "InferenceRequested") return null;
  const { decision, requestBytes, input } = event.data;
  const divergence = decision.rejected?.divergence ?? null;
  return {
    revision,
    strategy: decision.strategy,
    reason: decision.reason,
    bytes: requestBytes,
    fullBytes: planAgain(watched.view, recorded, codecs, { full: "policy" }).bytes,
    blocks: input.blocks,
    blocksSent: input.blocks - decision.sendFrom,
    brokenBy:
      divergence === null
        ? null
        : { ...divergence, block: watched.times.labels.get(divergence.blockId ?? "") ?? "block" },
  };
}
