import { sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";
import { anchorName } from "../../domain/anchor-name.ts";
import type { Decision, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { ServerContext } from "../../projections/server-contexts.ts";
import { defaultChainPolicy } from "../stack/chain-policy.ts";
import type { ItemCodec } from "../stack/provider.ts";
import { contextsOf, provenanceOf } from "./contexts.ts";
import { withoutFirst } from "./instruction-blocks.ts";
import { type PlanRequest, plan } from "./plan.ts";
import { encodeBody, heldContext } from "./shaped-input.ts";

/** Codecs by the name that recorded requests carry (`openai-responses/1`). */
export type Codecs = ReadonlyMap<string, ItemCodec>;

/** A request as it was sent, made again of events alone. */
export type RebuiltRequest = {
  readonly bodyText: string;
  /** sha256 of the body's UTF-8 bytes; equal to the recorded `requestDigest`, or the log is damaged. */
  readonly digest: string;
  /** What the server held of it as input: equal to the recorded `input.held`. */
  readonly held: string;
};

/** The codec that encoded a request is not one of those at hand: a newer turnlog or another provider wrote it. */
export class UnknownCodecError extends Error {
  override readonly name = "UnknownCodecError";
  readonly code = "unknown-codec";
}

/**
 * The body of a recorded request: the settings by their digest, the outgoing Turn of its frame, and what the decision says
 * of it. No rule is asked again, so that a body of last year is the same whatever the planner does today.
 *
 * @param view - Both folds at the revision of `recorded`, an `InferenceRequested`, or later in the same run.
 * @throws {UnknownCodecError} when its codec is not among `codecs`.
 */
export function rebuildRequest(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): RebuiltRequest {
  const request = requestOf(recorded);
  const { decision } = request;
  const settings = view.server.settings.get(request.settingsDigest);
  if (settings === undefined) throw new Error(`its settings ${request.settingsDigest.slice(0, 12)}… were not declared`);
  const parts = { turn: inputTurn(view, recorded), settings, request, codec: codecOf(request, codecs) };
  const { bodyText, shaped } = encodeBody(parts, decision);
  const anchor = anchorOf(view, request);
  return { bodyText, digest: sha256Hex(bodyText), held: heldContext(anchor?.held ?? null, shaped) };
}

/** What of a rebuilt request is not as it was recorded, in words; null when all of it is. */
export function checkRecordedRequest(
  view: ConversationView,
  recorded: RecordedEvent,
  rebuilt: RebuiltRequest,
): string | null {
  const request = requestOf(recorded);
  const { anchor, sendFrom } = request.decision;
  if (rebuilt.digest !== request.requestDigest) return "its rebuilt body is not the one that was sent";
  if (utf8Length(rebuilt.bodyText) !== request.requestBytes) return "its body has another length than was recorded";
  const input = inputTurn(view, recorded);
  if (input.length !== request.input.blocks) return "its Turn has another number of blocks";
  if (input.digest !== request.input.turn) return "its input is not of the Turn that was recorded";
  if (sendFrom !== (anchor?.length ?? 0)) return "it does not send what follows its anchor";
  if (anchor !== null) {
    const context = anchorOf(view, request);
    if (context === null) return `its anchor ${anchor.responseId} is no response of this conversation`;
    if (context.length !== anchor.length || context.inferenceId !== anchor.inferenceId)
      return `its anchor ${anchor.responseId} is another than was recorded`;
    if (context.turn !== input.contextAt(anchor.length))
      return `what ${anchor.responseId} holds is no beginning of its Turn`;
  }
  return rebuilt.held === request.input.held ? null : "what the server held of it is not what was recorded";
}

/** What the log knows of the response that a request continues from. */
function anchorOf({ server }: ConversationView, { scope, decision }: InferenceRequestedData): ServerContext | null {
  const { anchor } = decision;
  return anchor === null ? null : (server.byResponse.get(anchorName({ scope, responseId: anchor.responseId })) ?? null);
}

/** How the same request would have been planned otherwise, and the body that would have been sent. */
export function planAgain(
  view: ConversationView,
  recorded: RecordedEvent,
  codecs: Codecs,
  otherwise: Pick<PlanRequest, "full" | "candidates">,
): { readonly decision: Decision; readonly bodyText: string } {
  const request = requestOf(recorded);
  const parts = planRequest(view, recorded, codecs);
  const decision = plan({ ...parts, ...otherwise });
  return { decision, bodyText: encodeBody({ ...parts, request }, decision).bodyText };
}

/** What the planner was asked, as the log tells it. */
export function planRequest(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): PlanRequest {
  const request = requestOf(recorded);
  const { run } = view.client;
  return {
    turn: inputTurn(view, recorded),
    contexts: contextsOf(view),
    provenance: provenanceOf(run?.turns, view),
    scope: request.scope,
    codec: codecOf(request, codecs),
    capabilities: request.decision.capabilities,
    settings: view.server.settings.get(request.settingsDigest) ?? {},
    settingsDigest: request.settingsDigest,
    policy: run?.started.chain ?? defaultChainPolicy,
    now: request.decision.now,
  };
}

/** The Turn that a recorded request is meant to show the model: what left the innermost layer. */
function outgoingTurn(view: ConversationView, { frame }: RecordedEvent): Turn {
  const { run } = view.client;
  if (run === null) throw new Error("no run is open at this request");
  return run.turns.given(frame ?? "0");
}

/** What of it the input is made of: system blocks before it were said by the instructions (MODEL 6). */
export function inputTurn(view: ConversationView, recorded: RecordedEvent): Turn {
  const turn = outgoingTurn(view, recorded);
  const { outgoing, blocks } = requestOf(recorded).input;
  return outgoing === undefined ? turn : withoutFirst(view, turn, Math.max(0, turn.length - blocks));
}

function requestOf({ event, revision }: RecordedEvent): InferenceRequestedData {
  if (event.type !== "InferenceRequested") throw new Error(`the event at revision ${revision} is no request`);
  return event.data;
}

/** @throws {UnknownCodecError} when the codec of a request is not at hand. */
export function codecOf({ encoder }: Pick<InferenceRequestedData, "encoder">, codecs: Codecs): ItemCodec {
  const codec = codecs.get(encoder);
  if (codec !== undefined) return codec;
  throw new UnknownCodecError(`the request was encoded by '${encoder}', which this turnlog does not know: update it`);
}
