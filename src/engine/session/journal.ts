import { innerSignal } from "../../base/abort.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RouterChoice } from "../../domain/events/inference-events.ts";
import { isAside } from "../../domain/frame.ts";
import type { BlockId } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { RunTurns } from "../../projections/client-turn/run-turns.ts";
import type { EngineOptions } from "../options/engine.ts";
import {
  type DivergencePlace,
  type FirstBlock,
  firstDifference,
  layerIndex,
  ReplayDivergedError,
} from "../ports/divergence.ts";
import type { LayerWatch } from "./layer-watch.ts";
import {
  type PastCall,
  type PastEffect,
  type PastInference,
  RunAnswers,
  type SettledEffect,
  type UnfinishedEffect,
} from "./run-answers.ts";

/** A Turn handed on in one direction, at a frame. */
type Handing = { readonly frame: string; readonly direction: "request" | "response" };

/** How a re-execution is watched. */
type Watching = Pick<EngineOptions, "stuckAfterMs" | "sleep"> & {
  readonly watch: LayerWatch;
  readonly signal: AbortSignal;
  /** Called before a divergence is thrown, because a layer may catch what `next` throws, and must not continue with it. */
  readonly onDiverged: (error: ReplayDivergedError) => void;
};

/**
 * What a run has done so far, by frame, attempt and block id: its re-execution is answered from this and compared with it (rule: Recovery).
 * It is empty for a new run. Nothing goes live before all of it was met again.
 */
export class Journal {
  /** The Turns of the run, according to its log. */
  readonly turns: RunTurns;
  /** Filled from the run's log before the run is executed; what is met again is removed. */
  readonly log = new RunAnswers();
  #watching: Watching | null = null;
  #consumed: PromiseWithResolvers<void> | null = null;
  /** An edit that the log does not have. If a later event of the log is met, the layer had made no edit here. */
  #unknownEdit: (Handing & FirstBlock) | null = null;

  /** The names of the layers that re-execute the run, to name one of them. */
  readonly #layers: readonly string[];

  constructor(turns: RunTurns = new RunTurns(Turn.empty), layers: readonly string[] = []) {
    this.turns = turns;
    this.#layers = layers;
  }

  /** Given before anything is met. */
  watchedBy(watching: Watching): void {
    this.#watching = watching;
  }

  /** Whether the run is still answered from the log. */
  get isReplaying(): boolean {
    return this.log.remaining > 0;
  }

  /** Whether the log already has this edit by a layer, which hands on `turn`; if so, it is not recorded again. */
  hasEdit({ direction, after }: ConversationEventOf<"TurnEdited">["data"], frame: string, turn: Turn): boolean {
    if (!this.isReplaying) return false;
    const edited = this.log.edits.get(`${direction} ${frame}`)?.shift();
    if (edited === undefined) {
      // If a layer does both at once, its request beside the conversation may come before what the log has.
      if (!isAside(frame))
        this.#unknownEdit ??= { frame, direction, ...this.#firstDifference({ frame, direction }, turn) };
      return false;
    }
    if (edited.after !== after) {
      const { revision } = edited;
      const { blockIndex, id } = this.#firstDifference({ frame, direction }, turn);
      const what = `block ${blockIndex} (${id}) of the Turn passed on (${direction}) differs`;
      throw this.#diverged(what, { frame, direction, revision, field: "after", blockIndex });
    }
    this.#meet(1);
    return true;
  }

  /** The router's choice for the step at a frame; null if the log does not have it, or has it only in a request. */
  choice(frame: string): RouterChoice | null {
    const known = this.log.choices.get(frame);
    if (known === undefined) return null;
    this.#beforeKnown(known.revision);
    this.log.choices.delete(frame);
    this.#meet(1);
    return known.choice;
  }

  /** One attempt of the step at a frame; null if the log has none. */
  inference(frame: string, attempt: number, outgoing: Turn): PastInference | null {
    const past = this.log.inferences.get(`${frame} ${attempt}`);
    if (past === undefined) return null;
    this.#beforeKnown(past.revision);
    // Only the last of the frame's Turns is known whole: a refused attempt may have used a longer one.
    const { input } = past.request;
    if ((input.outgoing ?? input.turn) !== outgoing.digest)
      this.#failTurn(frame, past, { recorded: this.turns.given(frame), outgoing });
    this.log.forget(past, frame);
    this.#meet(1 + (past.answer === null ? 0 : 1) + (past.started === null ? 0 : 1));
    return past;
  }

  /** Whether the log has this attempt, and it was not met again yet. */
  hasInference(frame: string, attempt: number): boolean {
    return this.log.inferences.has(`${frame} ${attempt}`);
  }

  /** The recorded state of a tool call or an effect of this name; each is returned once. */
  effect(id: string, name: string, frame: string): PastEffect {
    return this.call(id, name, frame).past;
  }

  /** The same for a tool call, with what a person was asked about it. */
  call(id: string, name: string, frame: string): PastCall {
    const known = this.log.effects.get(id);
    if (known === undefined) return { past: { state: "none" }, hasBegun: false, approval: null };
    const { revision } = known;
    this.#beforeKnown(revision);
    if (known.name !== name) {
      const layer = this.#layers[frame.split(".").length - 1] ?? null;
      const what = `${name} was started instead of ${known.name}`;
      throw this.#diverged(what, { frame, revision, field: "name", layer });
    }
    this.log.effects.delete(id);
    this.#meet(known.events);
    return known;
  }

