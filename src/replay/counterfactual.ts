import { allOf, anything, optionsOf } from "../base/options.ts";
import { commit } from "../conversation/commit.ts";
import type { Conversation } from "../conversation/conversation.ts";

import { TurnlogStore } from "../conversation/turnlog-store.ts";
import { importOf } from "../domain/events/blocks-in.ts";
import { isHole, type RecordedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import { type AnyEngine, checkedEngine } from "../engine/options/engine.ts";
import { policiesOf } from "../engine/options/run-policies.ts";
import type { Codecs } from "../engine/recorded/recorded-request.ts";
import { namesOf, settle } from "../log/codec/stream-names.ts";
import { existingRevision } from "../log/history/revision.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import type { ConversationView } from "../projections/views/conversation-view.ts";
import { createMemoryStore } from "../stores/memory/store.ts";
import { type CounterfactualStep, compareSteps } from "./compared-steps.ts";
import { erasedSince } from "./erased-runs.ts";
import { type MadeRequest, playAgain, type Stage, type Unanswered } from "./play-again.ts";
import { recordedRoutes } from "./recorded-endpoints.ts";
import { historyOf, type RecordedRun } from "./recorded-runs.ts";
import { checkReplay, type RecordedConversation } from "./replay-options.ts";
import { withoutLayer } from "./without-layer.ts";

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

/** A run that the other stack fails, and the recorded one did not fail with this kind of error. */
export type OtherFailure = {
  readonly runId: string;
  /** As `RunFailed` has it: `layer-failed`, `erased-block` and so on. */
  readonly kind: string;
  readonly message: string;
  /** The layer that threw; null if none did. */
  readonly layer: string | null;
};

/** What another stack would have done with a conversation, as far as its log can answer. */
export type Counterfactual = {
  /** Every request of either stack, in order. */
  readonly steps: readonly CounterfactualStep[];
  readonly failures: readonly OtherFailure[];
  /** The result is unknown from this step on; null if the recording answered everything. */
  readonly unknown: UnansweredStep | null;
  /** The resulting Turn. */
  readonly turn: Turn;
};

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
  const policies = (run: RecordedRun) => ({ ...policiesOf(run.started), budget: null });
  const world: World = { engine: { ...engine, layers }, codecs, bodies, clock, routes, conversation, policies };
  const isErased = await erasedSince(reader, stream);
  const steps: CounterfactualStep[] = [];
  const failures: OtherFailure[] = [];
  const endAt = async (unknown: UnansweredStep | null): Promise<Counterfactual> => ({
    ...{ steps, failures, unknown },
    turn: await world.conversation.turn(),
  });
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
        const what = `what reverting to an earlier Turn leaves (revision ${recorded.revision})`;
        return await endAt({ runId: "", frame: "0", what });
      }
      pending.push(() => world.conversation[commit]([{ event, actor }]));
    }
    if (run !== null && isErased(run))
      return await endAt({ runId: run.id, frame: "0", what: "what it read, because that was erased since" });
    if (run !== null) {
      const played = await playRun(world, run, view);
      steps.push(...played.steps);
      failures.push(...played.failures);
      if (played.unknown !== null) return await endAt(played.unknown);
      clock.now = Math.max(clock.now, Date.parse(recorded.at));
    }
    // Blocks appended during a run come after it.
    if (view.client.run === null || run !== null) for (const say of pending.splice(0)) await say();
    committed = view.client.committed.digest;
  }
  return await endAt(null);
}

/**
 * Saves a counterfactual Turn as a new conversation, by importing its blocks. No server holds its content, so its first request
 * continues from nothing and sends everything.
 *
 * @throws {TurnlogError} `conversation-exists` if `conversation` has another origin.
 */
export async function saveCounterfactual(conversation: Conversation, turn: Turn, source: string): Promise<void> {
  await conversation[commit](importOf(source, turn.blocks));
}

type World = Stage & { readonly bodies: boolean };

type Played = Pick<Counterfactual, "steps" | "failures" | "unknown">;

async function playRun(world: World, run: RecordedRun, view: ConversationView): Promise<Played> {
  const { conversation } = world;
  const bodies = new Map<string, string>();
  const onRequest = ({ request, bodyText }: MadeRequest): void => void bodies.set(request.requestDigest, bodyText);
  const played = await playAgain({ ...world, ...(world.bodies ? { onRequest } : {}) }, run, view);
  const events = [];
  for await (const recorded of conversation.events())
    if (recorded.runId === run.id && !isHole(recorded)) events.push(recorded);
  const steps = compareSteps(run, events, { answers: played.answers, bodies });
  const unknown = played.unknown === null ? null : { runId: run.id, ...unansweredWords(played.unknown) };
  // The request that it was about to send when it was cut off is not a step of either stack.
  return {
    steps: played.isCut ? steps.filter(({ recorded }) => recorded !== null) : steps,
    failures: failuresOf(run, events),
    unknown,
  };
}

function failuresOf({ id: runId, end }: RecordedRun, events: readonly RecordedEvent[]): readonly OtherFailure[] {
  return events.flatMap(({ event }) => {
    if (event.type !== "RunFailed") return [];
    const { kind, message, thrownBy } = event.data;
    if (end?.event.type === "RunFailed" && end.event.data.kind === kind) return [];
    return [{ runId, kind, message, layer: thrownBy?.layer ?? null }];
  });
}

const unansweredWords = ({ frame, reason }: Unanswered): Pick<UnansweredStep, "frame" | "what"> => {
  const what = { tool: "what the tool gives", effect: "what the effect gives" };
  return { frame, what: reason === "tool" || reason === "effect" ? what[reason] : "what the model answers" };
};
