import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Decision } from "../../../src/domain/events/inference-events.ts";
import { rebuildRequest } from "../../../src/engine/planning/recorded-request.ts";
import { conversationView } from "../../../src/projections/conversation-view.ts";

/** What the events say of one request: its strategy, and the body that they give again. */
export type RecordedRequest = {
  readonly strategy: Decision["strategy"];
  readonly transport: string;
  /** Whether it continued from what ends with a connection. */
  readonly lives: boolean;
  /** Whether it had something ready before anybody asked, and whether it continued from that. */
  readonly isWarmUp: boolean;
  readonly isWarm: boolean;
  readonly bodyText: string;
  isAnswered: boolean;
};

/** Every request of every conversation, forks on their lineage, in the order of the whole log. */
export async function recordedRequests(store: TurnlogStore): Promise<readonly RecordedRequest[]> {
  const requestByPlace = new Map<string, RecordedRequest>();
  const requestByInference = new Map<string, RecordedRequest>();
  const warmUps = new Set<string>();
  for await (const id of store.conversations()) {
    const stream = `conversation-${id}`;
    let view = conversationView.initial(stream);
    for await (const recorded of store.conversation(id).history()) {
      view = conversationView.apply(view, recorded);
      const { event, revision } = recorded;
      if (event.type === "ResponseReceived" || event.type === "WarmUpAnswered") {
        const answered = requestByInference.get(event.data.inferenceId);
        if (answered !== undefined) answered.isAnswered = true;
      }
      const isWarmUp = event.type === "WarmUpRequested";
      if (isWarmUp) warmUps.add(event.data.inferenceId);
      if ((!isWarmUp && event.type !== "InferenceRequested") || recorded.stream !== stream) continue;
      const { bodyText } = rebuildRequest(view, recorded, store.codecs);
      const { strategy, transport, anchor } = event.data.decision;
      const isWarm = warmUps.has(anchor?.inferenceId ?? "");
      const lives = anchor?.lives !== undefined;
      const request = { strategy, transport, lives, isWarmUp, isWarm, bodyText, isAnswered: false };
      requestByPlace.set(`${stream}@${revision}`, request);
      requestByInference.set(event.data.inferenceId, request);
    }
  }
  const requests: RecordedRequest[] = [];
  for await (const { stream, revision } of store.events.readLog({ streamPrefix: "conversation-" })) {
    const request = requestByPlace.get(`${stream}@${revision}`);
    if (request !== undefined) requests.push(request);
  }
  return requests;
}
