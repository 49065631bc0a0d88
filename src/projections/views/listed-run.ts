import { excerpt } from "../../base/printable.ts";
import { isEndedBySkip } from "../../domain/decider/ended-by-skip.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Waiting } from "./waiting.ts";

/** An open run, as a list shows it. */
export type ListedRun = {
  readonly id: string;
  /** The process that last resumed it; null once it is parked. */
  readonly owner: Owner | null;
  /** What it waits for, also approvals that have expired since. */
  readonly waiting: readonly ListedWaiting[];
  /** Calls and effects that have begun and not ended: one that is parked and had not begun is a call of an external tool. */
  readonly begun: readonly BlockId[];
  /** Whether somebody has decided about something that it waits for since its process left it. */
  readonly isDecided: boolean;
};

/** What a run waits for, as a list shows it, with the beginning of its reason: `waitingFor` of the conversation's last run says more. */
export type ListedWaiting = Pick<Waiting, "kind" | "blockId" | "name" | "reason" | "since" | "expiresAt">;

/** The open run of a conversation after its next event; null if there is none. */
export function openRunAfter(run: ListedRun | null, { event, runId, at }: RecordedEvent): ListedRun | null {
  switch (event.type) {
    case "RunStarted":
      return { id: runId ?? "", owner: event.data.owner, waiting: [], begun: [], isDecided: false };
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      return null;
    case "EventSkipped":
      return run !== null && isEndedBySkip(runId, run.id) ? null : run;
    case "RunResumed":
      return run && { ...run, owner: event.data.owner, isDecided: false };
    case "RunParked":
      return run && { ...run, owner: null, isDecided: false };
    default:
      return run && withEffect(run, { event, at });
  }
}

/** A call or an effect of the open run has begun, ended, or waits. */
function withEffect(run: ListedRun, { event, at: since }: Pick<RecordedEvent, "event" | "at">): ListedRun {
  const waitsFor = (waiting: Omit<ListedWaiting, "since">): ListedRun => ({
    ...run,
    waiting: [...run.waiting.filter(({ blockId }) => blockId !== waiting.blockId), { ...waiting, since }],
  });
  const without = (id: BlockId): ListedRun => ({
    ...run,
    waiting: run.waiting.filter(({ blockId }) => blockId !== id),
    begun: run.begun.filter((each) => each !== id),
  });
  switch (event.type) {
    case "ToolStarted":
      return { ...run, begun: [...run.begun, event.data.blockId] };
    case "EffectStarted":
      return { ...run, begun: [...run.begun, event.data.effectId] };
    case "ToolFinished":
      return without(event.data.blockId);
    case "EffectFinished":
      return without(event.data.effectId);
    case "ToolParked": {
      const { blockId, name, reason } = event.data;
      const kind = run.begun.includes(blockId) ? "doubt" : "external";
      return waitsFor({ kind, blockId, name, reason: beginOf(reason), expiresAt: null });
    }
    case "ApprovalRequested": {
      const { blockId, name, reason, expiresAt = null } = event.data;
      return waitsFor({ kind: "approval", blockId, name, reason: beginOf(reason), expiresAt });
    }
    case "ApprovalDecided":
    case "ToolSettled":
      return { ...without(event.data.blockId), isDecided: true };
    default:
      return run;
  }
}

const beginOf = (reason: string | undefined): string | null => (reason === undefined ? null : excerpt(reason, 200));
