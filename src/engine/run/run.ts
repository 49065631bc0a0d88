import { innerSignal } from "../../base/abort.ts";
import { openCalls } from "../../domain/calls.ts";
import type { Owner, RunStatus, TraceIds } from "../../domain/events/run-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { randomId } from "../../log/codec/ids.ts";
import { countBrought } from "../../projections/client-turn/answers.ts";
import { waitingIn } from "../../projections/views/waiting.ts";
import { compactAfter, compactBefore } from "../compaction/compaction.ts";
import { type AskModel, summarisingOnce } from "../compaction/summary.ts";
import type { Doubts } from "../effects/in-doubt.ts";
import { inferStep } from "../inference/infer.ts";
import { contextLookup, type Step } from "../inference/step-request.ts";
import { ContextOfRun, withContextOf } from "../options/context-of-run.ts";
import type { EngineOptions } from "../options/engine.ts";
import { type RunResult, resultOf } from "../options/result.ts";
import type { RunPart } from "../options/run-part.ts";
import { recordedPolicies } from "../options/run-policies.ts";
import { endsPaused } from "../options/tool-loop.ts";
import { requestSettings, settingsName } from "../planning/request-settings.ts";
import { broughtBy, describeLayers } from "../ports/middleware.ts";
import type { Interceptor } from "../session/breakpoint.ts";
import { type CancelRequest, RunWaits, throwIfCancelled } from "../session/errors.ts";
import type { RunFold } from "../session/run-fold.ts";
import { engineActor, type LiveRun, type RunSession, record, takeTimings } from "../session/session.ts";
import { timeNow } from "../session/time-now.ts";
import { cancelUnderWay } from "./close.ts";
import { failRun } from "./fail-run.ts";
import { runStack, type Stack } from "./frames.ts";
import { inferAside } from "./infer-aside.ts";
import { contextOf } from "./layer-context.ts";
import { isExecuted, openSession, type RunStart, type RunStream } from "./open-session.ts";

export type OnSession = (session: RunSession, others: OthersHold) => void;

/** The epoch of a session, and how others cancel it. */
type OthersHold = { readonly epoch: number; readonly cancel: (request: CancelRequest) => void };

export type ExecuteOptions = {
  readonly signal?: AbortSignal;
  readonly onPart?: (part: RunPart) => unknown;
  /** Holds the run before and after each of its effects. */
  readonly interceptor?: Interceptor | undefined;
  /** Called before the session's first event, with the session and the way to cancel it. */
  readonly onSession?: OnSession;
  /** A run that was cut off and was finished or closed first. */
  readonly closedRun: string | null;
  /** Sees every step before it is made. */
  readonly onStep?: ((step: SingleStep) => void) | undefined;
};

/** A step that is about to be made: its frame, the Turn that left the innermost layer, and what layers added to it. */
export type SingleStep = Step & { readonly session: RunSession };

/**
 * Executes one run, from its beginning or from where its log ends: every effect is recorded before it begins. A resumed run is executed
 * again against its log, and goes live where the log ends.
 */
export function executeRun(
  stream: RunStream,
  engine: EngineOptions,
  beginning: RunStart,
  options: ExecuteOptions,
): Promise<RunResult> {
  if (engine.context instanceof ContextOfRun) return executeInContext(stream, engine, beginning, options);
  return inSession({ stream, engine, beginning, options }, (session) => {
    if (!isExecuted(beginning)) return park(session, beginning, { stream, options });
    return runToEnd(session, { stream, beginning, options });
  });
}

/** The same with the context that is made for this run. */
async function executeInContext(...[stream, given, beginning, options]: Parameters<typeof executeRun>) {
  const engine = await withContextOf(given, beginning.runId, { stream: stream.name, ...stream.view });
  const { hasContext: _, ...recorded } = beginning.options ?? {};
  const begun = engine.context === undefined ? { ...beginning, options: recorded } : beginning;
  return executeRun(stream, engine, begun, options);
}

/** What a process does of a run: from its first event, which says that the process owns the run, to its last. */
export type Part = {
  readonly stream: RunStream;
  readonly engine: EngineOptions;
  readonly beginning: RunStart;
  readonly options: ExecuteOptions;
};

