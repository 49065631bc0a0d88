import { idOf } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { Turn } from "../../domain/turn.ts";
import type { OpenRun } from "../../projections/client-turn.ts";
import { RunTurns } from "../../projections/run-turns.ts";
import type { ConversationStream } from "../conversation-stream.ts";
import type { EngineOptions } from "../create-engine.ts";
import { describeLayer, LayerError } from "../middleware.ts";
import { ProviderError } from "../provider.ts";
import type { RunPart } from "../stream-part.ts";
import { innerSignal } from "./abort.ts";
import { type Acknowledgement, acknowledge } from "./acknowledgements.ts";
import { closingEntries } from "./close.ts";
import { RunCancelledError, RunFailedError, RunInProgressError } from "./errors.ts";
import { runFrame, type Stack } from "./frames.ts";
import { inferStep } from "./inference.ts";
import { contextOf } from "./layer-context.ts";
import { isDead, thisProcess } from "./owner.ts";
import { Recorder } from "./recorder.ts";
import { type RunResult, resultOf } from "./result.ts";
import { createCounters, engineActor, type RunSession, record, takePasses } from "./session.ts";
import { requestSettings, settingsDigest } from "./settings.ts";

export type RunOptions = {
  readonly signal?: AbortSignal;
  readonly onPart?: (part: RunPart) => void;
};

/** How often a run begins anew because a block was appended before its first event was durable. */
const beginningsMax = 50;

/** Runs of this process that go on: an open run of ours that is not among them was given up by an error of the store. */
const activeRuns = new Set<string>();

/**
 * Runs an engine on a conversation: from the committed Turn to the Turn with the answer, every effect recorded before it
 * begins. A run that a dead owner left open is closed first.
 *
 * @throws {RunInProgressError} while another run is open and its owner lives.
 * @throws {RunFailedError} when the run failed; the conversation is left as MODEL 9 says.
 * @throws {RunCancelledError} when the signal aborted.
 * @throws {RunTakenOverError} when someone else ended the run.
 */
export async function runConversation(
  stream: ConversationStream,
  engine: EngineOptions,
  options: RunOptions = {},
): Promise<RunResult> {
  let closedRun: string | null = null;
  for (let beginning = 1; ; beginning += 1) {
    const view = await stream.refresh();
    const { run, committed } = view.client;
    try {
      if (run !== null) {
        await closeAbandoned(stream, run, engine);
        closedRun = run.id;
        continue;
      }
      if (committed.length === 0) throw new EmptyConversationError(stream.name);
      return await runOnce(stream, engine, committed, { ...options, closedRun });
    } catch (error) {
      if (!(error instanceof ConversationMovedError) || beginning === beginningsMax) throw error;
    }
  }
}

/** Ends an open run whose owner is dead or silent. */
async function closeAbandoned(stream: ConversationStream, run: OpenRun, engine: EngineOptions): Promise<void> {
  const { owner } = run.started;
  const isOurs = owner.processId === thisProcess.processId;
  const silentMs = engine.clock() - Date.parse(stream.lastRunAt ?? run.startedAt);
  const isAbandoned = isOurs ? !activeRuns.has(run.id) : isDead(owner) || silentMs > engine.takeoverAfterMs;
  if (!isAbandoned) throw new RunInProgressError(run.id, owner);
  const message = "its owner ended before it did";
  const how = { type: "RunFailed", kind: "interrupted", message } as const;
  const seen = stream.head?.revision;
  const entries = closingEntries({ runId: run.id, turns: run.turns, how, actor: { kind: "recovery" } });
  await stream.commit(entries, () => {
    // Its owner may have spoken, or someone else closed it: what ends it would no longer follow from what it did.
    if (stream.head?.revision !== seen) throw new ConversationMovedError();
  });
}

async function runOnce(
  stream: ConversationStream,
  engine: EngineOptions,
  base: Turn,
  options: RunOptions & { readonly closedRun: string | null },
): Promise<RunResult> {
  const signal = options.signal ?? new AbortController().signal;
  signal.throwIfAborted();
  const runId = engine.newId("run");
  // What cannot be recorded any more must not go on: calls and tools in flight end when the run is lost.
  const { signal: running, end } = innerSignal(signal);
  const session = openSession({
    ...{ stream, engine, base, runId, signal },
    emit: emitter(engine, options.onPart),
    onFailure: end,
  });
  const stack = stackOf(session);
  activeRuns.add(runId);
  try {
    recordStart(session, base);
    session.emit({ type: "run-start", runId });
    const result = await runFrame(stack, 0, "0", base, { signal: running, instructions: [] });
    const data = { after: result.digest, ...takePasses(session) };
    const event = { type: "RunCompleted", version: 1, data } as const;
    record(session, { type: "EndRun", runId, event }, engineActor, "0");
    await session.recorder.flush();
    const { closedRun } = options;
    const ended = resultOf(session, { answered: result, turn: stream.view.client.committed, closedRun });
    session.emit({ type: "run-end", result: ended });
    return ended;
  } catch (error) {
    throw await failRun(session, error);
  } finally {
    end(new Error("the run has ended"));
    activeRuns.delete(runId);
  }
}

