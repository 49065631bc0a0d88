import { TurnlogError } from "../../base/turnlog-error.ts";
import { isRequest } from "../../domain/events/event.ts";
import type { Decision, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { StoreCorruptedError } from "../../log/ports/event-store.ts";
import { type ConversationView, warmUpTurn } from "../../projections/conversation-view.ts";
import { defaultChainPolicy } from "../stack/chain-policy.ts";
import type { Codec } from "../stack/codec.ts";
import { type BuiltRequest, buildRequest } from "./build-request.ts";
import { besideConversation, contextsOf, provenanceOf } from "./contexts.ts";
import { withoutFirst } from "./instruction-blocks.ts";
import type { PlanRequest } from "./plan-request.ts";

/** Codecs by the name that recorded requests carry (`openai-responses/1`). */
export type Codecs = ReadonlyMap<string, Codec>;

/**
 * The body of a recorded request: the settings by their digest, the outgoing Turn of its frame, and what the decision says
 * of it. No rule is asked again, so that a body of last year is the same whatever the planner does today.
 *
 * @param view - Both folds at the revision of `recorded`, an `InferenceRequested`, or later in the same run.
 * @throws {TurnlogError} `unknown-codec` when its codec is not among `codecs`.
 */
export function rebuildRequest(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): BuiltRequest {
  const { decision, settingsDigest: digest } = requestOf(recorded);
  if (!view.server.settings.has(digest)) throw new Error(`its settings ${digest.slice(0, 12)}… were not declared`);
  return buildRequest(recordedRequest(view, recorded, codecs), decision);
}

/** A request as it was sent. */
export type SentRequest = {
  /** Of the event that records it. */
  readonly revision: number;
  readonly inferenceId: InferenceRequestedData["inferenceId"];
  readonly transport: InferenceRequestedData["decision"]["transport"];
  /** The codec that wrote the body, with its version. */
  readonly encoder: string;
  /** The body, byte for byte, with secrets as named slots. */
  readonly bodyText: string;
  /** Of the body, in UTF-8; it is the one that was recorded before the request was sent. */
  readonly sha256: string;
  readonly bytes: number;
};

/**
 * The body of a recorded request, made again and compared with the digest that was recorded before it was sent.
 *
 * @param view - Both folds at the revision of `recorded`, an `InferenceRequested`.
 * @throws {TurnlogError} `unknown-codec` when its codec is not at hand.
 * @throws {StoreCorruptedError} when it is another body than the one that was sent.
 */
export function sentRequest(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): SentRequest {
  const { inferenceId, decision, encoder, requestBytes: bytes, requestDigest: sha256 } = requestOf(recorded);
  const { revision, stream } = recorded;
  const { bodyText, digest } = rebuildRequest(view, recorded, codecs);
  if (digest === sha256) {
    return { revision, inferenceId, transport: decision.transport, encoder, bodyText, sha256, bytes };
  }
  const place = `${conversationOfStream(stream) ?? stream}@${revision}`;
  throw new StoreCorruptedError(
    `the body of ${place} cannot be rebuilt: \`turnlog verify\` says where the damage begins`,
  );
}

/** How the same request would have been planned otherwise, and the body that would have been sent. */
export const planAgain = (
  view: ConversationView,
  recorded: RecordedEvent,
  codecs: Codecs,
  otherwise: Pick<PlanRequest, "full" | "candidates">,
): BuiltRequest => buildRequest({ ...recordedRequest(view, recorded, codecs), ...otherwise });

/** A request as it was planned and sent, as the log tells it. */
export const recordedRequest = (view: ConversationView, recorded: RecordedEvent, codecs: Codecs): PlanRequest => ({
  ...recordedPlan(view, recorded),
  codec: codecOf(requestOf(recorded), codecs),
});

/** The same as far as the log alone tells it. */
export function recordedPlan(view: ConversationView, recorded: RecordedEvent): Omit<PlanRequest, "codec"> {
  const request = requestOf(recorded);
  const { run } = view.client;
  const { scope, settingsDigest, decision } = request;
  const contexts = contextsOf(view);
  return {
    turn: inputTurn(view, recorded),
    contexts,
    provenance: provenanceOf(run?.turns, view),
    ...{ scope, settingsDigest, transport: decision.transport, connection: connectionOf(decision) },
    settings: view.server.settings.get(settingsDigest) ?? {},
    policy: run?.started.chain ?? defaultChainPolicy,
    capabilities: decision.capabilities,
    now: decision.now,
    ...(isAside(recorded.frame) ? besideConversation(contexts) : {}),
    ...(recorded.event.type === "WarmUpRequested" ? { full: "warm-up" } : {}),
  };
}

const connectionOf = ({ lives, details }: Decision): PlanRequest["connection"] => ({
  lives: lives ?? null,
  ...(details === undefined ? {} : { details }),
});

/** The Turn that a recorded request is meant to show the model: what left the innermost layer. */
export function outgoingTurn(view: ConversationView, { event, frame }: RecordedEvent): Turn {
  if (event.type === "WarmUpRequested") return warmUpTurn(view, event.data.scope);
  const { run } = view.client;
  if (run === null) throw new Error("no run is open at this request");
  return run.turns.given(frame ?? "0");
}

/** What of it the input is made of: system blocks before it were said by the instructions (rule: Settings). */
export function inputTurn(view: ConversationView, recorded: RecordedEvent): Turn {
  const turn = outgoingTurn(view, recorded);
  const { outgoing, blocks } = requestOf(recorded).input;
  return outgoing === undefined ? turn : withoutFirst(view, turn, Math.max(0, turn.length - blocks));
}

/** @throws {Error} for an event that is no request. */
export function requestOf({ event, revision }: RecordedEvent): InferenceRequestedData {
  if (isRequest(event)) return event.data;
  throw new Error(`the event at revision ${revision} is no request`);
}

/** @throws {TurnlogError} `unknown-codec` when the codec of a request is not at hand. */
export function codecOf({ encoder }: Pick<InferenceRequestedData, "encoder">, codecs: Codecs): Codec {
  const codec = codecs.get(encoder);
  if (codec !== undefined) return codec;
  throw new TurnlogError(
    "unknown-codec",
    `the request was encoded by '${encoder}', which this turnlog does not know: give it to openStore({ codecs }) or with --stack FILE, or update turnlog where the codec is its own`,
  );
}
