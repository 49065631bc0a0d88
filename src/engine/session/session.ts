import { sha256Hex } from "../../base/sha256.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { LayerTiming } from "../../domain/events/shared.ts";
import { type BlockId, blockIdSchema, type ConversationId } from "../../domain/ids.ts";
import type { Made } from "../../projections/apply-to-turns.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { RunRecord } from "../../projections/run-record.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import type { ServerContextsView } from "../../projections/server-contexts.ts";
import type { EngineOptions } from "../stack/engine.ts";
import type { RunPart } from "../stack/run-part.ts";
import type { Interceptor } from "./breakpoint.ts";
import type { Journal } from "./journal.ts";
import type { LayerWatch, ThrownErrors } from "./layer-watch.ts";
import type { Recorder } from "./recorder.ts";

type ToolFinished = ConversationEventOf<"ToolFinished">["data"];

/** What the parts of one run share while it lasts. */
export type RunSession = {
  readonly conversationId: ConversationId;
  /** The conversation's stream. */
  readonly stream: string;
  readonly runId: string;
  /** With the provider that is asked. */
  readonly engine: EngineOptions;
  /** The name of that one among the engine's others; null where it is the engine's own. */
  readonly route: string | null;
  /** The run as it asks others, by name. */
  readonly routes: Map<string | null, RunSession>;
  /** Frames that asked for an answer, by their number. */
  readonly steps: Map<string, number>;
  /** The folds at the head this process knows. */
  readonly view: () => ConversationView;
  /** Reads what of the conversation was not read before: contents, settings, and who changed what. */
  readonly readAll: () => Promise<void>;
  readonly turns: RunTurns;
  /** What the run did before it was cut off; empty for one that begins. */
  readonly journal: Journal;
  /** The revision of its first event, of a run that was taken up again; null for one that begins. */
  readonly firstRevision: number | null;
  /** Holds the run before and after its effects; null where nobody asked for it. */
  readonly interceptor: Interceptor | null;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  /** Ends with the run, however it ends. */
  readonly running: AbortSignal;
  /** What the run has learnt of servers: the code that folds the log takes in what it records at once, and what it meets again. */
  readonly server: ServerContextsView;
  /** Applies what is recorded, or what the log has of a run that was taken up, as the run meets it again. */
  readonly apply: (proposed: ProposedEvent, made?: Made) => void;
  /** Tokens that the conversation has used, this run included. */
  readonly spent: { tokens: number };
  /** What the run's events tell of it, as far as they are durable. */
  readonly record: RunRecord;
  /** How requests are sent: as the provider says, and otherwise from where that turned out not to be possible. */
  transport: string;
  /** Whether the newest response is whole. */
  isWhole: boolean;
  /** Layers' own times, until the next event takes them along. */
  readonly timings: LayerTiming[];
  readonly runningTools: Set<BlockId>;
  /** Calls of tools that have not ended, also those that the run waits for no longer. */
  readonly underWay: Set<Promise<unknown>>;
  readonly thrown: ThrownErrors;
  readonly watch: LayerWatch;
  /** What waits until a server has answered. */
  readonly acknowledgements: Acknowledgement[];
  /** Work of layers that waited for a server, and goes on. */
  readonly acknowledging: Set<Promise<unknown>>;
  /** A tool came back after the run had been aborted. */
  readonly onLate: (call: Block, result: Block, told: LateAnswer) => void;
  readonly emit: (part: RunPart) => void;
  readonly ids: Counters;
  /** The time of the newest event delivered to the stack, in milliseconds. */
  clock: number;
  /** The time of what happens now, in milliseconds: never before the stream's newest event, whatever the clock does. */
  readonly now: () => number;
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
export const newBlockId = (session: RunSession, frame: string): BlockId =>
  blockIdSchema.parse(`${session.runId}/${frame}/${session.ids.next(`block ${frame}`)}`);

/** A number in [0, 1) that follows from run, frame and how often was asked. */
export function derivedRandom(session: RunSession, frame: string): number {
  const text = `${session.runId} ${frame} ${session.ids.next(`random ${frame}`)}`;
  return Number.parseInt(sha256Hex(text).slice(0, 13), 16) / 2 ** 52;
}

/** Records what happens at a frame; `at` is when it did, where the layers were told so. */
export function record(
  session: RunSession,
  event: ProposedEvent["event"],
  actor: Actor,
  frame: string,
  at?: number,
): void {
  session.recorder.record(event, { actor, frame, at });
}

/** Something reached the layers: their clock stands at its time, and never runs backwards. */
export function delivered(session: RunSession, at: number): number {
  session.clock = Math.max(session.clock, at);
  return session.clock;
}

/** Takes the layers' times that no event carries yet. */
export function takeTimings(session: RunSession): { readonly timings?: LayerTiming[] } {
  const timings = session.timings.splice(0);
  return timings.length === 0 ? {} : { timings };
}

export const engineActor: Actor = { kind: "engine" };
