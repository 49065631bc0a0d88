import { sha256Hex } from "../../base/sha256.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { LayerTiming } from "../../domain/events/shared.ts";
import { type BlockId, blockIdSchema, type ConversationId } from "../../domain/ids.ts";
import type { EngineOptions } from "../stack/engine.ts";
import type { RunPart } from "../stack/run-part.ts";
import type { Interceptor } from "./breakpoint.ts";
import type { Journal } from "./journal.ts";
import type { LayerWatch, ThrownErrors } from "./layer-watch.ts";
import type { Recorder } from "./recorder.ts";
import type { RunClock } from "./run-clock.ts";
import type { RunFold } from "./run-fold.ts";

type ToolFinished = ConversationEventOf<"ToolFinished">["data"];

/** A run, and the provider that it asks: its engine's own, or another one of it. All sessions of a run share that run. */
export type RunSession = {
  readonly run: LiveRun;
  /** With the provider that is asked. */
  readonly engine: EngineOptions;
  /** The name of that one among the engine's others; null where it is the engine's own. */
  readonly route: string | null;
  /** How requests are sent: as the provider says, and otherwise from where that turned out not to be possible. */
  transport: string;
};

/** One run while it lasts. What changes as it goes on changes within its parts. */
export type LiveRun = {
  readonly id: string;
  readonly conversationId: ConversationId;
  /** The conversation's stream. */
  readonly stream: string;
  /** The revision of its first event, of a run that was taken up again; null for one that begins. */
  readonly firstRevision: number | null;
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Ends with the run, however it ends. */
  readonly running: AbortSignal;
  /** What its events make: Turns, what was learnt of servers, what its result is made of. */
  readonly fold: RunFold;
  readonly recorder: Recorder;
  /** What the run did before it was cut off; empty for one that begins. */
  readonly journal: Journal;
  /** Holds the run before and after its effects; null where nobody asked for it. */
  readonly interceptor: Interceptor | null;
  readonly clock: RunClock;
  readonly layers: LayerNotes;
  readonly calls: CallsUnderWay;
  readonly acknowledgements: Acknowledgements;
  readonly routing: AskedProviders;
  readonly ids: Counters;
  readonly emit: (part: RunPart) => void;
};

/** How the layers of a run fare. */
type LayerNotes = {
  /** Their own times, until the next event takes them along. */
  readonly timings: LayerTiming[];
  /** Which of them threw what. */
  readonly thrown: ThrownErrors;
  /** Fails one that takes too long. */
  readonly watch: LayerWatch;
};

/** The calls of tools that have not ended. */
type CallsUnderWay = {
  /** Those that the run waits for, by id. */
  readonly running: Set<BlockId>;
  /** All of them, also those that it waits for no longer. */
  readonly underWay: Set<Promise<unknown>>;
  /** A tool came back after the run had been aborted. */
  readonly onLate: (call: Block, result: Block, told: LateAnswer) => void;
};

/** Work of layers that waits until a server has answered. */
type Acknowledgements = {
  readonly waiting: Acknowledgement[];
  /** What no longer waits, and goes on. */
  readonly underWay: Set<Promise<unknown>>;
};

/** Whom the run asks. */
type AskedProviders = {
  /** The run as it asks each provider, by name. */
  readonly sessions: Map<string | null, RunSession>;
  /** The number of each frame that asked for an answer. */
  readonly steps: Map<string, number>;
};

type LateAnswer = Pick<ToolFinished, "outcome" | "durationMs"> & { readonly frame: string };

/** Work of a layer that waits until a server has answered a request made within a call. */
export type Acknowledgement = {
  /** Drawn when it was asked for, so that it is the same when the run is taken up again. */
  readonly id: BlockId;
  readonly frame: string;
  readonly actor: Actor;
  /** How many responses the run had received by then: those were answers to earlier requests. */
  readonly after: number;
  readonly work: () => unknown;
};

/** Counters behind the ids and numbers that a frame draws: the same run gives the same ones again. */
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

/** A number in [0, 1) that follows from run, frame and how often was asked. */
export function derivedRandom({ id, ids }: LiveRun, frame: string): number {
  const text = `${id} ${frame} ${ids.next(`random ${frame}`)}`;
  return Number.parseInt(sha256Hex(text).slice(0, 13), 16) / 2 ** 52;
}

/** Records what happens at a frame; `at` is when it did, where the layers were told so. */
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
