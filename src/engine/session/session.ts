import { sha256Hex } from "../../base/sha256.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { LayerTiming } from "../../domain/events/shared.ts";
import { type BlockId, blockIdSchema, type ConversationId } from "../../domain/ids.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { RunPart } from "../options/run-part.ts";
import type { RunTracing } from "../tracing/run-tracing.ts";
import type { Interceptor } from "./breakpoint.ts";
import type { Gate } from "./gate.ts";
import type { Journal } from "./journal.ts";
import type { LayerWatch, ThrownErrors } from "./layer-watch.ts";
import type { Recorder } from "./recorder.ts";
import type { RunClock } from "./run-clock.ts";
import type { RunFold } from "./run-fold.ts";

type ToolFinished = ConversationEventOf<"ToolFinished">["data"];

/** A run, and the provider that it asks: the engine's own or another of the engine's. All sessions of a run share the run. */
export type RunSession = {
  readonly run: LiveRun;
  /** With the provider to ask. */
  readonly engine: EngineOptions;
  /** The name of the provider among the engine's others; null for the engine's own. */
  readonly route: string | null;
  /** The transport of requests: the provider's, until it turned out not to be available. */
  transport: string;
};

/** One run while it lasts. Its state changes within its parts. */
export type LiveRun = {
  readonly id: string;
  readonly conversationId: ConversationId;
  /** The conversation's stream. */
  readonly stream: string;
  /** The revision of a resumed run's first event; null for a new run. */
  readonly firstRevision: number | null;
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Ends with the run, however it ends. */
  readonly running: AbortSignal;
  /** The folds of its events: Turns, what was learnt of servers, the basis of its result. */
  readonly fold: RunFold;
  readonly recorder: Recorder;
  /** The names under which the conversation records the blocks that the run makes. */
  readonly names: BlockNames;
  /** The past of a run that was cut off; empty for a new run. */
  readonly journal: Journal;
  /** Holds the run before and after its effects; null if no caller asked for it. */
  readonly interceptor: Interceptor | null;
  readonly clock: RunClock;
  readonly layers: LayerNotes;
  readonly calls: CallsUnderWay;
  /** Holds back calls that wait for somebody outside of the run. */
  readonly gate: Gate;
  /** Whether the run is only compared with its log: then no rule of who may decide is evaluated. */
  readonly isReplay: boolean;
  readonly acknowledgements: Acknowledgements;
  readonly routing: AskedProviders;
  readonly ids: Counters;
  readonly emit: (part: RunPart) => void;
  /** False if nobody gets its parts, so that those of layers need not be made. */
  readonly isObserved: boolean;
  /** Null if the engine does not trace its runs. */
  readonly tracing: RunTracing | null;
};

/** The state of a run's layers. */
type LayerNotes = {
  /** Their own times that no event carries yet. */
  readonly timings: LayerTiming[];
  /** Which layer threw what. */
  readonly thrown: ThrownErrors;
  /** Fails a layer that takes too long. */
  readonly watch: LayerWatch;
};

/** The tool calls that have not ended. */
type CallsUnderWay = {
  /** Those that the run waits for, by id. */
  readonly running: Set<BlockId>;
  /** All of them, including those that it no longer waits for. */
  readonly underWay: Set<Promise<unknown>>;
  /** Called when a tool returns after the run was aborted. */
  readonly onLate: (call: Block, result: Block, told: LateAnswer) => void;
};

/** Work of layers that waits until a server has answered. */
type Acknowledgements = {
  readonly waiting: Acknowledgement[];
  /** Work that no longer waits, and is running. */
  readonly underWay: Set<Promise<unknown>>;
};

/** The providers that the run asks. */
type AskedProviders = {
  /** The session of the run for each provider, by name. */
  readonly sessions: Map<string | null, RunSession>;
  /** The number of each frame that asked for an answer. */
  readonly steps: Map<string, number>;
};

type LateAnswer = Pick<ToolFinished, "outcome" | "durationMs"> & { readonly frame: string };

/** Work of a layer that waits until a server has answered a request made within a call. */
export type Acknowledgement = {
  /** Drawn when the layer asked for it, so that a resumed run draws the same one. */
  readonly id: BlockId;
  readonly frame: string;
  readonly actor: Actor;
  /** How many responses the run had received by then: those answered earlier requests. */
  readonly after: number;
  readonly work: () => unknown;
};

/** Counters for the ids and numbers that a frame draws: the same run draws the same ones again. */
export type Counters = { readonly next: (name: string) => number };

export function createCounters(): Counters {
  const counts = new Map<string, number>();
  return {
    next(name) {
      const count = counts.get(name) ?? 0;
      counts.set(name, count + 1);
      return count;
    },
  };
}

/** The next id of a block made at a frame: `<run>/<frame>/<n>`. */
export const newBlockId = ({ id, ids }: LiveRun, frame: string): BlockId =>
  blockIdSchema.parse(`${id}/${frame}/${ids.next(`block ${frame}`)}`);

/** A number in [0, 1) that follows from run, frame and the number of earlier draws. */
export function derivedRandom({ id, ids }: LiveRun, frame: string): number {
  const text = `${id} ${frame} ${ids.next(`random ${frame}`)}`;
  return Number.parseInt(sha256Hex(text).slice(0, 13), 16) / 2 ** 52;
}

/** Records what happens at a frame; `at` is its time, if the layers were given one. */
export function record(
  { recorder }: LiveRun,
  event: ProposedEvent["event"],
  actor: Actor,
  frame: string,
  at?: number,
): void {
  recorder.record(event, { actor, frame, at });
}

/** Takes the layers' times that no event carries yet. */
export function takeTimings({ layers }: LiveRun): { readonly timings?: LayerTiming[] } {
  const timings = layers.timings.splice(0);
  return timings.length === 0 ? {} : { timings };
}

export const engineActor: Actor = { kind: "engine" };
