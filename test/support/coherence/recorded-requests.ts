import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Decision } from "../../../src/domain/events/inference-events.ts";
import { hasErasedBody, rebuildRequest } from "../../../src/engine/recorded/recorded-request.ts";
import { foldedHistory } from "../../../src/log/history/folded-history.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";

/** What the events say of one request: its strategy, and the body that they give again. */
export type RecordedRequest = {
  readonly strategy: Decision["strategy"];
  readonly transport: string;
  /** Whether it continued from what ends with a connection. */
  readonly lives: boolean;
  /** Whether it had something ready before anybody asked, and whether it continued from that. */
  readonly isWarmUp: boolean;
  readonly isWarm: boolean;
  /** Null if it carried what was erased since, so that nobody can make it again. */
  readonly bodyText: string | null;
  isAnswered: boolean;
};

/** A request of which the log says nothing any more, because its event was skipped. */
const forgotten = "skipped";

/**
 * Every request of every conversation, forks on their lineage, in the order of the whole log.
 *
 * @param world - Its events as they were written, where some were damaged since (`sound`), and whether any were skipped.
 */
export async function recordedRequests(
  store: TurnlogStore,
  { sound, hasSkips }: { readonly sound: EventStore; readonly hasSkips: boolean },
): Promise<readonly (RecordedRequest | typeof forgotten)[]> {
  const requestByPlace = new Map<string, RecordedRequest>();
  const requestByInference = new Map<string, RecordedRequest>();
  const warmUps = new Set<string>();
  for await (const id of store.conversations()) {
    const stream = `conversation-${id}`;
    for await (const { recorded, view } of foldedHistory(store.log, stream)) {
      const { event, revision } = recorded;
      if (event.type === "ResponseReceived" || event.type === "WarmUpAnswered") {
        const answered = requestByInference.get(event.data.inferenceId);
        if (answered !== undefined) answered.isAnswered = true;
      }
      const isWarmUp = event.type === "WarmUpRequested";
      if (isWarmUp) warmUps.add(event.data.inferenceId);
      if ((!isWarmUp && event.type !== "InferenceRequested") || recorded.stream !== stream) continue;
      // What its settings were is not known any more.
      if (hasSkips && !view.server.settings.has(event.data.settingsDigest)) continue;
      const { bodyText: rebuilt, digest } = rebuildRequest(view, recorded, store.codecs);
      const isErased = hasErasedBody(recorded);
      const bodyText = isErased ? null : rebuilt;
      // Nor what a warm-up showed of an answer that was skipped.
      if (hasSkips && isWarmUp && !isErased && digest !== event.data.requestDigest) continue;
      const { strategy, transport, anchor } = event.data.decision;
      const isWarm = warmUps.has(anchor?.inferenceId ?? "");
      const lives = anchor?.lives !== undefined;
      const request = { strategy, transport, lives, isWarmUp, isWarm, bodyText, isAnswered: false };
      requestByPlace.set(`${stream}@${revision}`, request);
      requestByInference.set(event.data.inferenceId, request);
    }
  }
  const requests: (RecordedRequest | typeof forgotten)[] = [];
  for await (const { stream, revision, type } of sound.readLog({ streamPrefix: "conversation-" })) {
    const request = requestByPlace.get(`${stream}@${revision}`);
    if (request !== undefined) requests.push(request);
    else if (type === "InferenceRequested" || type === "WarmUpRequested") requests.push(forgotten);
  }
  return requests;
}

/**
 * Whether requests came as they are recorded, in their order, and those that cannot be made again had carried what was erased: one that was answered has come, one that was not, or whose event was
 * skipped, may have. `at` is the first that did not come like that.
 */
export function cameAs(
  recorded: readonly (RecordedRequest | typeof forgotten)[],
  received: readonly string[],
  { told, isGone }: { readonly told: (bodyText: string) => string; readonly isGone: (body: string) => boolean },
): { readonly isSame: boolean; readonly at: number } {
  let at = 0;
  /** How many may have come by now. */
  let came: ReadonlySet<number> = new Set([0]);
  for (const request of recorded) {
    const isOpen = request === forgotten || !request.isAnswered;
    const isIt = (body: string): boolean => {
      if (request === forgotten) return true;
      return request.bodyText === null ? isGone(body) : told(request.bodyText) === body;
    };
    const next = [...came].filter((count) => count < received.length && isIt(received[count] ?? ""));
    came = new Set([...(isOpen ? came : []), ...next.map((count) => count + 1)]);
    at = Math.max(at, ...came);
  }
  return { isSame: came.has(received.length), at };
}
