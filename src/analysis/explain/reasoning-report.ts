import type { Withheld } from "../../domain/events/inference-events.ts";
import { outgoingTurn, recordedRequest } from "../../engine/recorded/recorded-request.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { readEvents } from "../../log/history/read-events.ts";
import type { SkippedEvents } from "../../log/history/skipped-events.ts";
import { type FoundRequest, findRequest, type RequestPlace } from "../time-travel/find-request.ts";
import {
  forecast,
  type ReasoningBlock,
  type ReasoningForecast,
  trailReader,
} from "../time-travel/reasoning-forecast.ts";

/** The same for a request that was sent, with the server's report. */
export type ReasoningReport = Omit<ReasoningForecast, "blocks"> & {
  readonly revision: number;
  readonly at: string;
  readonly inferenceId: string;
  /** Null while there is no answer, and if the request was refused or its answer lost. */
  readonly told: readonly Withheld[] | null;
  readonly blocks: readonly ComparedReasoning[];
  /** The server's report of items that this Turn does not have. */
  readonly unknown: readonly Withheld[];
};

/** A block of a request, and whether the server treated it as expected. */
export type ComparedReasoning = ReasoningBlock & {
  /** Why the server says that it withheld the block from the model; null if it did not say so, or has not answered. */
  readonly withheld: string | null;
  /** The server did something other than expected; false while it has not answered. */
  readonly isSurprise: boolean;
};

/**
 * Reports the reasoning of a recorded request.
 *
 * @throws {TurnlogError} as `findRequest` does.
 */
export async function explainReasoning(log: EventLog, place: Omit<RequestPlace, "follow">): Promise<ReasoningReport> {
  const read = trailReader();
  const found = await findRequest(log, { ...place, follow: read.follow });
  const { recorded, request, view, codecs } = found;
  const asked = recordedRequest(view, recorded, codecs);
  const sent = { request: asked, decision: request.decision, outgoing: outgoingTurn(view, recorded) };
  const { blocks, size } = forecast(read.trail(), view.server, sent);
  const told = await toldOf(log, found, place.skipped);
  return {
    ...{ revision: recorded.revision, at: recorded.at, inferenceId: request.inferenceId, told, size },
    ...compare(blocks, told),
  };
}

/** An item may be in a Turn twice: a report of it belongs to the block for which it was expected. */
function compare(
  blocks: readonly ReasoningBlock[],
  told: ReasoningReport["told"],
): Pick<ReasoningReport, "blocks" | "unknown"> {
  const left = [...(told ?? [])];
  const reasons = new Map<ReasoningBlock, string>();
  for (const fate of ["withheld", "accepted", "refused", "left-out"] as const) {
    for (const block of blocks.filter((each) => each.fate === fate)) {
      // If neither has an id, the first report belongs to the first block for which it was expected.
      const at = left.findIndex(({ itemId }) => itemId === block.itemId && (itemId !== null || fate === "withheld"));
      for (const { reason } of at < 0 ? [] : left.splice(at, 1)) reasons.set(block, reason);
    }
  }
  const compared = blocks.map((block) => {
    const withheld = reasons.get(block) ?? null;
    return { ...block, withheld, isSurprise: told !== null && (withheld !== null) !== (block.fate === "withheld") };
  });
  return { blocks: compared, unknown: left };
}

/** The server's report of the reasoning of a request, in its answer. */
async function toldOf(
  log: EventLog,
  { recorded, request }: FoundRequest,
  skipped: SkippedEvents,
): Promise<readonly Withheld[] | null> {
  const range = { from: recorded.revision + 1, blobs: "keep", skipped } as const;
  for await (const { event } of readEvents(log, recorded.stream, range)) {
    if (event.type === "InferenceFailed" && event.data.inferenceId === request.inferenceId) return null;
    if (event.type === "ResponseReceived" && event.data.inferenceId === request.inferenceId)
      return event.data.withheld ?? [];
  }
  return null;
}
