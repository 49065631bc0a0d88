import { type Block, notRead } from "../domain/block.ts";
import type { Decision, Divergence, InferenceRequestedData } from "../domain/events/inference-events.ts";
import { inputTurn, planAgain } from "../engine/planning/recorded-request.ts";
import { type BlockChange, lastChange } from "../projections/blame.ts";
import { labelIn } from "../projections/block-labels.ts";
import { type ContextCandidate, candidatesOf } from "./candidates.ts";
import type { FoundRequest } from "./recorded-request.ts";
import type { PlacedBlock } from "./turn-changes.ts";

/** A block that a request sent: what it is in a word or two, and who last changed it. */
export type ExplainedBlock = PlacedBlock & { readonly label: string; readonly changed: BlockChange | null };

/** Why a request was sent as it was. */
export type RequestExplanation = {
  readonly revision: number;
  readonly at: string;
  readonly runId: string | null;
  readonly frame: string | null;
  readonly inferenceId: InferenceRequestedData["inferenceId"];
  /** From 0: which try of its step it is. */
  readonly attempt: number;
  /** What the planner decided: strategy, anchor, reason, repairs. */
  readonly decision: Decision;
  /** Of its run: who holds the conversation between two requests. */
  readonly mode: string;
  /** Why the engine chose that mode, where the caller left it to the engine. */
  readonly modeChosen: string | null;
  /** How many blocks the model was meant to see, sent or held by the server. */
  readonly blocks: number;
  /** Of the body that was sent, in UTF-8. */
  readonly bytes: number;
  /** The codec that wrote the body, with its version. */
  readonly encoder: string;
  /** What sending everything would have cost; null where that codec is not at hand. */
  readonly fullBytes: number | null;
  /** Every context that was known, the newest first. */
  readonly candidates: readonly ContextCandidate[];
  /** Who made the newest context useless, and where; null while the chain holds. */
  readonly brokenBy: (Divergence & { readonly block: string }) | null;
  /** What layers did on the way that no Turn shows. */
  readonly timings: NonNullable<InferenceRequestedData["timings"]>;
  /** The blocks that were sent, with their places in the Turn. */
  readonly sent: readonly ExplainedBlock[];
};

export function explainRequest(found: FoundRequest): RequestExplanation {
  const { recorded, request, view, labels, codecs } = found;
  const { revision, at, runId, frame } = recorded;
  const { inferenceId, attempt, decision, input, encoder, requestBytes, timings = [] } = request;
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
    ...{ revision, at, runId, frame, inferenceId, attempt, decision, encoder },
    mode: policy?.mode ?? "chained",
    modeChosen: policy?.chosen ?? null,
    blocks: input.blocks,
    bytes: requestBytes,
    fullBytes: codecs.has(encoder) ? planAgain(view, recorded, codecs, { full: "policy" }).bytes : null,
    candidates: candidatesOf(found),
    brokenBy: divergence === null ? null : { ...divergence, block: labels.get(divergence.blockId ?? "") ?? "block" },
    timings,
    sent: inputTurn(view, recorded).after(sendFrom).map(sentBlock),
  };
}
