import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { RecordedRunOptions } from "../../domain/events/run-events.ts";
import { isAside } from "../../domain/frame.ts";
import { freezeAll } from "../../domain/freeze-all.ts";
import { conversationIdSchema, conversationOfStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { thisProcess } from "../../log/writer/owner.ts";
import { RunTurns } from "../../projections/client-turn/run-turns.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { newRunRecord, type RunRecord } from "../../projections/views/run-record.ts";
import type { Doubts } from "../effects/in-doubt.ts";
import { acknowledge } from "../inference/acknowledgements.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { RunPart } from "../options/run-part.ts";
import { learnedCapabilities } from "../planning/contexts.ts";
import type { Interceptor } from "../session/breakpoint.ts";
import { ConversationMovedError, RunCancelledError, runTakenOver } from "../session/errors.ts";
import { Gate } from "../session/gate.ts";
import { Journal } from "../session/journal.ts";
import { LayerWatch, ThrownErrors } from "../session/layer-watch.ts";
import { Recorder } from "../session/recorder.ts";
import { RunClock } from "../session/run-clock.ts";
import { RunFold } from "../session/run-fold.ts";
import { createCounters, type LiveRun, type RunSession } from "../session/session.ts";
import { RunTracing } from "../tracing/run-tracing.ts";
import { RunSpans } from "../tracing/spans/run-spans.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { type Sink, sinkOf } from "./sink.ts";

/** The parts of its conversation's writer that a run needs: the folds at the head, and the way to append. */
export type RunStream = Pick<
  ConversationWriter,
  | "name"
  | "names"
  | "view"
  | "owner"
  | "lastAt"
  | "lastRunRevision"
  | "commit"
  | "dropProposed"
  | "turnReader"
  | "readAll"
>;

/** A run that begins, or that is resumed. */
export type RunStart = {
  readonly runId: string;
  /** The Turn that the outermost frame gets. */
  readonly base: Turn;
  /** When the run began, in milliseconds. */
  readonly startedAt: number;
  readonly epoch: number;
  /** The past of a run that was cut off; null for a new run. */
  readonly before: {
    readonly firstRevision: number;
    readonly journal: Journal;
    /** The record of its events. The events themselves are not kept: a run that was refused often would hold all of them. */
    readonly record: RunRecord;
    /** The spans of its events so far; absent if it is not traced. */
    readonly spans?: RunSpans;
    /**
     * The decisions about effects in doubt. While some are left, the run is parked and not executed. Null for a replay, which decides
     * nothing.
     */
    readonly doubts: Doubts | null;
    /** Another stack cannot execute it again: only its decided calls are answered. */
    readonly isAnsweredOnly?: true;
  } | null;
  /** The caller wanted another answer although no message was unanswered. */
  readonly again?: boolean;
  /** The caller's options that differ from the engine's, for a new run. */
  readonly options?: RecordedRunOptions;
};

/** Whether the stack is executed: not while the run waits for somebody outside of it. */
export const isExecuted = ({ before }: RunStart): boolean =>
  before === null || (before.isAnsweredOnly !== true && (before.doubts?.left.size ?? 0) === 0);

type Opening = {
  readonly stream: RunStream;
  readonly engine: EngineOptions;
  readonly beginning: RunStart;
  readonly names: BlockNames;
  readonly signal: AbortSignal;
  readonly running: AbortSignal;
  readonly interceptor: Interceptor | null;
  readonly onPart: ((part: RunPart) => unknown) | undefined;
  /** Called when nothing more can be recorded. */
  readonly onFailure: (error: Error) => void;
};

/** Creates everything that the parts of one run share, before its first event. The session asks the engine's own provider. */
export function openSession(opening: Opening): RunSession {
  const { stream, engine, beginning, names, signal, running, interceptor, onFailure } = opening;
  const { runId, base, startedAt, before } = beginning;
  const turns = new RunTurns(base);
  const journal = before?.journal ?? new Journal();
  const watch = new LayerWatch(engine.layerTimeoutMs, engine.onLayerAtWork);
  journal.watchedBy({ ...engine, watch, signal: running, onDiverged: (error) => recorder.fail(error) });
  const clock = new RunClock(startedAt, () => timeAfter(stream, engine.clock()));
  const fold = new RunFold({ stream, turns, record: before?.record ?? newRunRecord(runId), clock });
  let isOurs = false;
  const tracing = tracingIn(engine, { stream, runId, turns, spans: before?.spans });
  const conversationId = conversationIdSchema.parse(conversationOfStream(stream.name));
  const recorder = new Recorder({
    ...{ stream, runId, interceptor, onFailure },
    // A run that is not executed has the Turns of its log, and waits for no re-execution.
    turns: isExecuted(beginning) ? turns : null,
    onRecord: (proposed, made) => fold.apply(proposed, made),
    barrier: async () => (isExecuted(beginning) ? journal.consumed() : undefined),
    guard: () => mustBeOurs(stream, beginning, isOurs),
    onDurable: (events) => {
      isOurs = true;
      fold.applyDurable(events);
      acknowledge(session);
    },
    onAppended: (events) => tracing?.take(events),
  });
  // A re-execution that is aborted meets no more of the log: that is not a divergence, and the run stays as it was found.
  running.addEventListener("abort", () => {
    if (signal.aborted && journal.isReplaying) recorder.fail(new RunCancelledError(runId, signal.reason));
  });
  const run: LiveRun = {
    id: runId,
    ...{ conversationId, stream: stream.name, signal, running },
    ...{ fold, recorder, names, journal, interceptor, clock },
    firstRevision: before?.firstRevision ?? null,
    layers: { timings: [], thrown: new ThrownErrors(), watch },
    calls: { running: new Set(), underWay: new Set(), onLate: lateAnswers(stream, runId, recorder) },
    gate: new Gate(),
    isReplay: before !== null && before.doubts === null,
    acknowledgements: { waiting: [], underWay: new Set() },
    routing: { sessions: new Map(), steps: new Map() },
    ids: createCounters(),
    ...partTeller(opening, { conversationId, turns, journal }),
    tracing,
  };
  const session: RunSession = { run, engine, route: null, transport: transportNow(engine, stream.view) };
  run.routing.sessions.set(null, session);
  return session;
}

type TracedPlace = { readonly stream: Pick<RunStream, "name">; readonly runId: string };

function tracingIn(
  engine: EngineOptions,
  { turns, spans, ...place }: TracedPlace & { readonly turns: RunTurns; readonly spans: RunSpans | undefined },
): RunTracing | null {
  const { tracing, clock: now } = engine;
  if (tracing === null) return null;
  const outgoing = (frame: string): readonly Block[] => turns.given(frame).blocks;
  return new RunTracing({ tracing, spans: spans ?? spansOf(tracing, { ...place, ...engine }), outgoing, now });
}

/** The fold of the spans of a run, before its first event. */
export function spansOf(
  tracing: Tracing,
  { stream, runId, context }: TracedPlace & Pick<EngineOptions, "context">,
): RunSpans {
  const conversationId = conversationOfStream(stream.name) ?? stream.name;
  return new RunSpans({ conversationId, runId }, tracing.spansOf({ conversationId, runId, context }));
}

/** Records the result of a tool that ended after the run was aborted. */
const lateAnswers =
  (stream: RunStream, runId: string, recorder: Recorder): LiveRun["calls"]["onLate"] =>
  (call, result, { frame, ...told }) => {
    const data = { blockId: idOf(call), result: blockToJson(result), ...told };
    const actor: Actor = { kind: "tool", name: call.name ?? call.type };
    const finished = { type: "ToolFinished", version: 1 } as const;
    // A parked run continues later with the results that its tools still return.
    if (recorder.isParked) recorder.record({ ...finished, data }, { actor, frame });
    else
      stream.commit([{ event: { ...finished, data: { ...data, late: true } }, actor, runId }]).catch(() => undefined);
  };

/** A transport is a capability of the endpoint, under its name: one that the endpoint was seen to lack is not tried again. */
function transportNow({ provider, learned }: EngineOptions, view: ConversationView): string {
  const { transport, fallbackTransport = transport } = provider;
  return learnedCapabilities(provider, view, learned)[transport] === false ? fallbackTransport : transport;
}

/** The time of the clock, but not before the stream's newest event; in milliseconds. */
export const timeAfter = ({ lastAt }: Pick<RunStream, "lastAt">, now: number): number =>
  lastAt === null ? now : Math.max(now, Date.parse(lastAt));

/** Checked before every append: the run still begins from the current Turn, or still belongs to this owner. */
function mustBeOurs(stream: RunStream, { runId, base, startedAt, epoch, before }: RunStart, isOurs: boolean): void {
  const { committed, run } = stream.view.client;
  // Also before everything is durable: a first append that is too big for one is written in parts.
  const isHere = isOurs || run?.owner?.processId === thisProcess().processId;
  if (isHere && run?.id === runId && run.epoch === epoch) return;
  if (isOurs) throw runTakenOver(runId);
  // An owner that seemed dead has continued: the events read of its run are no longer complete.
  if (before !== null && stream.lastRunRevision !== before.journal.log.lastRevision) throw new ConversationMovedError();
  // Layers see when the run began, so it must not be recorded as later.
  const isLate = stream.lastAt !== null && Date.parse(stream.lastAt) > startedAt;
  if (before === null && (committed !== base || isLate)) throw new ConversationMovedError();
}

/**
 * Passes parts to the observers. While the log answers there is nothing new to show; the
 * first new part comes after the current state of the run.
 */
function partTeller(
  { engine, onPart, beginning: { runId, before } }: Pick<Opening, "engine" | "onPart" | "beginning">,
  { conversationId, turns, journal }: Pick<LiveRun, "conversationId" | "journal"> & Pick<LiveRun["fold"], "turns">,
): Pick<LiveRun, "emit" | "isObserved"> {
  const sinks: readonly Pick<Sink, "take">[] = [
    ...new Set(engine.observers.map(sinkOf)),
    // The reader of a stream has a buffer of its own.
    ...(onPart === undefined ? [] : [{ take: onPart }]),
  ];
  if (sinks.length === 0) return { emit: () => undefined, isObserved: false };
  let sequence = 0;
  const tell = (part: RunPart): void => {
    const place = Object.freeze({ conversationId, runId, sequence });
    sequence += 1;
    freezeAll(part);
    for (const sink of sinks) sink.take(part, place);
  };
  let isTold = before === null;
  let isOver = false;
  /** Decisions that are met before all of the log is. */
  const early: RunPart[] = [];
  // Only decided calls are answered then: nothing of the log is met again.
  const isReplaying = (): boolean => before?.isAnsweredOnly !== true && journal.isReplaying;
  const emit = (part: RunPart): void => {
    // Requests of layers beside the conversation are not part of the answer.
    if (isOver || ("frame" in part && isAside(part.frame))) return;
    isOver = isLast(part);
    if (isReplaying() && part.type !== "run-failed") {
      if (isDecision(part)) early.push(part);
      return;
    }
    if (!isTold && !isReplaying()) {
      isTold = true;
      tell({ type: "resumed", runId, turn: turns.working("frame" in part ? part.frame : "0") });
    }
    for (const met of early.splice(0)) tell(met);
    tell(part);
  };
  return { emit, isObserved: true };
}

/** A tool may go on after its run has ended. */
const isLast = ({ type }: RunPart): boolean => type === "run-end" || type === "run-failed";

/** What people are asked and decide is new, whatever the log still answers. */
const isDecision = ({ type }: RunPart): boolean => type === "approval-requested" || type === "approval-decided";
