import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { type BlockJson, blockFromJson } from "../../domain/block-json.ts";
import type {
  ContentFilter,
  Decision,
  InferenceRequestedData,
  Repair,
  Withheld,
} from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { RunStatus } from "../../domain/events/run-events.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import { isAside } from "../../domain/frame.ts";
import { entersTurn } from "../client-turn/apply-to-turns.ts";
import { isSuspect } from "../server-contexts/exchange-context.ts";
import { type Usage, usageOf } from "../usage.ts";

/** One answered request. */
export type RunStep = {
  readonly inferenceId: string;
  readonly frame: string;
  readonly responseId: string | null;
  readonly status: string | null;
  /** The provider that answered, and (`route`) its name in `otherProviders`; null for the engine's own. */
  readonly provider: string;
  readonly route: string | null;
  readonly decision: Decision;
  readonly requestBytes: number;
  readonly blocks: readonly Block[];
  readonly usage: Usage;
  /** What the server's content filters found in prompt and answer; empty if it reports nothing. */
  readonly contentFilters: readonly ContentFilter[];
};

/** Content that was sent, or meant to be sent, and did not get through. The log has all of it. */
export type Loss =
  /** An attempt broke off or failed: the items received by then, as the provider wrote them, are in no Turn. */
  | {
      readonly kind: "partial-answer";
      readonly frame: string;
      readonly inferenceId: string;
      readonly items: readonly JsonObject[];
    }
  /** An incomplete answer: only its text is in the Turn, not these blocks. */
  | {
      readonly kind: "omitted-blocks";
      readonly frame: string;
      readonly inferenceId: string;
      readonly blocks: readonly Block[];
    }
  /** Something was withheld from the model so that the server accepts the request; reported once, with the first request. The Turn keeps it. */
  | ({ readonly kind: "repair" } & Repaired)
  /** The engine shortened the Turn: what it cut or removed is in the log, but no longer in the Turn. */
  | {
      readonly kind: "compacted";
      readonly frame: string;
      readonly compaction: Compaction;
      /** Blocks that are shorter now, and blocks that were removed. */
      readonly cut: readonly string[];
      readonly removed: readonly string[];
    }
  /** Reasoning was sent, or held by the server, but the server says that the model did not get it. */
  | {
      readonly kind: "withheld-reasoning";
      readonly frame: string;
      readonly inferenceId: string;
      readonly withheld: readonly Withheld[];
    }
  /** The server answered without the context that the request continued from. The answer is still in the Turn. */
  | { readonly kind: "suspect-answer"; readonly frame: string; readonly inferenceId: string }
  /** Encrypted reasoning that the server can no longer read: it stays in the Turn and is not sent again. */
  | { readonly kind: "quarantined-reasoning"; readonly blockIds: readonly string[]; readonly reason: string };

/** A change of a request by shaping. */
export type Repaired = { readonly frame: string; readonly inferenceId: string; readonly repair: Repair };

/** A record of one run, from its events. */
export type RunRecord = {
  readonly runId: string;
  readonly steps: RunStep[];
  /** Model calls that layers made aside from the conversation. */
  readonly asides: RunStep[];
  readonly losses: Loss[];
  /** Changes of requests that lose nothing: the model got everything, in another form. */
  readonly restated: Repaired[];
  /** Repairs already reported: a later request repeats those of an earlier one. */
  readonly toldRepairs: Set<string>;
  /** Whether it was cut off and resumed. */
  isResumed: boolean;
  /** Null until it has completed. */
  status: RunStatus | null;
  /** Requests and their frames, by inference id. */
  readonly requests: Map<string, { readonly frame: string; readonly request: InferenceRequestedData }>;
};

export const newRunRecord = (runId: string): RunRecord => ({
  runId,
  steps: [],
  asides: [],
  losses: [],
  restated: [],
  toldRepairs: new Set(),
  isResumed: false,
  status: null,
  requests: new Map(),
});

/** Applies the next event of the run; `blockOf` may return block objects that the caller already has. */
export function noteRun(
  record: RunRecord,
  { event, frame: at, actor }: RecordedEvent,
  blockOf: (json: BlockJson) => Block = blockFromJson,
): void {
  const { steps, asides, losses, requests } = record;
  const frame = at ?? "0";
  switch (event.type) {
    case "RunResumed":
      record.isResumed = true;
      return;
    case "InferenceRequested": {
      const { inferenceId, decision } = event.data;
      requests.set(inferenceId, { frame, request: event.data });
      for (const repair of decision.repairs) noteRepair(record, { frame, inferenceId, repair });
      return;
    }
    case "TurnEdited": {
      const { compaction, edits } = event.data;
      if (compaction === undefined) return;
      const cut = edits.flatMap((edit) => (edit.op === "replace" ? [edit.blockId] : []));
      const removed = edits.flatMap((edit) => (edit.op === "remove" ? edit.blockIds : []));
      losses.push({ kind: "compacted", frame, compaction, cut, removed });
      return;
    }
    case "ResponseReceived": {
      const { inferenceId, responseId, status, usage, output, withheld = [], contentFilters = [] } = event.data;
      const asked = requests.get(inferenceId);
      if (asked === undefined) return;
      requests.delete(inferenceId);
      const { decision, requestBytes, route = null } = asked.request;
      const all = output.map(blockOf);
      const blocks = all.filter(entersTurn);
      const provider = actor.kind === "provider" ? actor.name : actor.kind;
      const told = { inferenceId, frame, responseId, status, provider, route, decision, requestBytes };
      (isAside(frame) ? asides : steps).push({ ...told, blocks, contentFilters, usage: usageOf(usage) });
      const omitted = all.filter((block) => !entersTurn(block));
      if (isSuspect(asked.request, event.data)) losses.push({ kind: "suspect-answer", frame, inferenceId });
      if (withheld.length > 0) losses.push({ kind: "withheld-reasoning", frame, inferenceId, withheld });
      if (omitted.length > 0) losses.push({ kind: "omitted-blocks", frame, inferenceId, blocks: omitted });
      return;
    }
    case "InferenceFailed": {
      const { inferenceId, partial } = event.data;
      requests.delete(inferenceId);
      if (partial.length > 0) losses.push({ kind: "partial-answer", frame, inferenceId, items: partial });
      return;
    }
    case "AnchorInvalidated": {
      const { anchor, reason } = event.data;
      const step = [...steps, ...asides].find(({ responseId }) => responseId !== null && responseId === anchor?.id);
      if (reason === "suspect" && step !== undefined)
        losses.push({ kind: "suspect-answer", frame: step.frame, inferenceId: step.inferenceId });
      return;
    }
    case "ReasoningQuarantined": {
      const { blockIds, reason } = event.data;
      losses.push({ kind: "quarantined-reasoning", blockIds, reason });
      return;
    }
    case "RunCompleted":
      record.status = event.data.status;
      return;
    default:
  }
}

function noteRepair({ losses, restated, toldRepairs }: RunRecord, repaired: Repaired): void {
  const { repair } = repaired;
  const { rule, index, detail } = repair;
  const key = JSON.stringify([rule, index, detail]);
  if (toldRepairs.has(key)) return;
  toldRepairs.add(key);
  if (isLoss(repair)) losses.push({ kind: "repair", ...repaired });
  else restated.push(repaired);
}

/** Whether a repair withholds something from the model. What a compaction replaces does not count. */
export const isLoss = ({ rule, detail }: Repair): boolean =>
  rule === "omit" ? detail["reason"] !== "compacted" : rule === "omit-parts" || rule === "answer";
