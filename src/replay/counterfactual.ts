import { nearestName } from "../base/nearest-name.ts";
import { allOf, anything, optionsOf } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { TurnlogStore } from "../conversation/turnlog-store.ts";
import { importOf } from "../domain/events/blocks-in.ts";
import { isHole, type ProposedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { Codecs } from "../engine/planning/recorded-request.ts";
import { interceptedBy } from "../engine/run/run-options.ts";
import type { Interceptor } from "../engine/session/breakpoint.ts";
import { mustHaveContext } from "../engine/session/errors.ts";
import { engineWith } from "../engine/stack/adjusted-engine.ts";
import { type AnyEngine, checkedEngine, type EngineOptions, engineOf } from "../engine/stack/engine.ts";
import { policiesOf } from "../engine/stack/run-policies.ts";
import { existingRevision } from "../log/history/revision.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import { createMemoryStore } from "../stores/memory/store.ts";
import { type CounterfactualStep, compareSteps } from "./compared-steps.ts";
import { RecordedAnswers } from "./recorded-answers.ts";
import { atRecordedEndpoints, recordedRoutes } from "./recorded-endpoints.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { historyOf, isCutOff, type RecordedRun } from "./recorded-runs.ts";
import { checkReplay, type RecordedConversation } from "./replay-options.ts";

/** What to leave out of what was, or how far to go. */
export type WhatIfOptions = {
  /** What recorded answers are read with, by name, where it is not what the conversation's store has. */
  readonly codecs?: Codecs;
  readonly to?: number;
  /** What layers and tools are given as `ctx.context`: no log has it. */
  readonly context?: unknown;
  /** The layer of the engine's stack that is to be left out. */
  readonly without?: string | null;
  /** Keeps the body that each step would have sent, as `otherwise.bodyText`; they may be long, so only who asks has them. */
  readonly bodies?: boolean;
  /** Told of every event of the recording that was passed: how many there are by then. */
  readonly onProgress?: (events: number) => void;
};

const whatIfOptions = optionsOf<WhatIfOptions>(
  allOf(anything, "codecs", "to", "context", "without", "bodies", "onProgress"),
);

/** Where the recording does not answer any more. */
export type UnansweredStep = { readonly runId: string; readonly frame: string; readonly what: string };

/** What another stack would have made of a conversation, as far as its log tells. */
export type Counterfactual = {
  /** Every request of either, in order. */
  readonly steps: readonly CounterfactualStep[];
  /** From here on nobody knows; null where the recording answered to the end. */
  readonly unknown: UnansweredStep | null;
  /** The Turn that there would be. */
  readonly turn: Turn;
};

function layerNotFound(name: string, layers: EngineOptions["layers"]): TurnlogError {
  const names = layers.map((layer) => layer.name);
  const near = nearestName(name, names);
  const instead = near === null ? `it has ${names.join(", ") || "none"}` : `did you mean '${near}'?`;
  return new TurnlogError("layer-not-found", `there is no layer ${name} in the stack: ${instead}`);
}

/**
 * What would have been with another stack, or without one layer of it: the runs are made anew, in a store in memory, and whatever they
 * ask outside is answered from the log. They plan, edit and record as every run does, on the ids, the numbers and the time that they had
 * then, so that what is shown is what would have happened. Nobody is asked, no tool runs, and the conversation stays as it is.
 *
 *     const { steps } = await whatIf(conversation, engine, { without: "shorten-results" });
 *     console.log(steps.map(({ recorded, otherwise }) => [recorded?.bytes, otherwise?.bytes]));
 *
 * @throws {TurnlogError} `layer-not-found` when there is no layer of that name.
 * @throws {TurnlogError} `revision-not-found` when there is no such revision.
 * @throws {TypeError} for what is no conversation or engine, and for a misspelt option.
 */
export function whatIf(
  conversation: RecordedConversation,
  engine: AnyEngine,
  options: WhatIfOptions = {},
): Promise<Counterfactual> {
  return playOtherwise(conversation, engine, options, createMemoryStore);
}

/** The same in a store of the caller's, which is closed when the answer is there. */
export async function playOtherwise(
  source: RecordedConversation,
  made: AnyEngine,
  options: WhatIfOptions,
  createScratch: () => EventStore,
): Promise<Counterfactual> {
  checkReplay("whatIf", source, options, whatIfOptions);
  const { id, log: reader } = source;
  const own = checkedEngine("whatIf", made);
  // What the model was told of runs that broke off is in the recording.
  const engine = { ...own, context: options.context ?? own.context, output: null, interruptionNote: null };
  const { codecs = source.codecs, to: wanted = -1, without = null, bodies = false, onProgress } = options;
  const stream = conversationStream(id);
  const to = await existingRevision(reader.store, stream, wanted);
  const layers = without === null ? engine.layers : withoutLayer(engine.layers, without);
  const clock = { now: 0 };
  await using scratch = new TurnlogStore(createScratch(), { clock: () => clock.now, codecs: [...codecs.values()] });
  const routes = engine.routing === null ? new Map<string, string>() : await recordedRoutes(reader, stream, to);
  const conversation = scratch.conversation(id);
  const world: World = { engine: { ...engine, layers }, codecs, bodies, clock, routes, conversation };
  const steps: CounterfactualStep[] = [];
  let committed = "";
  let events = 0;
  const pending: (() => Promise<unknown>)[] = [];
  for await (const { recorded, run, view } of historyOf(reader, stream, to)) {
    events += 1;
    onProgress?.(events);
    // What came while a run was open came after it had begun: the other run is told so when it comes to it.
    if (run !== null) clock.now = Math.max(clock.now, run.startedAt);
    else if (view.client.run === null) clock.now = Math.max(clock.now, Date.parse(recorded.at));
    const { event, actor } = recorded;
    if (event.type === "BlockAppended" || event.type === "TurnReverted" || event.type === "TurnCompacted") {
      if (event.type !== "BlockAppended" && (await world.conversation.turn()).digest !== committed) {
        const unknown = {
          runId: "",
          frame: "0",
          what: `what reverting to an earlier Turn leaves (revision ${recorded.revision})`,
        };
        return { steps, unknown, turn: await world.conversation.turn() };
      }
      pending.push(() => world.conversation.commit([{ event, actor }]));
    }
    if (run !== null) {
      const played = await playRun(world, run, view);
      steps.push(...played.steps);
      if (played.unknown !== null) return { steps, unknown: played.unknown, turn: await world.conversation.turn() };
      clock.now = Math.max(clock.now, Date.parse(recorded.at));
    }
    // What was said while a run was open stands after it.
    if (view.client.run === null || run !== null) for (const say of pending.splice(0)) await say();
    committed = view.client.committed.digest;
  }
  return { steps, unknown: null, turn: await world.conversation.turn() };
}

/**
 * Keeps a Turn that might have been as a conversation of its own: its blocks, by import. No server holds what it says, so
 * nothing is continued from; the first request of it sends everything.
 *
 * @throws {TurnlogError} `conversation-exists` when `conversation` came from somewhere else.
 */
export async function saveCounterfactual(
  conversation: { readonly commit: (entries: readonly ProposedEvent[]) => Promise<unknown> },
  turn: Turn,
  source: string,
): Promise<void> {
  await conversation.commit(importOf(source, turn.blocks));
}

type World = {
  readonly engine: EngineOptions;
  readonly codecs: Codecs;
  readonly bodies: boolean;
  readonly clock: { now: number };
  readonly routes: ReadonlyMap<string, string>;
  readonly conversation: Conversation;
};

type Played = Pick<Counterfactual, "steps" | "unknown">;

async function playRun(world: World, run: RecordedRun, view: ConversationView): Promise<Played> {
  const { conversation, codecs, clock } = world;
  mustHaveContext(run, world.engine, "replay");
  const answers = new RecordedAnswers(run.events, { codecs, settings: view.server.settings });
  const order = new RecordedOrder();
  const bodies = new Map<string, string>();
  const end = new AbortController();
  const unknowns: UnansweredStep[] = [];
  const interceptor: Interceptor = async (stop) => {
    if (stop.kind === "append") order.noteWrite(stop.phase);
    if (stop.phase === "after" || stop.kind === "append") return null;
    if (stop.kind === "inference" && world.bodies) bodies.set(stop.request.requestDigest, stop.bodyText);
    const answer = answers.answer(stop);
    if (answer !== null) {
      const { came, give } = answer;
      if (came !== null) {
        await order.turnOf(came);
        clock.now = Math.max(clock.now, came.at);
      }
      return give();
    }
    const what = { inference: "what the model answers", tool: "what the tool gives", effect: "what the effect gives" };
    // Where the recorded run was cut off, this one is: nobody waits for more.
    if (!isCutOff(run) || answers.unused.length > 0)
      unknowns.push({ runId: run.id, frame: stop.frame, what: what[stop.kind] });
    const reason = new Error("the recording ends here");
    end.abort(reason);
    throw reason;
  };
  const options = otherEngine(world, run);
  await conversation
    .run(engineOf(options), interceptedBy(interceptor, { signal: end.signal, again: true } as const))
    .catch((error: unknown) => {
      const isEnd =
        error instanceof Error && "code" in error && ["run-failed", "run-cancelled"].includes(String(error.code));
      if (!isEnd) throw error;
    });
  const events = [];
  for await (const recorded of conversation.events())
    if (recorded.runId === run.id && !isHole(recorded)) events.push(recorded);
  const steps = compareSteps(run, events, { answers, bodies });
  const [unknown = null] = unknowns;
  // What it was about to ask when it was cut off is no step of either.
  const isCut = end.signal.aborted && unknown === null;
  return { steps: isCut ? steps.filter(({ recorded }) => recorded !== null) : steps, unknown };
}

/** The other stack at the recorded endpoint, on the recorded time. */
function otherEngine({ engine, clock, routes }: World, run: RecordedRun): EngineOptions {
  let inferences = 0;
  const asked = engineWith(engine, run.started.options ?? {});
  return {
    ...asked,
    ...atRecordedEndpoints(asked, run, routes),
    ...policiesOf(run.started),
    // It asks nobody.
    budget: null,
    // The recording has one answer for a step: what came of its last attempt.
    retry: { ...engine.retry, maxRetries: 0, unknownOutcome: 0 },
    clock: () => clock.now,
    newId(prefix) {
      if (prefix === "run") return run.id;
      inferences += 1;
      return `inf_${run.id.slice(4, 20)}${String(inferences).padStart(8, "0")}`;
    },
    learned: new Map(),
    observers: [],
    onInDoubt: null,
  };
}

/**
 * The stack with a layer in the place of one that hands on what it gets: frames keep their numbers, so that the layers within
 * draw the ids and numbers that they drew, and get the answers that they got.
 */
function withoutLayer(layers: EngineOptions["layers"], name: string): EngineOptions["layers"] {
  const index = layers.findIndex((layer) => layer.name === name);
  if (index === -1) throw layerNotFound(name, layers);
  return layers.map((layer, place) => (place === index ? { ...layer, handle: (next) => (turn) => next(turn) } : layer));
}