/** Opens the session of a run for some work, and records that this process owns the run. */
export async function inSession<T>(part: Part, work: (session: RunSession) => Promise<T>): Promise<T> {
  const { stream, engine, beginning, options } = part;
  const { runId, before } = beginning;
  const { onPart, interceptor = null } = options;
  const cancelling = new AbortController();
  const signal =
    options.signal === undefined ? cancelling.signal : AbortSignal.any([options.signal, cancelling.signal]);
  throwIfCancelled(signal, runId);
  const owner = await stream.owner();
  const known = stream.names();
  // Another writer could come first while this waits.
  const names = known instanceof Promise ? await known : known;
  // Work that cannot be recorded must not continue: calls and tools in flight end when the run is lost.
  const { signal: running, end } = innerSignal(signal);
  const session = openSession({
    stream,
    engine,
    beginning,
    names,
    signal,
    running,
    interceptor,
    onPart,
    onFailure: end,
  });
  // If it fails, the recorder has ended the run with the error.
  session.run.gate.whenIdle(() => void waitOutside(session).catch(() => undefined));
  options.onSession?.(session, { epoch: beginning.epoch, cancel: (request) => cancelling.abort(request) });
  try {
    // An error here ends no run, because none has begun.
    if (before === null) recordStart(session, beginning, owner);
    else recordResumption(session, { epoch: beginning.epoch, owner }, before.doubts);
    return await work(session);
  } finally {
    end(new Error("the run has ended"));
    // Not awaited: the next look at the conversation queues behind it.
    if (session.run.recorder.failure !== null) stream.dropProposed().catch(() => undefined);
    // Of a run that is parked, one event is still to come.
    if (!session.run.recorder.isParked) session.run.tracing?.close();
  }
}

/**
 * Leaves the run to those outside of it who decide and answer, once all that is under way waits for them: what it waits for and the end of
 * this process's part are one append, and the stack then ends as in a crash (rule: Approval).
 */
async function waitOutside({ run, engine }: RunSession): Promise<void> {
  const { gate, recorder, acknowledgements, fold } = run;
  // Their work belongs to what the run has done.
  if (acknowledgements.waiting.length > 0) await recorder.flush();
  if (acknowledgements.underWay.size > 0) {
    await Promise.allSettled(acknowledgements.underWay);
    gate.look();
    return;
  }
  const { waiting } = gate;
  if (waiting.length === 0) return;
  for (const { event, frame } of waiting) record(run, event, engineActor, frame);
  const data = { blockIds: waiting.map(({ id }) => id) };
  record(run, { type: "RunParked", version: 1, data }, engineActor, "0");
  await recorder.flush();
  const { run: open } = fold.view.client;
  recorder.fail(new RunWaits(open === null ? [] : waitingIn(open, timeNow(engine))));
}

type Execution = { readonly stream: RunStream; readonly beginning: RunStart; readonly options: ExecuteOptions };

/** Runs the stack, and records how the run ended. */
async function runToEnd(session: RunSession, { stream, beginning, options }: Execution): Promise<RunResult> {
  const { runId, base, before } = beginning;
  const { closedRun } = options;
  const { run, engine } = session;
  const { fold, recorder } = run;
  try {
    if (before === null) run.emit({ type: "run-start", runId });
    const result = await runStack(stackOf(session, onStepOf(session, options)), base, run.running);
    run.journal.mustBeConsumed();
    await drainAcknowledgements(run);
    const data = { status: statusOf(fold, result), after: result.digest, ...takeTimings(run) };
    record(run, { type: "RunCompleted", version: 1, data }, engineActor, "0");
    const { run: open } = fold.view.client;
    await recorder.flush();
    await cancelUnderWay(open, engine);
    const how = { turn: stream.turnReader(), isNew: true, closedRun, output: engine.output };
    const brought = countBrought(base, result);
    const ended = await resultOf(fold.record, { answered: result, brought, ...how });
    run.emit({ type: "run-end", result: ended });
    return ended;
  } catch (error) {
    if (!(recorder.failure instanceof RunWaits)) throw await failRun(session, error);
    const { waitingFor } = recorder.failure;
    const how = { turn: stream.turnReader(), isNew: true, closedRun, output: engine.output, waitingFor };
    const left = await resultOf(fold.record, { answered: base, brought: 0, ...how });
    run.emit({ type: "run-end", result: left });
    return left;
  }
}

/** Ends this process's part of the run, which goes on once nothing is left of what it waits for. */
async function park(
  session: RunSession,
  { base, before }: RunStart,
  { stream, options }: Pick<Execution, "stream" | "options">,
): Promise<RunResult> {
  const { run, engine } = session;
  const blockIds = [...(before?.doubts?.left ?? [])];
  record(run, { type: "RunParked", version: 1, data: { blockIds } }, engineActor, "0");
  await run.recorder.flush();
  const { run: open } = run.fold.view.client;
  const waitingFor = open === null ? [] : waitingIn(open, timeNow(engine));
  const how = { turn: stream.turnReader(), isNew: true, closedRun: options.closedRun, output: engine.output };
  return resultOf(run.fold.record, { answered: base, brought: 0, ...how, waitingFor });
}

