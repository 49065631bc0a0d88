import { anything, optionsOf } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { BlockNames } from "../domain/block-names.ts";
import { type ConversationEvent, isRunEnd } from "../domain/events/event.ts";
import type { ProposedEvent, RecordedEvent } from "../domain/events/recorded.ts";
import { isAside } from "../domain/frame.ts";
import { conversationStream } from "../domain/ids.ts";
import { engineWith } from "../engine/options/adjusted-engine.ts";
import { withContextOf } from "../engine/options/context-of-run.ts";
import { checkedEngine, type Engine, type EngineOptions } from "../engine/options/engine.ts";
import { policiesOf } from "../engine/options/run-policies.ts";
import { changedSettings, requestSettings, settingsName } from "../engine/planning/request-settings.ts";
import { layerIndex, ReplayDivergedError } from "../engine/ports/divergence.ts";
import { EffectInDoubtError } from "../engine/ports/effect-errors.ts";
import { stackDifference } from "../engine/ports/middleware.ts";
import { firstOtherDigest } from "../engine/recorded/checked-fold.ts";
import type { RunStream } from "../engine/run/open-session.ts";
import { executeRun } from "../engine/run/run.ts";
import { mustHaveContext, toolMissing } from "../engine/session/errors.ts";
import { Journal } from "../engine/session/journal.ts";
import { namesOf } from "../log/codec/stream-names.ts";
import { existingRevision } from "../log/history/revision.ts";
import type { CommitResult } from "../log/writer/conversation-writer.ts";
import { thisProcess } from "../log/writer/owner.ts";
import type { ConversationView } from "../projections/views/conversation-view.ts";
import { newRunRecord, noteRun } from "../projections/views/run-record.ts";
import { differenceAt, type ReplayDifference } from "./difference.ts";
import { erasedSince } from "./erased-runs.ts";
import { historyOf, isCutOff, type RecordedRun } from "./recorded-runs.ts";
import { checkReplay, type RecordedConversation } from "./replay-options.ts";
import { stepComparison } from "./step-comparison.ts";

/** The progress of a re-execution, and the first place where it diverges from the log. */
export type Reexecution = {
  readonly runs: number;
  readonly steps: number;
  /** Runs that were not executed again, because content that they read was erased since. */
  readonly erased: number;
  readonly difference: ReplayDifference | null;
};

export type ReexecuteOptions<Context = unknown> = {
  /** The last revision to check. Default: the conversation's newest. */
  readonly to?: number;
  /** Called for every event, with the number of events so far. */
  readonly onProgress?: (events: number) => void;
  /** The `ctx.context` for layers and tools: the log does not have it. */
  readonly context?: Context;
};

const reexecuteOptions = optionsOf<ReexecuteOptions>({ to: anything, onProgress: anything, context: anything });

/**
 * Executes the layers of every run in a conversation's own stream again, including ended runs, on answers from the log: like a
 * recovery whose next append is compared instead of written. Nothing is sent, run or stored.
 *
 * @throws {TurnlogError} `stack-changed` if a run had another stack.
 * @throws {TurnlogError} `tool-missing` if the engine does not have a tool that a run called.
 * @throws {TurnlogError} `context-missing` if a run was started with a context, and none is given here.
 * @throws {TurnlogError} `revision-not-found` if there is no such revision.
 */
export async function reexecute<Context>(
  conversation: RecordedConversation,
  given: Engine<Context, unknown>,
  options: ReexecuteOptions<Context> = {},
): Promise<Reexecution> {
  checkReplay("reexecute", conversation, options, reexecuteOptions);
  const { log: reader } = conversation;
  const stream = conversationStream(conversation.id);
  const { to: wanted = -1, onProgress } = options;
  const own = checkedEngine("reexecute", given);
  const made = { ...own, context: options.context ?? own.context };
  const to = await existingRevision(reader.store, stream, wanted);
  const names = await namesOf(reader.store, stream);
  const isErased = await erasedSince(reader, stream);
  let [runs, steps, events, erased] = [0, 0, 0, 0];
  for await (const { run, view } of historyOf(reader, stream, to)) {
    events += 1;
    onProgress?.(events);
    if (run === null || run.events[0]?.stream !== stream) continue;
    if (isErased(run)) {
      erased += 1;
      continue;
    }
    mustFit(run, view, made);
    const engine = await withContextOf(made, run.id, { stream, ...view });
    mustHaveContext(run, engine, "replay");
    runs += 1;
    steps += run.events.filter(isStep).length;
    const place = { stream, names, view, engine };
    const difference = startDifference(run, place) ?? (await replayRun(run, place));
    if (difference !== null) return { runs, steps, erased, difference };
  }
  return { runs, steps, erased, difference: null };
}

