import { commit } from "../../conversation/commit.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { isHole, type ProposedEvent, type RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineOptions } from "../../engine/options/engine.ts";
import { policiesOf } from "../../engine/options/run-policies.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import { namesOf, settle } from "../../log/codec/stream-names.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { playAgain, type Unanswered } from "../play-again.ts";
import { isCutOff, type RecordedRun } from "../recorded-runs.ts";
import { alignedLayers } from "./aligned-layers.ts";
import { createOverlayStore } from "./overlay-store.ts";
import { recordedLayer } from "./recorded-layer.ts";
import { type AddedInstructions, type RunTrace, TraceBuilder } from "./run-trace.ts";

/** Why the log cannot answer a request any more. */
export type UnknownReason =
  | Unanswered["reason"]
  | ("context" | "connection" | "provider" | "erased" | "damaged" | "reverted" | "blocked" | "failed");

/** What a track plays, and where it reads that. */
export type TrackSource = {
  readonly reader: EventReader;
  readonly stream: string;
  /** The ancestors of a fork, and how many of their events it has. */
  readonly ancestors: ReadonlyMap<string, number>;
  readonly codecs: Codecs;
  readonly routes: ReadonlyMap<string, string>;
};

/** A run as a stack made it, or as it is recorded. */
export type RunSide = {
  readonly trace: RunTrace;
  readonly unknown: UnknownReason | null;
  /** More about that, for people; null if the reason says all. */
  readonly message: string | null;
  /** The recorded run was cut off, and this one ends there. */
  readonly isCut: boolean;
  /** The Turn that a frame of the core was handed. */
  readonly turnAt: (frame: string) => Turn | null;
};

type TrackOptions = {
  readonly policies: PolicyChoice;
  readonly without?: string | null;
  /** Layers of which the recording takes the place. */
  readonly asRecorded?: ReadonlySet<string>;
};

/** What an engine does in a conversation, run by run, from what is recorded as long as it does the same. */
export class Track {
  readonly #source: TrackSource;
  readonly #engine: EngineOptions;
  readonly #policies: PolicyChoice;
  /** The layer that does nothing here. */
  readonly #without: string | null;
  readonly #asRecorded: ReadonlySet<string>;
  readonly #clock = { now: 0 };
  #scratch: Conversation | null = null;
  /** The conversation differs from the recorded one from now on. */
  isDiverged = false;
  /** Why nothing can be said any more about a conversation that differs. */
  lost: UnknownReason | null = null;

