import type { Block } from "../../domain/block.ts";
import type { Decision, Divergence, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import { notRead } from "../../domain/not-read.ts";
import { buildRequest, partsOf } from "../../engine/planning/build-request.ts";
import { plan } from "../../engine/planning/plan.ts";
import { hasErasedBody, inputTurn, recordedRequest } from "../../engine/recorded/recorded-request.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { type BlockChange, lastChange } from "../../projections/client-turn/blame.ts";
import { explainCache } from "../costs/cache-report.ts";
import type { CacheTrail } from "../costs/cache-trail.ts";
import type { RequestCache } from "../costs/request-cache.ts";
import type { SentPrompt } from "../costs/sent-prompt.ts";
import { wholePromptsOf } from "../costs/whole-prompts.ts";
import { labelIn } from "../descriptions/labels.ts";
import type { FoundRequest } from "../time-travel/find-request.ts";
import type { PlacedBlock } from "../time-travel/turn-changes.ts";
import { type ContextCandidate, candidatesOf, type ListPart } from "./candidates.ts";
import { type RequestBefore, requestBefore } from "./request-before.ts";

/** A block that a request sent: a word or two for it, and who last changed it. */
export type ExplainedBlock = PlacedBlock & { readonly label: string; readonly changed: BlockChange | null };

/** Why a request was sent as it was. */
export type RequestExplanation = {
  readonly revision: number;
  readonly at: string;
  readonly runId: string | null;
  readonly frame: string | null;
  readonly inferenceId: InferenceRequestedData["inferenceId"];
  /** Which attempt of its step it is, from 0. */
  readonly attempt: number;
  /** The endpoint that was asked; begins with the provider's name and address. */
  readonly scope: string;
  /** The provider, by its name in the engine's `otherProviders`; null for the engine's own. */
  readonly route: string | null;
  /** The model in the settings; null if they name none. */
  readonly model: string | null;
  /** The endpoints that were asked at this step before, and failed. */
  readonly failedBefore: readonly string[];
  /** The planner's decision: strategy, anchor, reason, repairs. */
  readonly decision: Decision;
  /** The mode of its run: who holds the conversation between two requests. */
  readonly mode: string;
  /** Why the engine chose that mode, if the caller left the choice to the engine. */
  readonly modeChosen: string | null;
  /** How many blocks the model was meant to see, sent or held by the server. */
  readonly blocks: number;
  /** Size of the body that was sent, in UTF-8. */
  readonly bytes: number;
  /** The codec that wrote the body, with its version. */
  readonly encoder: string;
  /** The size of a full request; null if that codec is not available, content of it was erased, or its settings were skipped. */
  readonly fullBytes: number | null;
  /** Every known context, newest first. */
  readonly candidates: readonly ContextCandidate[];
  /** Who made the newest context unusable, and where; null while the chain holds. */
  readonly brokenBy: (Divergence & { readonly block: string }) | null;
  /**
   * The last request to this endpoint, if this request continues from nothing and no context covers it: who changed what of it. Null
   * otherwise, and for the first request of an endpoint.
   */
  readonly before: RequestBefore | null;
  /** Work of layers on the way that no Turn shows. */
  readonly timings: NonNullable<InferenceRequestedData["timings"]>;
  /** The blocks that were sent, with their places in the Turn. */
  readonly sent: readonly ExplainedBlock[];
  /** Why the request read from its provider's prompt cache what it read, and who changed its prompt. */
  readonly cache: RequestCache;
};

/** Explains a request that was found with a trail: with all contexts, or those of a part of their list. */
export const explainRequest = async (
  log: EventLog,
  found: FoundRequest,
  { candidates = null, ...about }: Parameters<typeof explainCache>[2] & { readonly candidates?: ListPart | null },
): Promise<RequestExplanation> => ({
  ...chainOf(found, about.trail, candidates),
  cache: await explainCache(log, found, about),
});

function chainOf(
  found: FoundRequest,
  trail: CacheTrail,
  candidates: ListPart | null,
): Omit<RequestExplanation, "cache"> {
  const { recorded, request, view, labels } = found;
  const { revision, at, runId, frame } = recorded;
  const { inferenceId, attempt, scope, decision, input, encoder, requestBytes, timings = [] } = request;
  const { model } = view.server.settings.get(request.settingsDigest) ?? {};
  const { sendFrom, rejected } = decision;
  const policy = view.client.run?.started.chain;
  const divergence = rejected?.divergence ?? null;
  const blame = view.client.blame ?? notRead();
  const sentBlock = (block: Block, offset: number): ExplainedBlock => ({
    index: sendFrom + offset,
    block,
    label: labelIn(labels, block),
    changed: block.id === null ? null : lastChange(blame, block),
  });
  return {
    ...{ revision, at, runId, frame, inferenceId, attempt, scope, decision, encoder },
    route: "route" in request ? (request.route ?? null) : null,
    model: typeof model === "string" ? model : null,
    failedBefore: failedBefore(found),
    mode: policy?.mode ?? "chained",
    modeChosen: policy?.chosen ?? null,
    blocks: input.blocks,
    bytes: requestBytes,
    fullBytes: fullBytesOf(found, trail),
    candidates: candidatesOf(found, candidates),
    brokenBy: divergence === null ? null : { ...divergence, block: labels.get(divergence.blockId ?? "") ?? "block" },
    before: requestBefore(found),
    timings,
    sent: inputTurn(view, recorded).after(sendFrom).map(sentBlock),
  };
}

function fullBytesOf(found: FoundRequest, trail: CacheTrail): number | null {
  const { decision, encoder, requestBytes, inferenceId, settingsDigest } = found.request;
  if (!found.codecs.has(encoder)) return null;
  if (decision.strategy === "full") return requestBytes;
  const prompt = trail.prompts.get(inferenceId);
  // The event that declared the settings may have been skipped.
  if (prompt === undefined || !found.view.server.settings.has(settingsDigest)) return null;
  return wholePromptsOf(trail, found.codecs).fullBytesOf(prompt, () => plannedBytes(found, prompt, trail));
}

/** What is missing for the size of a full request, if that is null. */
export function missingForSize(found: FoundRequest): "codec" | "content" | "settings" {
  if (!found.codecs.has(found.request.encoder)) return "codec";
  return hasErasedContent(found) ? "content" : "settings";
}

const hasErasedContent = ({ recorded, view }: FoundRequest): boolean =>
  hasErasedBody(recorded) || inputTurn(view, recorded).blocks.some((block) => block.isErased);

/** Null if content of it was erased. */
function plannedBytes(found: FoundRequest, prompt: SentPrompt, trail: CacheTrail): number | null {
  if (hasErasedContent(found)) return null;
  const { recorded, view, codecs } = found;
  const planned = { ...recordedRequest(view, recorded, codecs), full: "policy" as const };
  const decided = plan(planned);
  const bytes = wholePromptsOf(trail, codecs).bytesOf(prompt, planned.codec, partsOf(planned, decided));
  return bytes ?? buildRequest(planned, decided).bytes;
}

/** Other endpoints that were asked for the same step. A step has one answer, so the endpoints asked before gave none. */
function failedBefore({ recorded: { frame }, request: { inferenceId, scope }, view }: FoundRequest): readonly string[] {
  const asked = [...(view.client.run?.inferences ?? [])];
  const before = asked.slice(
    0,
    asked.findIndex(([id]) => id === inferenceId),
  );
  const others = before.filter(([, inference]) => inference.frame === (frame ?? "0") && inference.scope !== scope);
  return [...new Set(others.map(([, inference]) => inference.scope))];
}
