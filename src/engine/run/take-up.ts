import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import { isHole, type ProposedEvent } from "../../domain/events/recorded.ts";
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
import { readOwn } from "../../log/writer/read-conversation.ts";
import type { OpenRun } from "../../projections/open-run.ts";
import { newRunRecord, noteRun } from "../../projections/run-record.ts";
import { decideDoubts } from "../effects/in-doubt.ts";
import { divergedIn, ReplayDivergedError } from "../session/divergence.ts";
import {
  ConversationMovedError,
  mustHaveContext,
  mustHaveRoute,
  throwIfCancelled,
  toolMissing,
} from "../session/errors.ts";
import { Journal } from "../session/journal.ts";
import { engineWith } from "../stack/adjusted-engine.ts";
import type { Settings } from "../stack/codec.ts";
import type { EngineOptions } from "../stack/engine.ts";
import { stackDifference } from "../stack/middleware.ts";
import { type RunResult, resultOf } from "../stack/result.ts";
import { policiesOf } from "../stack/run-policies.ts";
import { type Closing, cancelUnderWay, closingEntries } from "./close.ts";
import { parkable } from "./parking.ts";
import { executeRun } from "./run.ts";
import type { RunRequest } from "./run-options.ts";

/** Resumes a run that was cut off, or gives it up if the caller says so; then there is no result. */
export async function finish(
  stream: ConversationWriter,
  run: OpenRun,
  engine: EngineOptions,
  options: RunRequest & { readonly onStackChanged: "abandon" | "throw" },
): Promise<RunResult | null> {
  if (run.cancelRequest !== null) {
    // Its owner was asked to end it, but died before it did.
    await cancelAsIs(stream, run, { ...run.cancelRequest, by: { kind: "recovery" }, engine });
    return null;
  }
  if (options.unfinished === "abandon") {
    await abandon(stream, run, { kind: "interrupted", engine });
    return null;
  }
  const difference = otherStack(run, engine, options.onStackChanged);
  if (difference !== null) {
    await abandon(stream, run, { kind: "stack-changed", difference, engine });
    return null;
  }
  try {
    return await resumeRun(stream, run, engine, options);
  } catch (error) {
    if (!(error instanceof ReplayDivergedError)) throw error;
    if (options.onDiverged !== "abandon") throw divergedIn(run.id, error);
    await abandon(stream, run, { kind: "diverged", engine });
    return null;
  }
}

/**
 * The difference between the engine's stack and the run's; null if there is none.
 *
 * @throws {TurnlogError} `stack-changed` if there is one and the run is not to be given up for it.
 */
function otherStack(run: OpenRun, { layers }: EngineOptions, onStackChanged: "abandon" | "throw"): string | null {
  const difference = stackDifference(run.started.stack, layers);
  if (difference === null || onStackChanged === "abandon") return difference;
  throw new TurnlogError(
    "stack-changed",
    `run ${run.id} cannot continue: ${difference}; give the layers that it began with, or abandon the run with onStackChanged: "abandon" (in a shell: turnlog resume --abandon)`,
  );
}

type Abandoning = {
  readonly kind: keyof typeof abandonedBecause;
  /** More about the reason, if there is more to say. */
  readonly difference?: string;
  readonly actor?: Actor;
  /** The engine whose providers cancel background responses; without one, those are made in vain. */
  readonly engine?: EngineOptions;
};

/**
 * Gives up a run that was cut off: what it did stays, and every open call gets a result (rule: Runs that do not complete). Responses that
 * servers still make for it are cancelled.
 */
export async function abandon(stream: ConversationWriter, run: OpenRun, abandoning: Abandoning): Promise<void> {
  const { kind, difference, actor = { kind: "recovery" }, engine } = abandoning;
  const why = abandonedBecause[kind];
  const message = difference === undefined ? why : `${why}: ${difference}`;
  await end(stream, run, {
    how: { type: "RunFailed", kind, message },
    actor,
    ...(engine === undefined ? {} : { engine }),
  });
}

type Cancelling = {
  readonly reason: string;
  /** The actor who asked for it. */
  readonly actor: Actor;
  /** The actor who ends it; by default, the one who asked for it. */
  readonly by?: Actor;
  readonly engine?: EngineOptions;
};

