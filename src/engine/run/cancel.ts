import type { Actor } from "../../domain/actor.ts";
import { isRunEnd, type RunEnd } from "../../domain/events/event.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { knownLifeIn, lifeIn, thisProcess } from "../../log/writer/owner.ts";
import { follow, readOwn } from "../../log/writer/read-conversation.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { ConversationMovedError } from "../session/errors.ts";
import { lineOf } from "./begin.ts";
import { execution } from "./execution.ts";
import { runsHere } from "./run-queue.ts";

/** The outcome of cancelling a run. */
export type Cancelled = {
  readonly runId: string;
  /**
   * `cancelled`: it ended as cancelled. `completed`, `failed`: it ended before its owner saw the request. `requested`: its owner may be
   * alive and has not ended it yet. The owner ends it once it sees the request; if the owner is gone, the next run does.
   */
  readonly status: "cancelled" | "completed" | "failed" | "requested";
};

export type CancelOptions = {
  /** The reason, for the log and the caller of the run. */
  readonly reason?: string;
  /** The actor who cancels; an operator by default. */
  readonly actor?: Actor;
  /** How long to wait for the owner to end it, in milliseconds; 5,000 by default. */
  readonly waitMs?: number;
};

/** How often to look again because others write to the run meanwhile. */
const maxAttempts = 50;

/**
 * Cancels the open run, whichever process owns it: asks its owner to end it, or ends it if no owner is alive. Returns the outcome; null if
 * no run is open.
 */
export async function cancelRun(stream: ConversationWriter, options: CancelOptions = {}): Promise<Cancelled | null> {
  const { reason = "it was cancelled by hand", actor = { kind: "operator" }, waitMs = 5_000 } = options;
  const { cancelAsIs } = await execution();
  let first: OpenRun | null = null;
  let isAskedFor = false;
  for (let attempt = 1; ; attempt += 1) {
    const { run } = (await stream.refresh()).client;
    if (first !== null && run?.id !== first.id) return endOf(stream, first);
    if (run === null) return null;
    first = run;
    if (await isOwned(stream, run)) {
      if (isAskedFor) return { runId: run.id, status: "requested" };
      const event = { type: "RunCancelRequested", version: 1, data: { reason } } as const;
      await stream.commit([{ event, actor, runId: run.id }]);
      isAskedFor = true;
      await untilEnded(stream, run, waitMs);
      // Look again: an owner that is found to be dead will not end it.
      continue;
    }
    try {
      await cancelAsIs(stream, run, { reason, actor });
      return { runId: run.id, status: "cancelled" };
    } catch (error) {
      if (!(error instanceof ConversationMovedError) || attempt === maxAttempts) throw error;
    }
  }
}

/** Whether a process may be executing the run: its owner, unless it is known to be gone. */
async function isOwned(stream: ConversationWriter, { owner }: OpenRun): Promise<boolean> {
  if (owner === null) return false;
  if (owner.processId === thisProcess().processId) return runsHere(lineOf(stream));
  return (await lifeIn(stream.log.store, owner)) !== "dead";
}

/** Waits until the log has the end of the run, its owner is known to be dead, or the time is up. */
async function untilEnded(stream: ConversationWriter, run: OpenRun, waitMs: number): Promise<void> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), waitMs);
  const leaveDead = async (owner: Owner): Promise<void> => {
    if ((await knownLifeIn(stream.log.store, owner, waiting.signal)) === "dead") waiting.abort();
  };
  // The next look-up meets the same failure.
  if (run.owner !== null) leaveDead(run.owner).catch(() => undefined);
  try {
    for await (const { event, runId } of follow(stream, run.startedRevision, waiting.signal))
      if (runId === run.id && event.type !== "skipped" && (isRunEnd(event) || event.type === "RunParked")) return;
  } finally {
    clearTimeout(timer);
    waiting.abort();
  }
}

const statusByEnd = {
  RunCompleted: "completed",
  RunFailed: "failed",
  RunCancelled: "cancelled",
} as const satisfies Record<RunEnd["type"], Cancelled["status"]>;

async function endOf(stream: ConversationWriter, { id, startedRevision }: OpenRun): Promise<Cancelled> {
  for await (const { event, runId } of readOwn(stream, startedRevision))
    if (runId === id && event.type !== "skipped" && isRunEnd(event))
      return { runId: id, status: statusByEnd[event.type] };
  // One of its events was skipped: the run does not continue.
  return { runId: id, status: "failed" };
}
