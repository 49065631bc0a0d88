import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import { isHole, type ProposedEvent } from "../../domain/events/recorded.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { readOwn } from "../../log/writer/read-conversation.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { newRunRecord, noteRun } from "../../projections/views/run-record.ts";
import { undecidedIn, type Waiting, waitingIn } from "../../projections/views/waiting.ts";
import { decideDoubts } from "../effects/in-doubt.ts";
import { engineWith } from "../options/adjusted-engine.ts";
import { withContextOf } from "../options/context-of-run.ts";
import type { EngineOptions } from "../options/engine.ts";
import { type RunResult, resultOf } from "../options/result.ts";
import { policiesOf } from "../options/run-policies.ts";
import type { Settings } from "../ports/codec.ts";
import { divergedIn, ReplayDivergedError } from "../ports/divergence.ts";
import { stackDifference } from "../ports/middleware.ts";
import { ConversationMovedError, mustHaveContext, mustHaveRoute, toolMissing } from "../session/errors.ts";
import { Journal } from "../session/journal.ts";
import { timeNow } from "../session/time-now.ts";
import type { SpanKnowledge } from "../tracing/spans/run-spans.ts";
import { answerCalls, decidedCalls } from "./answer-calls.ts";
import { type Closing, cancelUnderWay, closingEntries } from "./close.ts";
import { expiry, judgeWaiting } from "./judge-waiting.ts";
import { isExecuted, type RunStart, spansOf } from "./open-session.ts";
import { parkable } from "./parking.ts";
import { executeRun, inSession } from "./run.ts";
import type { RunRequest } from "./run-options.ts";

/** Resumes a run that was cut off, or gives it up if the caller says so; then there is no result. */
export async function finish(
  stream: ConversationWriter,
  run: OpenRun,
  made: EngineOptions,
  options: RunRequest & { readonly onStackChanged: "abandon" | "throw" },
): Promise<RunResult | null> {
  const engine = await withContextOf(made, run.id, { stream: stream.name, ...stream.view });
  if (run.cancelRequest !== null) {
    // Its owner was asked to end it, but died before it did.
    await cancelAsIs(stream, run, { ...run.cancelRequest, by: { kind: "recovery" }, engine });
    return null;
  }
  if (options.unfinished === "abandon") {
    await abandon(stream, run, { kind: "interrupted", engine });
    return null;
  }
  const open = await judgeWaiting(stream, run, engine, options);
  const waitingFor = waitingIn(open, timeNow(engine));
  if (open.owner === null && waitingFor.length > 0) return waitingResult(stream, open, { engine, waitingFor });
  const difference = stackDifference(open.started.stack, engine.layers);
  const past = await pastOf(stream, open, engine);
  if (difference === null) mustFit(stream, open, { engine, journal: past.journal });
  const waiting = waitingFor.flatMap(({ kind, blockId }) => (kind === "doubt" ? [] : [blockId]));
  const doubts = await decideDoubts({ runId: open.id, journal: past.journal, waiting }, engine);
  const before = { ...past, firstRevision: open.startedRevision, doubts };
  if (difference !== null && doubts.left.size === 0) {
    if (options.onStackChanged === "throw") throw stackChanged(open.id, difference);
    await answerDecided(stream, open, { engine, before, options });
    await abandon(stream, stillOpen(stream, open), { kind: "stack-changed", difference, engine });
    return null;
  }
  try {
    return await resumeRun(stream, open, { engine, before, options });
  } catch (error) {
    if (!(error instanceof ReplayDivergedError)) throw error;
    if (options.onDiverged !== "abandon") throw divergedIn(open.id, error);
    await abandon(stream, stillOpen(stream, open), { kind: "diverged", engine });
    return null;
  }
}

const stackChanged = (runId: string, difference: string): TurnlogError =>
  new TurnlogError(
    "stack-changed",
    `run ${runId} cannot continue: ${difference}; give the layers that it began with, or abandon the run with onStackChanged: "abandon" (in a shell: turnlog resume --abandon)`,
  );

/** @throws {ConversationMovedError} if the run is not open any more. */
function stillOpen({ view }: ConversationWriter, { id }: OpenRun): OpenRun {
  const { run } = view.client;
  if (run?.id !== id) throw new ConversationMovedError();
  return run;
}