  constructor(
    source: TrackSource,
    engine: EngineOptions,
    { policies, without = null, asRecorded = new Set() }: TrackOptions,
  ) {
    this.#source = source;
    this.#without = without;
    this.#asRecorded = asRecorded;
    this.#policies = policies;
    // Notes to the model about interrupted runs are already in the recording.
    this.#engine = {
      ...engine,
      output: null,
      interruptionNote: null,
      layerTimeoutMs: layerLimitMs(engine),
      warnOfReasoningAfterMs: Number.POSITIVE_INFINITY,
    };
  }

  /** An event between runs. What the recording goes on with is read there; a conversation that differs takes over what was said. */
  async follow({ event, actor, at }: RecordedEvent): Promise<void> {
    if (event.type === "ConversationRelabelled") return;
    this.#clock.now = Math.max(this.#clock.now, Date.parse(at));
    if (event.type === "BlockAppended" && this.#scratch !== null) {
      await this.#scratch[commit]([{ event, actor }]);
      return;
    }
    if (!this.isDiverged) this.#scratch = null;
    // A revert leaves what was there before, which this conversation may not have.
    else if (event.type === "TurnReverted" || event.type === "TurnCompacted") this.lost ??= "reverted";
  }

  /** Makes a recorded run again, in which frames made so many calls. */
  async play(run: RecordedRun, view: ConversationView, calls: RunTrace["calls"]): Promise<RunSide> {
    const requests = new Map<string, string>();
    const turns = new Map<string, Turn>();
    const added = new Map<string, readonly AddedInstructions[]>();
    const builder = new TraceBuilder(run.id, ({ inferenceId }) => requests.get(inferenceId) ?? inferenceId);
    const proposed: ProposedEvent[] = [];
    this.#clock.now = Math.max(this.#clock.now, run.startedAt);
    const conversation = await this.#conversationFor(run);
    // What is proposed once a recorded layer was handed something else than then is not what that layer would have led to.
    let known = Number.POSITIVE_INFINITY;
    const onStray = (): void => {
      known = Math.min(known, proposed.length);
    };
    const { layers, leftOut } = alignedLayers(this.#engine.layers, run.started.stack, {
      names: this.#asRecorded,
      make: (earlier, layer) => recordedLayer(earlier, { run, calls, layer, onStray }),
    });
    const engine = { ...this.#engine, layers };
    const { codecs, routes } = this.#source;
    const { answers, unknown, isCut } = await playAgain(
      {
        ...{ conversation, engine, codecs, routes, clock: this.#clock },
        policies: (of) => chosenPolicies(this.#policies, engine, of),
        onEvents: (events) => proposed.push(...events),
        onStep({ frame, outgoing, scope, aside }) {
          if (aside !== undefined || isAside(frame)) return;
          turns.set(frame, outgoing);
          added.set(frame, scope.instructions.flatMap(instructionsOf));
        },
      },
      run,
      view,
    );
    for (const { event } of proposed) {
      if (event.type !== "InferenceRequested") continue;
      const { inferenceId } = event.data;
      const answered = answers.requestOf(inferenceId);
      if (answered !== null) requests.set(inferenceId, answered.event.data.inferenceId);
    }
    const hasStrayed = known < Number.POSITIVE_INFINITY;
    for (const each of proposed.slice(0, known))
      if (each.runId === run.id) builder.take(each, added.get(each.frame ?? "0"));
    const { trace } = builder;
    return {
      trace: {
        ...trace,
        requests: keyedByPlace(trace.requests, requests, run),
        leftOut: this.#without === null ? leftOut : new Set([...leftOut, this.#without]),
      },
      ...{
        unknown: hasStrayed ? "failed" : (unknown?.reason ?? null),
        message: null,
        isCut,
        turnAt: (frame) => turns.get(frame) ?? null,
      },
    };
  }

  /**
   * After a run that did the same, the copy that was made holds what the recording holds, unless other events are mixed with the run's:
   * then the next run begins from the recording.
   */
  settleRun(
    run: RecordedRun,
    { isSame, unknown }: { readonly isSame: boolean; readonly unknown: UnknownReason | null },
  ): void {
    if (!isSame) this.isDiverged = true;
    if (unknown !== null) this.skip(unknown);
    else if (!this.isDiverged && !isPlain(run)) this.#scratch = null;
  }

  /** The run was not made: what follows is read from the recording. */
  skip(reason: UnknownReason): void {
    if (this.isDiverged) this.lost ??= reason;
    else this.#scratch = null;
  }

  async #conversationFor({ startedRevision }: RecordedRun): Promise<Conversation> {
    if (this.#scratch !== null) return this.#scratch;
    const { reader, stream, ancestors, codecs } = this.#source;
    const events = createOverlayStore(reader.store, new Map([...ancestors, [stream, startedRevision]]));
    const store = new TurnlogStore(events, { clock: () => this.#clock.now, codecs: [...codecs.values()] });
    // Digests of the two are compared.
    settle(events, stream, await namesOf(reader.store, stream));
    this.#scratch = store.conversation(stream.slice("conversation-".length));
    return this.#scratch;
  }
}

/** How long a layer of a stack may take for its own work in a comparison. */
export const layerLimitMs = ({ layerTimeoutMs }: Pick<EngineOptions, "layerTimeoutMs">): number =>
  Math.min(layerTimeoutMs, maxLayerMs);

const maxLayerMs = 30_000;

type Instructing = { readonly text: string; readonly actor: ProposedEvent["actor"] };

const instructionsOf = ({ text, actor }: Instructing): readonly AddedInstructions[] =>
  actor.kind === "middleware" ? [{ layer: actor.name, version: actor.version, text }] : [];

/** Whose policies apply: the run's recorded ones, or the engine's, except those that the engine that it is compared with has as well. */
export type PolicyChoice =
  | { readonly kind: "recorded" }
  | { readonly kind: "engine"; readonly other: EngineOptions | null };

type Policies = Pick<EngineOptions, "chain" | "budget" | "compact">;

function chosenPolicies(choice: PolicyChoice, engine: Policies, { started }: RecordedRun): Policies {
  const recorded = policiesOf(started);
  // A run that only summarises is a run of its own kind.
  if (choice.kind === "recorded" || started.compact?.only === true) return recorded;
  const { chain, budget, compact } = engine;
  const { other } = choice;
  if (other === null) return { chain, budget, compact };
  return {
    chain: isEqual(chain, other.chain) ? recorded.chain : chain,
    budget: isEqual(budget, other.budget) ? recorded.budget : budget,
    compact: isEqual(compact, other.compact) ? recorded.compact : compact,
  };
}

const isEqual = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** A request that got no answer is paired with the recorded one of its frame and attempt. */
function keyedByPlace(
  requests: RunTrace["requests"],
  answered: ReadonlyMap<string, string>,
  run: RecordedRun,
): RunTrace["requests"] {
  const taken = new Set(answered.values());
  return requests.map((request) => {
    if (answered.has(request.inferenceId)) return request;
    const { frame, attempt } = request;
    const same = run.events.find(
      (each) =>
        each.event.type === "InferenceRequested" &&
        each.frame === frame &&
        each.event.data.attempt === attempt &&
        !taken.has(each.event.data.inferenceId),
    );
    return same?.event.type === "InferenceRequested" ? { ...request, key: same.event.data.inferenceId } : request;
  });
}

/** Whether a run was made in one go, and nothing else came meanwhile. */
function isPlain(run: RecordedRun): boolean {
  const { events, end } = run;
  if (end === null || isCutOff(run)) return false;
  const first = events[0]?.revision ?? 0;
  return end.revision - first + 1 === events.length && !events.some(({ event }) => event.type === "RunResumed");
}

/** The trace of a run as it is recorded. */
export function recordedSide(
  run: RecordedRun,
  { settings, declarers }: Pick<RunTrace, "settings" | "declarers">,
): RunSide {
  const builder = new TraceBuilder(run.id);
  for (const each of run.events) if (!isHole(each)) builder.take(each);
  return {
    trace: { ...builder.trace, settings, declarers },
    ...{ unknown: null, message: null, isCut: isCutOff(run), turnAt: (frame) => run.turns.given(frame) },
  };
}