const isStep = ({ event, frame }: RecordedEvent): boolean =>
  event.type === "InferenceRequested" && event.data.attempt === 0 && !isAside(frame);

/** Throws before anything is executed if the run cannot be compared. */
function mustFit(run: RecordedRun, view: ConversationView, engine: EngineOptions): void {
  const difference = stackDifference(run.started.stack, engine.layers);
  if (difference !== null) {
    const what = `run ${run.id} (revision ${run.startedRevision}) cannot be replayed: ${difference}`;
    throw new TurnlogError(
      "stack-changed",
      `${what}; give the stack that the run had, or use --with to see what another stack does`,
    );
  }
  const here = new Set(engine.tools.map(({ name }) => name));
  const settings = view.server.settings.get(run.started.settingsDigest) ?? {};
  const offered = engine.provider.codec.offeredTools(settings);
  const missing = run.events.flatMap(({ event }) => {
    const name = event.type === "ToolStarted" ? event.data.name : null;
    return name !== null && !here.has(name) && offered.includes(name) ? [name] : [];
  });
  if (missing.length > 0) throw toolMissing(run.id, [...new Set(missing)], "called");
}

/** If the settings differ from the run's from the start, reports that without naming a layer. */
function startDifference(run: RecordedRun, { view, names, engine }: ReplayPlace): ReplayDifference | null {
  const { options = {} } = run.started;
  const settings = requestSettings(
    { ...engineWith(engine, options), chain: run.started.chain },
    engine.provider.capabilities,
    [],
  );
  const found = firstOtherDigest(run.started.settingsDigest, settingsName(settings, names), "settingsDigest");
  const started = run.events.find(({ event }) => event.type === "RunStarted");
  if (found === null || started === undefined) return null;
  const changed = changedSettings(view.server.settings.get(run.started.settingsDigest) ?? {}, settings);
  const which = changed.length === 0 ? "their order" : changed.join(", ");
  return differenceAt(started, found, `the engine's settings differ from those that the run began with: ${which}`);
}

type ReplayPlace = {
  readonly stream: string;
  readonly names: BlockNames;
  readonly view: ConversationView;
  readonly engine: EngineOptions;
};

async function replayRun(
  run: RecordedRun,
  { stream, names, view, engine }: ReplayPlace,
): Promise<ReplayDifference | null> {
  const { id: runId, started, turns, events, startedRevision: firstRevision, startedAt } = run;
  const last = events.at(-1);
  const replayOptions: EngineOptions = {
    ...engineWith(engine, started.options ?? {}),
    ...policiesOf(started),
    output: null,
    clock: () => Math.max(startedAt, Date.parse(last?.at ?? "")),
    newId: (prefix) => `${prefix}_${"0".repeat(16)}`,
    learned: new Map(),
    observers: [],
    tracing: null,
  };
  const journal = new Journal(
    turns,
    engine.layers.map(({ name }) => name),
  );
  const record = newRunRecord(runId);
  for (const recorded of events) {
    journal.log.note(recorded);
    noteRun(record, recorded);
  }
  const before = { firstRevision, journal, record, doubts: null };
  const beginning = { runId, base: turns.base, startedAt, epoch: 0, before };
  const comparison = stepComparison(run);
  const place = { stream, layers: engine.layers };
  try {
    await executeRun(readOnlyStream({ stream, names, view }), replayOptions, beginning, {
      closedRun: null,
      onStep: comparison.look,
    });
  } catch (error) {
    if (comparison.difference !== null) return comparison.difference;
    if (error instanceof ReplayDivergedError) return divergence(error, place);
    if (error instanceof EffectInDoubtError) return endDifference(run, [], place);
    if (error instanceof WouldWriteError) return endDifference(run, error.entries, place);
    throw error;
  }
  throw new Error(`the re-execution of ${runId} did not end`);
}