/** The status of a run: whether its request is answered. */
function statusOf({ isWhole, turns }: RunFold, result: Turn): RunStatus {
  const brought = broughtBy(turns.base, result);
  if (!isWhole || endsPaused(result, brought)) return "incomplete";
  return openCalls(brought).length > 0 ? "calls-open" : "completed";
}

/** Finishes the work that waits for answers before the run ends, because the log takes no more of it afterwards. */
async function drainAcknowledgements({ acknowledgements, recorder }: LiveRun): Promise<void> {
  if (acknowledgements.waiting.length > 0) await recorder.flush();
  await Promise.allSettled(acknowledgements.underWay);
}

function recordStart({ run, engine }: RunSession, { base, again = false, options = {} }: RunStart, owner: Owner): void {
  const { provider } = engine;
  const settings = requestSettings(engine, provider.capabilities, []);
  const digest = settingsName(settings, run.names);
  record(run, { type: "SettingsDeclared", version: 2, data: { digest, settings } }, engineActor, "0", run.clock.at);
  const data = {
    epoch: 0,
    owner,
    stack: describeLayers(engine.layers, run.names),
    provider: { name: provider.name, scope: provider.scope, codec: provider.codec.name },
    settingsDigest: digest,
    chain: engine.chain,
    base: base.digest,
    ...recordedPolicies(engine),
    ...(again ? { again: true as const } : {}),
    ...(Object.keys(options).length === 0 ? {} : { options }),
    ...traceIds(run.tracing?.begin(0, run.clock.at, provider)),
  };
  const by = { actor: engineActor, frame: "0", at: run.clock.at, isIdNew: engine.newId === randomId };
  run.recorder.record({ type: "RunStarted", version: 1, data }, by);
}

const traceIds = (trace: TraceIds | null | undefined) => (trace == null ? {} : { trace });

/** The new owner's first event, in one append with its first work. */
function recordResumption(
  { run: { recorder, names, tracing }, engine }: RunSession,
  { epoch, owner }: { readonly epoch: number; readonly owner: Owner },
  doubts: Doubts | null,
): void {
  const stack = describeLayers(engine.layers, names);
  const data = { epoch, owner, stack, ...traceIds(tracing?.begin(epoch, engine.clock())) };
  recorder.record({ type: "RunResumed", version: 1, data }, { actor: { kind: "recovery" }, frame: "0" });
  for (const { event, ...by } of doubts?.events ?? []) recorder.record(event, by);
}

const onStepOf =
  (session: RunSession, options: ExecuteOptions) =>
  (step: Step): void =>
    options.onStep?.({ session, ...step });

/** The layers of a run around the core that asks the model; `onStep` sees every step before it is made. */
function stackOf(session: RunSession, onStep: (step: Step) => void): Stack {
  const core = session.engine.compact.only === true ? summaryCore(session, onStep) : answerCore(session, onStep);
  return {
    run: session.run,
    layers: session.engine.layers,
    core,
    context: session.engine.context,
    contextOf: (layer, around) => contextOf({ session, onStep }, layer, around),
    lastPasses: new Map(),
  };
}

/** Asks the model for the next answer; shortens the Turn before and after it if the policy says so. */
const answerCore =
  (session: RunSession, onStep: (step: Step) => void): Stack["core"] =>
  async (frame, given, scope) => {
    const ask = askOf(session, { frame, scope, onStep });
    const place = { frame, scope, ask, contexts: () => contextLookup(session.run) };
    const outgoing = await compactBefore(session, { ...place, turn: given });
    const step = { frame, outgoing, scope };
    onStep(step);
    const answered = await inferStep(session, step);
    return compactAfter(session, { ...place, turn: outgoing, answered });
  };

/** Asks only for a summary. */
function summaryCore(session: RunSession, onStep: (step: Step) => void): Stack["core"] {
  const summarise = summarisingOnce(session);
  return (frame, turn, scope) => summarise({ frame, turn, scope, ask: askOf(session, { frame, scope, onStep }) });
}

type Asking = Pick<Step, "frame" | "scope"> & { readonly onStep: (step: Step) => void };

const askOf =
  (session: RunSession, { frame, scope, onStep }: Asking): AskModel =>
  (at, asked) =>
    inferAside(session, { frame, at, scope, actor: engineActor }, { asked, onStep });