  /** A call has other arguments than those that it was approved with, and has begun with those. */
  failApproved(id: string, name: string, frame: string): never {
    const layer = this.#layers[layerIndex(frame, null)] ?? null;
    const what = `the call ${id} of ${name} has other arguments than those that were approved`;
    throw this.#diverged(what, { frame, revision: this.log.lastRevision, field: "inputDigest", layer });
  }

  /** The effects that began, and of which the log has neither an end nor a settlement. */
  unfinishedEffects(): readonly UnfinishedEffect[] {
    return [...this.log.effects.values()].flatMap(({ id, isCall, name, frame, past, hasBegun }) =>
      past.state === "started" || (past.state === "parked" && hasBegun)
        ? [{ id, name, frame, past, call: isCall ? this.turns.ownCall(id) : null }]
        : [],
    );
  }

  /** Answers for an effect in doubt from now on, although the log has no answer. */
  settle(id: BlockId, past: SettledEffect): void {
    const known = this.log.effects.get(id);
    if (known !== undefined) this.log.effects.set(id, { ...known, past });
  }

  /**
   * Resolves when the whole log of the run was met again.
   *
   * @throws {ReplayDivergedError} if the re-execution is stuck: every call of a layer waits for the engine, and for `stuckAfterMs` nothing
   * was met. A layer that does its own work may still reach what the log has.
   */
  consumed(): Promise<void> {
    if (!this.isReplaying) return Promise.resolve();
    if (this.#consumed === null) {
      this.#consumed = Promise.withResolvers();
      this.#untilStuck().catch(this.#consumed.reject);
    }
    return this.#consumed.promise;
  }

  /** The layers have ended: events that were not met by now never will be. */
  mustBeConsumed(): void {
    if (this.isReplaying) throw this.#stuck();
  }

  async #untilStuck(): Promise<void> {
    if (this.#watching === null) throw new Error("nobody watches the re-execution");
    const { watch, sleep, stuckAfterMs, signal } = this.#watching;
    const { signal: waiting, end } = innerSignal(signal);
    const stop = (): void => end(null);
    this.#consumed?.promise.then(stop, stop);
    for (;;) {
      const [remaining, starts] = [this.log.remaining, watch.starts];
      await sleep(stuckAfterMs, waiting);
      // Work that is under way settles in this turn of the event loop, even if a test's sleep takes no time.
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.isReplaying) return;
      if (this.log.remaining === remaining && watch.starts === starts && !watch.isAtWork) throw this.#stuck();
    }
  }

  /** The first event that was not met again shows where the re-execution diverged. */
  #stuck(): ReplayDivergedError {
    const edits = [...this.log.edits].flatMap(([key, all]) =>
      all.map(({ revision }) => ({ ...handingOf(key), revision, field: "after" })),
    );
    const asked = [...this.log.inferences].map(([key, { revision }]) => ({
      ...{ frame: key.slice(0, key.indexOf(" ")), revision, field: "input.turn" },
    }));
    const routed = [...this.log.choices].map(([frame, { revision }]) => ({ frame, revision, field: "route" }));
    const first = [...edits, ...routed, ...asked].toSorted((left, right) => left.revision - right.revision)[0];
    const place = { frame: "0", revision: null, field: "answer", ...first };
    return this.#diverged(
      `${this.log.remaining} events of the log were not repeated`,
      this.#unknownEdit === null ? place : { ...this.#unknownEdit, revision: place.revision, field: "after" },
    );
  }

  #failTurn(
    frame: string,
    { revision }: PastInference,
    { recorded, outgoing }: { readonly recorded: Turn; readonly outgoing: Turn },
  ): never {
    const { blockIndex, id } = firstDifference(recorded, outgoing);
    const missed = [...this.log.edits].find(([key, edits]) => edits.length > 0 && isWithin(key, frame));
    const handing = this.#unknownEdit ?? (missed === undefined ? { frame } : handingOf(missed[0]));
    const what = `block ${blockIndex} (${id}) of the request differs`;
    throw this.#diverged(what, { ...handing, revision, field: "input.turn", blockIndex });
  }

  #firstDifference({ frame, direction }: Handing, turn: Turn): FirstBlock {
    const recorded = direction === "request" ? this.turns.given(frame) : this.turns.result(frame);
    return firstDifference(recorded ?? Turn.empty, turn);
  }

  /** Throws if an event of the log follows an edit that the log does not have. */
  #beforeKnown(revision: number): void {
    if (this.#unknownEdit === null || !this.isReplaying) return;
    const { id, ...handing } = this.#unknownEdit;
    const what = `a Turn that was passed on unchanged has changed, first in block ${handing.blockIndex} (${id})`;
    throw this.#diverged(what, { ...handing, revision, field: "after" });
  }

  #diverged(what: string, place: DivergencePlace): ReplayDivergedError {
    const layer = this.#layers[layerIndex(place.frame, place.direction ?? null)] ?? null;
    const error = new ReplayDivergedError(what, { layer, ...place });
    this.#watching?.onDiverged(error);
    return error;
  }

  #meet(events: number): void {
    this.log.remaining -= events;
    if (!this.isReplaying) this.#consumed?.resolve();
  }
}

/** The frame and direction that an edit's key names. */
function handingOf(key: string): Handing {
  const frame = key.slice(key.indexOf(" ") + 1);
  return { frame, direction: key.startsWith("request ") ? "request" : "response" };
}

/** Whether an edit's key names this frame or one above it. */
function isWithin(key: string, frame: string): boolean {
  const { frame: at } = handingOf(key);
  return frame === at || frame.startsWith(`${at}.`);
}