/** The code would write next, but a replay writes nothing. */
class WouldWriteError extends Error {
  override readonly name = "WouldWriteError";
  readonly entries: readonly ProposedEvent[];

  constructor(entries: readonly ProposedEvent[]) {
    super("a replay writes nothing");
    this.entries = entries;
  }
}

const readOnlyStream = ({ stream, names, view }: Omit<ReplayPlace, "engine">): RunStream => ({
  name: stream,
  names: () => names,
  view,
  owner: () => Promise.resolve(thisProcess()),
  lastAt: null,
  lastRunRevision: null,
  // The recording has no event for resuming the run, but an acknowledgement that was never due writes one first.
  commit: async (entries): Promise<CommitResult> => {
    if (entries.some(({ event }) => event.type !== "RunResumed")) throw new WouldWriteError(entries);
    return { status: "committed", events: [] };
  },
  dropProposed: () => Promise.resolve(),
  // Everything was already read.
  turnReader: () => () => Promise.resolve(view.client.committed),
  readAll: () => Promise.resolve(),
});

type Stack = { readonly stream: string; readonly layers: EngineOptions["layers"] };

function divergence(error: ReplayDivergedError, { stream }: Stack): ReplayDifference {
  const { frame, revision, field, layer, message } = error;
  return { stream, revision, frame, layer, field, recorded: null, replayed: null, message };
}

/** Compares the result of the re-execution with the end in the log. */
function endDifference(run: RecordedRun, entries: readonly ProposedEvent[], place: Stack): ReplayDifference | null {
  const { end } = run;
  if (end === null || isCutOff(run)) return null;
  const news = entries.find(({ event }) => newsWords(event) !== null);
  if (news !== undefined) return newsDifference(news, end, place);
  const ended = entries.map(({ event }) => event).findLast(isRunEnd);
  const found =
    firstOtherDigest(end.event.type, ended?.type ?? null, "type") ??
    firstOtherDigest(comparable(end.event), comparable(ended), "end");
  return found === null ? null : { ...differenceAt(end, { ...found, field: found.field.replace(/^end\./, "") }) };
}

function comparable(end: ConversationEvent | undefined) {
  if (end?.type === "RunFailed") {
    const { kind, message, after } = end.data;
    return { kind, message, after };
  }
  return end?.type === "RunCompleted" ? { after: end.data.after } : {};
}

function newsDifference(
  { event, actor, frame = "0" }: ProposedEvent,
  end: RecordedEvent,
  { stream, layers }: Stack,
): ReplayDifference {
  const words = newsWords(event) ?? event.type;
  const isEdit = event.type === "TurnEdited";
  const layer = actor.kind === "middleware" ? actor.name : (layers[layerIndex(frame, null)]?.name ?? null);
  const message = isEdit ? `${words}, where the log has no edit` : `${words}, and the log has no answer`;
  const field = isEdit ? "after" : "answer";
  return { stream, revision: end.revision, frame, layer, field, recorded: null, replayed: null, message };
}

/** What happened in an event that the log does not have, in words; null if it follows from what the log has. */
function newsWords(event: ConversationEvent): string | null {
  switch (event.type) {
    case "TurnEdited":
      return "a Turn was changed";
    case "InferenceRequested":
      return "the model was asked once more";
    case "ToolStarted":
      return `the tool ${event.data.name} was called`;
    case "EffectStarted":
      return `the effect ${event.data.name} was begun`;
    case "ResponseStarted":
    case "ResponseReceived":
    case "InferenceFailed":
      return "an answer was waited for";
    default:
      return null;
  }
}
