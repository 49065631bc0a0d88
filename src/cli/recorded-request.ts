import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { Conversation } from "../engine/conversation.ts";
import type { TurnlogStore } from "../engine/turnlog-store.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
import { type TimelineView, timeline } from "../projections/timeline.ts";
import { NotFoundError, UsageError } from "./exit-codes.ts";
import { findConversation, findRevision } from "./find.ts";
import { lastRevision, parsePlace } from "./revision.ts";

/** A request, and what was known when it was planned. */
export type FoundRequest = {
  readonly conversation: Conversation;
  readonly recorded: RecordedEvent;
  readonly request: InferenceRequestedData;
  readonly view: ConversationView;
  readonly times: TimelineView;
  /** What each response left, as a Turn, by inference. */
  readonly contextTurns: ReadonlyMap<string, Turn>;
};

/**
 * The request that a place names: the one at that revision; the one that an answer or a failure there belongs to; else
 * the last one before. Without a revision the last one of all.
 *
 * @throws {NotFoundError} when nothing was asked by then.
 */
export async function openRequest(store: TurnlogStore, text: string): Promise<FoundRequest> {
  const { conversation: name, at } = parsePlace(text);
  if (at.type === "range") throw new UsageError(`'${text}' is a range: name one revision`);
  const conversation = await findConversation(store, name);
  const revision = await findRevision(store, conversation, at.type === "none" ? lastRevision : at.revision);
  const wanted = await requestAt(conversation, revision);
  const stream = conversationStream(conversation.id);
  let view = conversationView.initial(stream);
  let times = timeline.initial(stream);
  const contextTurns = new Map<string, Turn>();
  for await (const recorded of conversation.history(revision)) {
    view = conversationView.apply(view, recorded);
    times = timeline.apply(times, recorded);
    const { event } = recorded;
    if (event.type === "ResponseReceived") {
      for (const { context, turn } of view.newest.values()) contextTurns.set(context.inferenceId, turn);
    }
    if (recorded.stream !== stream || recorded.revision !== wanted || event.type !== "InferenceRequested") continue;
    return { conversation, recorded, request: event.data, view, times, contextTurns };
  }
  throw new NotFoundError(`nothing was asked in ${conversation.id} up to revision ${revision}`);
}

async function requestAt(conversation: Conversation, revision: number): Promise<number | null> {
  const byInference = new Map<string, number>();
  let last: number | null = null;
  for await (const { event, revision: here } of conversation.events()) {
    if (here > revision) break;
    if (event.type === "InferenceRequested") {
      byInference.set(event.data.inferenceId, here);
      last = here;
    }
    const isOutcome = event.type === "ResponseReceived" || event.type === "InferenceFailed";
    if (here === revision && isOutcome) return byInference.get(event.data.inferenceId) ?? last;
  }
  return last;
}
