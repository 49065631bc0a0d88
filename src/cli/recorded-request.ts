import type { Conversation } from "../conversation/conversation.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { Codecs } from "../engine/planning/recorded-request.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import type { BlockLabels } from "../projections/timeline.ts";
import { NotFoundError } from "./exit-codes.ts";
import { findPlace, readPlace } from "./find.ts";

/** A request, and what was known when it was planned. */
export type FoundRequest = {
  readonly conversation: Conversation;
  readonly recorded: RecordedEvent;
  readonly request: InferenceRequestedData;
  readonly view: ConversationView;
  readonly codecs: Codecs;
  readonly labels: BlockLabels["labels"];
  /** What each response left, as a Turn, by inference. */
  readonly contextTurns: ReadonlyMap<string, Turn>;
};

/**
 * The request that a place names: the one at that revision; the one that an answer or a failure there belongs to; else
 * the last one before. Without a revision the last one of all.
 *
 * @throws {NotFoundError} when nothing was asked by then.
 */
export async function openRequest(store: TurnlogStore, text: string, codecs: Codecs): Promise<FoundRequest> {
  const { conversation, revision } = await findPlace(store, text);
  const wanted = await requestAt(store.log, conversationStream(conversation.id), revision);
  const contextTurns = new Map<string, Turn>();
  const place = { conversation, revision: wanted ?? revision };
  const { past, words } = await readPlace(store, place, () => ({ event }, view) => {
    if (event.type !== "ResponseReceived") return;
    for (const { context, turn } of view.newest.values()) contextTurns.set(context.inferenceId, turn);
  });
  const { event: recorded, view } = past;
  const { event } = recorded;
  if (event.type !== "InferenceRequested" || recorded.revision !== wanted)
    throw new NotFoundError(`nothing was asked in ${conversation.id} up to revision ${revision}`);
  return { conversation, recorded, request: event.data, view, codecs, labels: words.labels, contextTurns };
}

/** Looked for from the end: it mostly is a few events before. */
async function requestAt(log: EventLog, stream: string, revision: number): Promise<number | null> {
  let asked: string | null = null;
  let last: number | null = null;
  const range = { from: revision, direction: "backwards", blobs: "keep" } as const;
  for await (const { event, revision: here } of log.read(stream, range)) {
    const isOutcome = event.type === "ResponseReceived" || event.type === "InferenceFailed";
    if (here === revision && isOutcome) asked = event.data.inferenceId;
    if (event.type !== "InferenceRequested") continue;
    if (asked === null || event.data.inferenceId === asked) return here;
    last ??= here;
  }
  return last;
}
