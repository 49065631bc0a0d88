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
import { namesOf, settle } from "../log/codec/stream-names.ts";
import { existingRevision } from "../log/history/revision.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import { createMemoryStore } from "../stores/memory/store.ts";
import { type CounterfactualStep, compareSteps } from "./compared-steps.ts";
import { erasedSince } from "./erased-runs.ts";
import { RecordedAnswers } from "./recorded-answers.ts";
import { atRecordedEndpoints, recordedRoutes } from "./recorded-endpoints.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { historyOf, isCutOff, type RecordedRun } from "./recorded-runs.ts";
import { checkReplay, type RecordedConversation } from "./replay-options.ts";

/** What to leave out, and how far to go. */
export type WhatIfOptions = {
  /** The codecs that read recorded answers, by name. Default: those of the conversation's store. */
  readonly codecs?: Codecs;
  readonly to?: number;
  /** The `ctx.context` for layers and tools: the log does not have it. */
  readonly context?: unknown;
  /** The layer of the engine's stack to leave out. */
  readonly without?: string | null;
  /** Keeps the body that each step would have sent, as `otherwise.bodyText`. Off by default, because they may be long. */
  readonly bodies?: boolean;
  /** Called for every event of the recording, with the number of events so far. */
  readonly onProgress?: (events: number) => void;
};

const whatIfOptions = optionsOf<WhatIfOptions>(
  allOf(anything, "codecs", "to", "context", "without", "bodies", "onProgress"),
);

/** The first step that the recording cannot answer. */
export type UnansweredStep = { readonly runId: string; readonly frame: string; readonly what: string };

/** What another stack would have done with a conversation, as far as its log can answer. */
export type Counterfactual = {
  /** Every request of either stack, in order. */
  readonly steps: readonly CounterfactualStep[];
  /** The result is unknown from this step on; null if the recording answered everything. */
  readonly unknown: UnansweredStep | null;
  /** The resulting Turn. */
  readonly turn: Turn;
};

function layerNotFound(name: string, layers: EngineOptions["layers"]): TurnlogError {
  const names = layers.map((layer) => layer.name);
  const near = nearestName(name, names);
  const instead = near === null ? `it has ${names.join(", ") || "none"}` : `did you mean '${near}'?`;
  return new TurnlogError("layer-not-found", `there is no layer ${name} in the stack: ${instead}`);
}

/**
 * What would have happened with another stack, or without one layer of it. The runs are made again, in a memory store, with answers
 * from the log. They plan, edit and record as every run does, with the recorded ids, numbers and times, so that the result is what
 * would have happened. No provider is asked, no tool runs, and the conversation does not change.
 *
 *     const { steps } = await whatIf(conversation, engine, { without: "shorten-results" });
 *     console.log(steps.map(({ recorded, otherwise }) => [recorded?.bytes, otherwise?.bytes]));
 *
 * @throws {TurnlogError} `layer-not-found` if there is no layer of that name.
 * @throws {TurnlogError} `revision-not-found` if there is no such revision.
 * @throws {TypeError} if the conversation or the engine is not one, or an option is misspelt.
 */
export function whatIf(
  conversation: RecordedConversation,
  engine: AnyEngine,
  options: WhatIfOptions = {},
): Promise<Counterfactual> {
  return playOtherwise(conversation, engine, options, createMemoryStore);
}

/** The same in a store that the caller creates; it is closed when the result is ready. */
export async function playOtherwise(
  source: RecordedConversation,
  made: AnyEngine,
  options: WhatIfOptions,
  createScratch: () => EventStore,
): Promise<Counterfactual> {
  checkReplay("whatIf", source, options, whatIfOptions);
  const { id, log: reader } = source;
  const own = checkedEngine("whatIf", made);
  // Notes to the model about interrupted runs are already in the recording.
  const engine = { ...own, context: options.context ?? own.context, output: null, interruptionNote: null };
  const { codecs = source.codecs, to: wanted = -1, without = null, bodies = false, onProgress } = options;
  const stream = conversationStream(id);
  const to = await existingRevision(reader.store, stream, wanted);
  const layers = without === null ? engine.layers : withoutLayer(engine.layers, without);
  const clock = { now: 0 };
  await using scratch = new TurnlogStore(createScratch(), { clock: () => clock.now, codecs: [...codecs.values()] });
  const routes = engine.routing === null ? new Map<string, string>() : await recordedRoutes(reader, stream, to);
  // Digests of the two are compared.
  settle(scratch.log.store, stream, await namesOf(reader.store, stream));
  const conversation = scratch.conversation(id);
  const world: World = { engine: { ...engine, layers }, codecs, bodies, clock, routes, conversation };
  const isErased = await erasedSince(reader, stream);
  const steps: CounterfactualStep[] = [];
  let committed = "";
  let events = 0;
  const pending: (() => Promise<unknown>)[] = [];
  for await (const { recorded, run, view } of historyOf(reader, stream, to)) {
    events += 1;
    onProgress?.(events);
    // Blocks appended during a run came after it began, so the time of the other run advances only when it reaches them.
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
    if (run !== null && isErased(run)) {
      const unknown = { runId: run.id, frame: "0", what: "what it read, because that was erased since" };
      return { steps, unknown, turn: await world.conversation.turn() };
    }
    if (run !== null) {
      const played = await playRun(world, run, view);
      steps.push(...played.steps);
      if (played.unknown !== null) return { steps, unknown: played.unknown, turn: await world.conversation.turn() };
      clock.now = Math.max(clock.now, Date.parse(recorded.at));
    }
    // Blocks appended during a run come after it.
    if (view.client.run === null || run !== null) for (const say of pending.splice(0)) await say();
    committed = view.client.committed.digest;
  }
  return { steps, unknown: null, turn: await world.conversation.turn() };
}

/**
 * Saves a counterfactual Turn as a new conversation, by importing its blocks. No server holds its content, so its first request
 * continues from nothing and sends everything.
 *
 * @throws {TurnlogError} `conversation-exists` if `conversation` has another origin.
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
    // If the recorded run was cut off here, so is this one, and nothing is missing.
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
  // The request that it was about to send when it was cut off is not a step of either stack.
  const isCut = end.signal.aborted && unknown === null;
  return { steps: isCut ? steps.filter(({ recorded }) => recorded !== null) : steps, unknown };
}

/** The other stack at the recorded endpoint, with the recorded times. */
function otherEngine({ engine, clock, routes }: World, run: RecordedRun): EngineOptions {
  let inferences = 0;
  const asked = engineWith(engine, run.started.options ?? {});
  return {
    ...asked,
    ...atRecordedEndpoints(asked, run, routes),
    ...policiesOf(run.started),
    // Nothing is spent.
    budget: null,
    // The recording has one answer for a step, from its last attempt.
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
    // Nobody is asked: what people decided is in the recorded results.
    ...{ approvals: null, onApproval: null },
    tools: asked.tools.map((tool) => ({ ...tool, mayNeedApproval: false, isExternal: false })),
  };
}

/**
 * The stack with a layer replaced by one that passes everything on. Frames keep their numbers, so that the layers inside
 * generate the same ids and numbers as before, and get the same answers.
 */
function withoutLayer(layers: EngineOptions["layers"], name: string): EngineOptions["layers"] {
  const index = layers.findIndex((layer) => layer.name === name);
  if (index === -1) throw layerNotFound(name, layers);
  return layers.map((layer, place) => (place === index ? { ...layer, handle: (next) => (turn) => next(turn) } : layer));
}
