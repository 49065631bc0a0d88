import type { Owner } from "../../domain/events/run-events.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import {
  goneAfterMs,
  knownLifeIn,
  type Life,
  lifeIn,
  RunInProgressError,
  thisProcess,
} from "../../log/writer/owner.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import type { EngineOptions } from "../options/engine.ts";
import { ConversationMovedError, throwIfCancelled } from "../session/errors.ts";
import type { RunRequest } from "./run-options.ts";

/**
 * Checks that a run may be taken over: it has no owner, or its owner is dead. A living owner keeps it, however long it is silent. An owner
 * of which nothing is known keeps it until this process itself has waited `takeoverAfterMs` for a sign of it (rule: Run ownership). If
 * finding out takes time, this waits, unless the caller wants an error for every ongoing run.
 *
 * @throws {RunInProgressError} if it may not be taken over.
 * @throws {RunCancelledError} if the signal aborts while this waits.
 */
export async function mustBeFree(
  stream: ConversationWriter,
  run: OpenRun,
  { stopwatch, takeoverAfterMs }: Pick<EngineOptions, "stopwatch" | "takeoverAfterMs">,
  { takeover = false, whileRunning = "wait", signal }: Pick<RunRequest, "takeover" | "whileRunning" | "signal">,
): Promise<void> {
  const { owner } = run;
  if (owner === null || takeover || owner.processId === thisProcess().processId) return;
  const { store } = stream.log;
  const life = await (whileRunning === "throw" ? lifeIn(store, owner) : waitedLife(stream, run, { owner, signal }));
  if (life === "dead") return;
  if (life === "alive") throw new RunInProgressError(run.id, owner, goneAfterMs(store, owner));
  const isSilent = waitedMs(run.id, stream.lastRunRevision, stopwatch()) > takeoverAfterMs;
  if (!isSilent) throw new RunInProgressError(run.id, owner);
}

/**
 * Looks up whether the owner of a run is alive, and waits if that takes time.
 *
 * @throws {ConversationMovedError} if the run changed during the wait.
 */
async function waitedLife(
  stream: ConversationWriter,
  run: OpenRun,
  { owner, signal }: { readonly owner: Owner; readonly signal: AbortSignal | undefined },
): Promise<Life> {
  const { store } = stream.log;
  const seen = stream.lastRunRevision;
  try {
    const life = await knownLifeIn(store, owner, signal);
    if (goneAfterMs(store, owner) === undefined) return life;
    const now = (await stream.refresh()).client.run;
    const isSame = now?.id === run.id && now.epoch === run.epoch;
    if (!isSame || (life === "dead" && stream.lastRunRevision !== seen)) throw new ConversationMovedError();
    return life;
  } catch (error) {
    throwIfCancelled(signal, run.id);
    throw error;
  }
}

/** How long this process has waited since it first saw the newest event of a run, by its stopwatch, not by a clock. */
function waitedMs(runId: string, revision: number | null, now: number): number {
  const seen = seenByRun.get(runId);
  if (seen !== undefined && seen.revision === revision && seen.since <= now) return now - seen.since;
  seenByRun.delete(runId);
  seenByRun.set(runId, { revision, since: now });
  const [oldest] = seenByRun.keys();
  if (seenByRun.size > maxRememberedRuns && oldest !== undefined) seenByRun.delete(oldest);
  return 0;
}

/** When this process first saw the newest event of each run whose owner is unknown. */
const seenByRun = new Map<string, { readonly revision: number | null; readonly since: number }>();

/** A run dropped from the map is waited for from the start. */
const maxRememberedRuns = 1_000;