/** The result of a run that waits, without writing anything. */
function waitingResult(
  stream: ConversationWriter,
  { id, turns }: OpenRun,
  { engine, waitingFor }: { readonly engine: EngineOptions; readonly waitingFor: readonly Waiting[] },
): Promise<RunResult> {
  const how = { answered: turns.base, brought: 0, turn: stream.turnReader(), isNew: true, closedRun: null };
  return resultOf({ ...newRunRecord(id), isResumed: true }, { ...how, waitingFor, output: engine.output });
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
  // The approval that was asked for is not given any more.
  const expired = undecidedIn(run).map((asked) => ({ event: expiry(asked), actor: how.actor, runId: run.id }));
  const entries = [...first, ...expired, ...closingEntries({ runId: run.id, turns: run.turns, ...how })];
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

/** What the log has of a run that was cut off, as answers for its re-execution. */
async function pastOf(stream: ConversationWriter, run: OpenRun, engine: EngineOptions): Promise<Past> {
  const { layers, tracing } = engine;
  const spans = tracing === null ? null : spansOf(tracing, { stream, runId: run.id, context: engine.context });
  const journal = new Journal(
    run.turns,
    layers.map(({ name }) => name),
  );
  const record = newRunRecord(run.id);
  for await (const recorded of readOwn(stream, run.startedRevision)) {
    if (isHole(recorded) || recorded.runId !== run.id) continue;
    journal.log.note(recorded);
    noteRun(record, recorded);
    spans?.take(recorded, nothingKnown);
  }
  return { journal, record, ...(spans === null ? {} : { spans }) };
}

/** The spans of earlier parts are not made again: what follows needs only what was left open. */
const nothingKnown: SpanKnowledge = { settings: () => undefined, outgoing: () => null };

type Before = NonNullable<RunStart["before"]>;
type Past = Pick<Before, "journal" | "record" | "spans">;

/** Checks that this engine can execute the run again. */
function mustFit(
  stream: ConversationWriter,
  run: OpenRun,
  { engine, journal }: { readonly engine: EngineOptions; readonly journal: Journal },
): void {
  mustHaveContext(run, engine, "resume");
  for (const route of journal.log.routes) mustHaveRoute(run.id, engine, route);
  mustHaveTools(run, engine, stream.view.server.settings.get(run.started.settingsDigest) ?? {});
}

type Resuming = { readonly engine: EngineOptions; readonly before: Before; readonly options: RunRequest };

const beginningOf = ({ id: runId, turns, startedAt, epoch }: OpenRun, before: Before): RunStart => ({
  ...{ runId, base: turns.base, startedAt: Date.parse(startedAt), epoch: epoch + 1, before },
});

async function resumeRun(
  stream: ConversationWriter,
  run: OpenRun,
  { engine, before, options }: Resuming,
): Promise<RunResult> {
  const beginning = beginningOf(run, before);
  try {
    // A run keeps the policies and options that it began with, so they are recorded only once. One that waits on needs none.
    const then = isExecuted(beginning)
      ? engineWith({ ...engine, ...policiesOf(run.started) }, run.started.options ?? {})
      : engine;
    return await parkable(stream, (onSession) =>
      executeRun(stream, then, beginning, { ...options, closedRun: null, onSession }),
    );
  } catch (error) {
    if (!(error instanceof ReplayDivergedError)) throw error;
    // If another process has continued the run meanwhile, this was compared with an incomplete log.
    const { client } = await stream.refresh();
    const hasMoved = client.run?.id !== run.id || stream.lastRunRevision !== before.journal.log.lastRevision;
    throw hasMoved ? new ConversationMovedError() : error;
  }
}

/**
 * Answers the decided calls of a run that this stack cannot execute again: approved ones run by the names of their tools, and the others get
 * what was decided (rule: Approval).
 */
async function answerDecided(
  stream: ConversationWriter,
  run: OpenRun,
  { engine, before, options }: Resuming,
): Promise<void> {
  const calls = decidedCalls(before.journal);
  if (calls.length === 0) return;
  const beginning = beginningOf(run, { ...before, isAnsweredOnly: true });
  await parkable(stream, (onSession) =>
    inSession({ stream, engine, beginning, options: { ...options, closedRun: null, onSession } }, (session) =>
      answerCalls(session, calls),
    ),
  );
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