/** Cancels a run that no process continues: what it did stays, and every open call gets a result. */
export async function cancelAsIs(
  stream: ConversationWriter,
  run: OpenRun,
  { reason, actor, by = actor, ...rest }: Cancelling,
): Promise<void> {
  const request = { type: "RunCancelRequested", version: 1, data: { reason } } as const;
  const first: readonly ProposedEvent[] = run.cancelRequest === null ? [{ event: request, actor, runId: run.id }] : [];
  await end(stream, run, { how: { type: "RunCancelled", reason }, actor: by, first, ...rest });
}

type Ending = Pick<Closing, "how" | "actor"> & {
  /** The events to record before it. */
  readonly first?: readonly ProposedEvent[];
  readonly engine?: EngineOptions;
};

async function end(stream: ConversationWriter, run: OpenRun, ending: Ending): Promise<void> {
  const { first = [], engine, ...how } = ending;
  const seen = stream.head?.revision;
  const entries = [...first, ...closingEntries({ runId: run.id, turns: run.turns, ...how })];
  await stream.commit(entries, () => {
    // If its owner recorded more, or someone else closed it, these events no longer follow from what it did.
    if (stream.head?.revision !== seen) throw new ConversationMovedError();
  });
  if (engine !== undefined) await cancelUnderWay(run, engine);
}

const abandonedBecause = {
  interrupted: "its owner ended before it did",
  "stack-changed": "the stack is not the one it began with",
  diverged: "its layers did not do again what they had done",
  abandoned: "it was given up by hand",
} as const;

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
  if (owner === null || takeover || owner.processId === thisProcess.processId) return;
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

async function resumeRun(
  stream: ConversationWriter,
  run: OpenRun,
  engine: EngineOptions,
  options: RunRequest,
): Promise<RunResult> {
  const { id: runId, turns, startedRevision: firstRevision, epoch } = run;
  if (run.owner === null && run.inDoubt.size > 0) {
    const turn = stream.turnReader();
    const how = { answered: turns.base, brought: 0, turn, isNew: true, closedRun: null, inDoubt: [...run.inDoubt] };
    const { output } = engine;
    return resultOf({ ...newRunRecord(runId), isResumed: true }, { ...how, output });
  }
  const journal = new Journal(
    turns,
    engine.layers.map(({ name }) => name),
  );
  const record = newRunRecord(runId);
  for await (const recorded of readOwn(stream, firstRevision)) {
    if (isHole(recorded) || recorded.runId !== runId) continue;
    journal.log.note(recorded);
    noteRun(record, recorded);
  }
  mustHaveContext(run, engine, "resume");
  for (const route of journal.log.routes) mustHaveRoute(runId, engine, route);
  mustHaveTools(run, engine, stream.view.server.settings.get(run.started.settingsDigest) ?? {});
  const startedAt = Date.parse(run.startedAt);
  const doubts = await decideDoubts(runId, journal, engine);
  const before = { firstRevision, journal, record, doubts };
  const beginning = { runId, base: turns.base, startedAt, epoch: epoch + 1, before };
  try {
    // A run keeps the policies and options that it began with, so they are recorded only once.
    const then = engineWith({ ...engine, ...policiesOf(run.started) }, run.started.options ?? {});
    return await parkable(stream, (onSession) =>
      executeRun(stream, then, beginning, { ...options, closedRun: null, onSession }),
    );
  } catch (error) {
    if (!(error instanceof ReplayDivergedError)) throw error;
    // If another process has continued the run meanwhile, this was compared with an incomplete log.
    const { client } = await stream.refresh();
    const hasMoved = client.run?.id !== runId || stream.lastRunRevision !== journal.log.lastRevision;
    throw hasMoved ? new ConversationMovedError() : error;
  }
}

/**
 * Calls that were cut off need their tools, to run them again or to learn that they must not be repeated; except calls of tools that the
 * model was never offered.
 */
function mustHaveTools({ id, turns }: OpenRun, { tools, provider }: EngineOptions, settings: Settings): void {
  const offered = provider.codec.offeredTools(settings);
  const names = new Set(tools.map(({ name }) => name));
  const missing = turns.openCalls
    .filter((call) => call.id !== null && turns.isToolStarted(call.id))
    .map((call) => call.name ?? call.type)
    .filter((name) => !names.has(name) && offered.includes(name));
  if (missing.length > 0) throw toolMissing(id, missing, "was cut off in");
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
