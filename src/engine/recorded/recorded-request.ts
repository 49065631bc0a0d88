import { TurnlogError } from "../../base/turnlog-error.ts";
import { isRequest } from "../../domain/events/event.ts";
import type { Decision, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { type ConversationView, warmUpTurn } from "../../projections/views/conversation-view.ts";
import { defaultChainPolicy } from "../options/chain-policy.ts";
import { type BuiltRequest, buildRequest } from "../planning/build-request.ts";
import { besideConversation, contextsOf, provenanceOf } from "../planning/contexts.ts";
import { withoutFirst } from "../planning/instruction-blocks.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import type { Codec } from "../ports/codec.ts";

/** Codecs by the name that recorded requests carry (`openai-responses/1`). */
export type Codecs = ReadonlyMap<string, Codec>;

/**
 * Rebuilds a recorded request from its settings (by digest), the outgoing Turn of its frame, and its decision. No rule is applied
 * again, so that a body of last year is the same whatever the planner does today.
 *
 * @param view - Both folds at the revision of `recorded`, an `InferenceRequested`, or later in the same run.
 * @throws {TurnlogError} `unknown-codec` if its codec is not among `codecs`.
 * @throws {StoreCorruptedError} if the event with its settings was skipped.
 */
export function rebuildRequest(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): BuiltRequest {
  const { decision, settingsDigest: digest } = requestOf(recorded);
  if (!view.server.settings.has(digest)) throw notRebuilt(recorded);
  return buildRequest(recordedRequest(view, recorded, codecs), decision);
}

/** A request as it was sent. */
export type SentRequest = {
  /** The revision of the event that records it. */
  readonly revision: number;
  readonly inferenceId: InferenceRequestedData["inferenceId"];
  readonly transport: InferenceRequestedData["decision"]["transport"];
  /** The codec that wrote the body, with its version. */
  readonly encoder: string;
  /** The body, byte for byte, with secrets as named slots. */
  readonly bodyText: string;
  /** The digest of the body in UTF-8, as it was recorded before the request was sent. */
  readonly sha256: string;
  readonly bytes: number;
};

/**
 * Rebuilds the body of a recorded request and compares it with the digest that was recorded before the request was sent.
 *
 * @param view - Both folds at the revision of `recorded`, an `InferenceRequested`.
 * @throws {TurnlogError} `unknown-codec` if its codec is not available.
 * @throws {TurnlogError} `content-erased` if it carried content that was erased since.
 * @throws {StoreCorruptedError} if it is not the body that was sent.
 */
export function sentRequest(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): SentRequest {
  const { inferenceId, decision, encoder, requestBytes: bytes, requestDigest: sha256 } = requestOf(recorded);
  const { revision } = recorded;
  if (hasErasedBody(recorded))
    throw new TurnlogError("content-erased", `the body of ${placeOf(recorded)} had content that was erased since`);
  const { bodyText, digest } = rebuildRequest(view, recorded, codecs);
  if (digest === sha256) {
    return { revision, inferenceId, transport: decision.transport, encoder, bodyText, sha256, bytes };
  }
  throw notRebuilt(recorded);
}

const notRebuilt = (recorded: RecordedEvent) =>
  new StoreCorruptedError(
    `the body of ${placeOf(recorded)} cannot be rebuilt: \`turnlog verify\` says where the damage begins`,
  );

const placeOf = ({ stream, revision }: RecordedEvent) => `${conversationOfStream(stream) ?? stream}@${revision}`;

/** A request as it was planned and sent, from the log. */
export const recordedRequest = (view: ConversationView, recorded: RecordedEvent, codecs: Codecs): PlanRequest => ({
  ...recordedPlan(view, recorded),
  codec: codecOf(requestOf(recorded), codecs),
});

/** The same without its codec, from the log alone. */
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

/** The Turn that a recorded request was made from, as it left the innermost layer. */
export function outgoingTurn(view: ConversationView, { event, frame }: RecordedEvent): Turn {
  if (event.type === "WarmUpRequested") return warmUpTurn(view, event.data.scope);
  const { run } = view.client;
  if (run === null) throw new Error("no run is open at this request");
  return run.turns.given(frame ?? "0");
}

/** The part of it that the input is made from: leading system blocks may be in the instructions (rule: Settings). */
export function inputTurn(view: ConversationView, recorded: RecordedEvent): Turn {
  const turn = outgoingTurn(view, recorded);
  const { outgoing, blocks } = requestOf(recorded).input;
  return outgoing === undefined ? turn : withoutFirst(view, turn, Math.max(0, turn.length - blocks));
}

/** Whether a request carried content that was erased since: then what was sent cannot be proved any more. */
export const hasErasedBody = (recorded: RecordedEvent): boolean =>
  recorded.hasErased === true && requestOf(recorded).requestDigest === "erased";

/** @throws {Error} if the event is not a request. */
export function requestOf({ event, revision }: RecordedEvent): InferenceRequestedData {
  if (isRequest(event)) return event.data;
  throw new Error(`the event at revision ${revision} is not a request`);
}

/** @throws {TurnlogError} `unknown-codec` if the codec of a request is not available. */
export function codecOf({ encoder }: Pick<InferenceRequestedData, "encoder">, codecs: Codecs): Codec {
  const codec = codecs.get(encoder);
  if (codec !== undefined) return codec;
  throw new TurnlogError(
    "unknown-codec",
    `the codec '${encoder}' encoded the request, and this turnlog does not have it: give it to openStore({ codecs }) or with --stack FILE, or update turnlog if the codec is its own`,
  );
}
