import { sha256Hex } from "../../base/sha256.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { Command } from "../../domain/conversation.ts";
import type { Pass } from "../../domain/events/shared.ts";
import { type BlockId, blockIdSchema } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import type { Invalidation, ServerContext } from "../../projections/server-contexts.ts";
import type { EngineOptions } from "../create-engine.ts";
import type { RunPart } from "../stream-part.ts";
import type { Acknowledgement } from "./acknowledgements.ts";
import type { Recorder } from "./recorder.ts";
import type { Answered } from "./result.ts";

/** What the parts of one run share while it lasts. */
export type RunSession = {
  readonly runId: string;
  readonly engine: EngineOptions;
  /** The folds at the head this process knows. */
  readonly view: () => ConversationView;
  readonly turns: RunTurns;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  /** Responses of this run that the folds may not hold yet, newest last. */
  readonly contexts: { readonly context: ServerContext; readonly turn: Turn }[];
  /** What came back in this run, in order. */
  readonly responses: Answered[];
  /** What this run saw the endpoint do, and which responses and reasoning it refused. */
  readonly learned: Map<string, boolean | string>;
  readonly invalid: Map<string, Invalidation>;
  readonly quarantined: Set<string>;
  /** Calls that responses of this run produced. */
  readonly calls: Map<BlockId, Block>;
  /** Layers' own times, until the next event takes them along. */
  readonly passes: Pass[];
  readonly runningTools: Set<BlockId>;
  /** What waits until a server has answered. */
  readonly acknowledgements: Acknowledgement[];
  /** A tool came back after the run had been aborted. */
  readonly onLate: (call: Block, result: Block, durationMs: number) => void;
  readonly emit: (part: RunPart) => void;
  readonly ids: Counters;
  /** The time of the newest event delivered to the stack, in milliseconds. */
  clock: number;
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

export const record = (session: RunSession, command: Command, actor: Actor, frame: string): void =>
  session.recorder.record(command, { actor, frame });

/** Takes the layers' times that no event carries yet. */
export function takePasses(session: RunSession): { readonly passes?: Pass[] } {
  const passes = session.passes.splice(0);
  return passes.length === 0 ? {} : { passes };
}

export const engineActor: Actor = { kind: "engine" };
