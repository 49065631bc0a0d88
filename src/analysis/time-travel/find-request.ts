import { TurnlogError } from "../../base/turnlog-error.ts";
import { type ConversationEvent, type ConversationEventOf, isRequest } from "../../domain/events/event.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import { type Codecs, requestOf } from "../../engine/recorded/recorded-request.ts";
import type { Follower } from "../../log/aggregate/fold.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { readEvents } from "../../log/history/read-events.ts";
import { existingRevision } from "../../log/history/revision.ts";
import type { SkippedEvents } from "../../log/history/skipped-events.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { BlockLabels } from "../descriptions/labels.ts";
import { readPlace } from "./place.ts";

/** A request, and what was known when it was planned. */
export type FoundRequest = {
  readonly recorded: RecordedEvent;
  readonly request: InferenceRequestedData;
  readonly view: ConversationView;
  readonly codecs: Codecs;
  readonly labels: BlockLabels["labels"];
  /** The Turn after each response, by inference. */
  readonly contextTurns: ReadonlyMap<string, Turn>;
};

export type RequestPlace = {
  readonly stream: string;
  /** A negative one counts from the end; null for the last request of all. */
  readonly revision: number | null;
  /** If nothing was asked there, use the last request before it. */
  readonly orBefore: boolean;
  readonly codecs: ReadonlyMap<string, Codec>;
  /** Events that folds of the conversation leave out. */
  readonly skipped: SkippedEvents;
  /** Gets every event read on the way. */
  readonly follow?: () => Follower;
};

/**
 * Finds the request at a revision, or the one that an answer or a failure there belongs to.
 *
 * @throws {TurnlogError} `revision-not-found` if there is no such revision.
 * @throws {TurnlogError} `request-not-found` if nothing was asked there, or by then.
 */
export async function findRequest(log: EventLog, place: RequestPlace): Promise<FoundRequest> {
  const { stream, codecs, follow } = place;
  const wanted = await requestAt(log, place);
  const contextTurns = new Map<string, Turn>();
  const { past, words } = await readPlace(log, stream, wanted, () => {
    const told = follow?.();
    return (recorded, view) => {
      told?.(recorded, view);
      const { event } = recorded;
      if (event.type !== "ResponseReceived") return;
      for (const { context, turn } of view.newest.values()) contextTurns.set(context.inferenceId, turn);
      // No request can continue from it by name, but a reader still compares it.
      const answered = isAside(recorded.frame) ? null : view.client.run?.turns.response(event.data.inferenceId);
      if (answered != null) contextTurns.set(event.data.inferenceId, answered);
    };
  });
  const { event: recorded, view } = past;
  return { recorded, request: requestOf(recorded), view, codecs, labels: words.labels, contextTurns };
}

/** Searches from the end, because it is mostly a few events before. */
async function requestAt(
  log: EventLog,
  { stream, revision: wanted, orBefore, skipped }: RequestPlace,
): Promise<number> {
  const revision = await existingRevision(log.store, stream, wanted ?? -1);
  let asked: string | null = null;
  let last: number | null = null;
  const range = { from: revision, direction: "backwards", blobs: "keep", skipped } as const;
  for await (const { event, revision: here } of readEvents(log, stream, range)) {
    if (event.type === "skipped") continue;
    if (here === revision && isOutcome(event)) asked = event.data.inferenceId;
    if (!isRequest(event)) continue;
    if (here === revision || event.data.inferenceId === asked) return here;
    // Without a revision, the caller means a question to the model.
    if (event.type === "WarmUpRequested") continue;
    last ??= here;
    if (asked === null) break;
  }
  if (last !== null && (orBefore || wanted === null)) return last;
  const id = conversationOfStream(stream) ?? stream;
  throw new TurnlogError(
    "request-not-found",
    last === null
      ? `${id} has no request up to revision ${revision}`
      : `revision ${revision} of ${id} is not a request: the last request before it is at revision ${last}`,
  );
}

const isOutcome = (
  event: ConversationEvent,
): event is ConversationEventOf<"ResponseReceived" | "InferenceFailed" | "WarmUpAnswered" | "WarmUpFailed"> =>
  ["ResponseReceived", "InferenceFailed", "WarmUpAnswered", "WarmUpFailed"].includes(event.type);