type Opening = {
  readonly stream: ConversationStream;
  readonly engine: EngineOptions;
  readonly base: Turn;
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly emit: (part: RunPart) => void;
  /** Nothing more can be recorded. */
  readonly onFailure: (error: Error) => void;
};

function openSession({ stream, engine, base, runId, signal, emit, onFailure }: Opening): RunSession {
  const acknowledgements: Acknowledgement[] = [];
  let isStarted = false;
  let answers = 0;
  const recorder = new Recorder({
    stream,
    runId,
    guard: (view) => {
      if (!isStarted && view.client.committed !== base) throw new ConversationMovedError();
    },
    onDurable: (events) => {
      isStarted = true;
      for (const { event, frame } of events) {
        if (event.type !== "ResponseReceived") continue;
        acknowledge(acknowledgements, answers, frame ?? "0");
        answers += 1;
      }
    },
    onFailure,
  });
  return {
    runId,
    engine,
    view: () => stream.view,
    turns: new RunTurns(base),
    recorder,
    signal,
    contexts: [],
    responses: [],
    learned: engine.learned,
    invalid: new Map(),
    quarantined: new Set(),
    calls: new Map(),
    passes: [],
    runningTools: new Set(),
    acknowledgements,
    onLate: (call, result, durationMs) => {
      const data = { blockId: idOf(call), result: blockToJson(result), outcome: "ok", durationMs } as const;
      const actor = { kind: "tool", name: call.name ?? call.itemType } as const;
      stream.commit([{ command: { type: "FinishToolLate", data }, actor, runId }]).catch(() => undefined);
    },
    emit,
    ids: createCounters(),
    clock: engine.clock(),
  };
}

function recordStart(session: RunSession, base: Turn): void {
  const { engine, runId } = session;
  const { provider } = engine;
  const settings = requestSettings(engine, provider.capabilities, []);
  const digest = settingsDigest(settings);
  record(session, { type: "DeclareSettings", data: { digest, settings } }, engineActor, "0");
  const data = {
    epoch: 0,
    owner: thisProcess,
    stack: engine.layers.map(describeLayer),
    provider: { name: provider.name, scope: provider.scope, codec: provider.codec.name },
    settingsDigest: digest,
    base: base.digest,
  };
  record(session, { type: "StartRun", runId, data }, engineActor, "0");
}

/** Records how the run ended, unless it cannot be recorded any more; gives the error to throw. */
async function failRun(session: RunSession, error: unknown): Promise<unknown> {
  const { runId, turns, recorder, signal } = session;
  if (recorder.failure !== null) return recorder.failure;
  const how = signal.aborted
    ? ({ type: "RunCancelled", reason: messageOf(signal.reason) } as const)
    : ({ type: "RunFailed", kind: failureKind(error), message: messageOf(error) } as const);
  const entries = closingEntries({ runId, turns, how, actor: engineActor, ...takePasses(session) });
  for (const { command, actor } of entries) recorder.record(command, { actor, frame: "0" });
  try {
    await recorder.flush();
  } catch (failure) {
    return failure;
  }
  return signal.aborted
    ? new RunCancelledError(runId, signal.reason)
    : new RunFailedError(runId, failureKind(error), error);
}

function failureKind(error: unknown): string {
  if (error instanceof ProviderError) return error.kind;
  if (error instanceof LayerError) return error.code;
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "layer-failed";
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function stackOf(session: RunSession): Stack {
  return {
    session,
    layers: session.engine.layers,
    core: (frame, outgoing, scope) => inferStep(session, frame, outgoing, scope),
    contextOf: (layer, around) => contextOf(session, layer, around),
    lastPasses: new Map(),
  };
}

/** Parts go to whoever listens; what a listener throws is not the run's affair (F096). */
function emitter(engine: EngineOptions, onPart: ((part: RunPart) => void) | undefined): (part: RunPart) => void {
  const sinks = onPart === undefined ? engine.sinks : [...engine.sinks, { next: onPart }];
  return (part) => {
    for (const sink of sinks) {
      try {
        // A sink may be an async function: then its failure comes later.
        const taken = sink.next(part);
        if (taken instanceof Promise) taken.catch(() => undefined);
      } catch {
        // Deltas are a courtesy; the log has the facts.
      }
    }
  };
}

/** Someone wrote before the run's first event was durable: nothing happened yet, and it begins anew. */
class ConversationMovedError extends Error {
  override readonly name = "ConversationMovedError";
}

/** There is nothing to ask the model. */
export class EmptyConversationError extends Error {
  override readonly name = "EmptyConversationError";
  readonly code = "empty-conversation";

  constructor(stream: string) {
    super(`${stream} has no blocks; append a message first`);
  }
}
