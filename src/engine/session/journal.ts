import { innerSignal } from "../../base/abort.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RouterChoice } from "../../domain/events/inference-events.ts";
import { isAside } from "../../domain/frame.ts";
import type { BlockId } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { RunTurns } from "../../projections/run-turns.ts";
import type { EngineOptions } from "../stack/engine.ts";
import {
  type DivergencePlace,
  type FirstBlock,
  firstDifference,
  layerIndex,
  ReplayDivergedError,
} from "./divergence.ts";
import type { LayerWatch } from "./layer-watch.ts";
import {
  type PastEffect,
  type PastInference,
  RunAnswers,
  type SettledEffect,
  type UnfinishedEffect,
} from "./run-answers.ts";

/** A Turn handed on in one direction, at a frame. */
type Handing = { readonly frame: string; readonly direction: "request" | "response" };

/** Who watches a re-execution. */
type Watching = Pick<EngineOptions, "stuckAfterMs" | "sleep"> & {
  readonly watch: LayerWatch;
  readonly signal: AbortSignal;
  /** Told of a divergence before it is thrown: a layer may catch what comes out of `next`, and must not go on with it. */
  readonly onDiverged: (error: ReplayDivergedError) => void;
};

/**
 * What a run has done so far, by frame, attempt and block id: what its re-execution is answered from and compared with
 * (rule: Recovery). Of a run that begins it is empty. Nothing goes live before all of it was met again.
 */
export class Journal {
  /** The Turns of the run as the log tells them. */
  readonly turns: RunTurns;
  /** Takes in what its log has before it is executed, and lets go of what is met again. */
  readonly log = new RunAnswers();
  #watching: Watching | null = null;
  #consumed: PromiseWithResolvers<void> | null = null;
  /** An edit that the log does not have: once something after it is met in the log, it stands where none was made. */
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

  /** Whether the log has this edit of a layer, which hands on `turn`, already; then it is not recorded again. */
  hasEdit({ direction, after }: ConversationEventOf<"TurnEdited">["data"], frame: string, turn: Turn): boolean {
    if (!this.isReplaying) return false;
    const edited = this.log.edits.get(`${direction} ${frame}`)?.shift();
    if (edited === undefined) {
      // What is asked beside the conversation may come before what the log has, where a layer does both at once.
      if (!isAside(frame))
        this.#unknownEdit ??= { frame, direction, ...this.#firstDifference({ frame, direction }, turn) };
      return false;
    }
    if (edited.after !== after) {
      const { revision } = edited;
      const { blockIndex, id } = this.#firstDifference({ frame, direction }, turn);
      const what = `block ${blockIndex} (${id}) of the Turn handed on (${direction}) differs`;
      throw this.#diverged(what, { frame, direction, revision, field: "after", blockIndex });
    }
    this.#meet(1);
    return true;
  }

  /** Whom the router chose for the step at a frame; null where the log does not have it, or has it in a request only. */
  choice(frame: string): RouterChoice | null {
    const known = this.log.choices.get(frame);
    if (known === undefined) return null;
    this.#beforeKnown(known.revision);
    this.log.choices.delete(frame);
    this.#meet(1);
    return known.choice;
  }

  /** One attempt of the step at a frame; null where the log has none. */
  inference(frame: string, attempt: number, outgoing: Turn): PastInference | null {
    const past = this.log.inferences.get(`${frame} ${attempt}`);
    if (past === undefined) return null;
    this.#beforeKnown(past.revision);
    // Of the frame's Turns the last is known whole: a refused attempt may have asked with a longer one.
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

  /** What is known of a tool call or an effect of this name; it answers once. */
  effect(id: string, name: string, frame: string): PastEffect {
    const known = this.log.effects.get(id);
    if (known === undefined) return { state: "none" };
    const { revision } = known;
    this.#beforeKnown(revision);
    if (known.name !== name) {
      const layer = this.#layers[frame.split(".").length - 1] ?? null;
      const what = `${name} was begun in the place of ${known.name}`;
      throw this.#diverged(what, { frame, revision, field: "name", layer });
    }
    this.log.effects.delete(id);
    this.#meet(known.events);
    return known.past;
  }

  /** Those that began, and of which the log has no end and no settlement. */
  unfinishedEffects(): readonly UnfinishedEffect[] {
    return [...this.log.effects.values()].flatMap(({ id, isCall, name, frame, past }) =>
      past.state === "started" || past.state === "parked"
        ? [{ id, name, frame, past, call: isCall ? this.turns.ownCall(id) : null }]
        : [],
    );
  }

  /** Answers for an effect in doubt from now on, although the log does not. */
  settle(id: BlockId, past: SettledEffect): void {
    const known = this.log.effects.get(id);
    if (known !== undefined) this.log.effects.set(id, { ...known, past });
  }

  /**
   * Resolves when the whole log of the run was met again.
   *
   * @throws {ReplayDivergedError} when the re-execution is stuck: every call of a layer waits for the engine, and for
   * `stuckAfterMs` nothing was met. A layer at its own work may still come to what the log has.
   */
  consumed(): Promise<void> {
    if (!this.isReplaying) return Promise.resolve();
    if (this.#consumed === null) {
      this.#consumed = Promise.withResolvers();
      this.#untilStuck().catch(this.#consumed.reject);
    }
    return this.#consumed.promise;
  }

  /** The layers have ended: what was not met by now never will be. */
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
      // What is on its way comes in this turn of the event loop, also where a test's sleep takes no time.
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.isReplaying) return;
      if (this.log.remaining === remaining && watch.starts === starts && !watch.isAtWork) throw this.#stuck();
    }
  }

  /** What was not met again is where the re-execution left the way of the run. */
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
      `${this.log.remaining} events of the log were not met again`,
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

  /** Something that the log has comes after an edit that it has not. */
  #beforeKnown(revision: number): void {
    if (this.#unknownEdit === null || !this.isReplaying) return;
    const { id, ...handing } = this.#unknownEdit;
    const what = `a Turn was changed that was handed on unchanged, first in block ${handing.blockIndex} (${id})`;
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

/** What an edit's key names. */
function handingOf(key: string): Handing {
  const frame = key.slice(key.indexOf(" ") + 1);
  return { frame, direction: key.startsWith("request ") ? "request" : "response" };
}

/** Whether an edit's key names a frame on the way to this one. */
function isWithin(key: string, frame: string): boolean {
  const { frame: at } = handingOf(key);
  return frame === at || frame.startsWith(`${at}.`);
}
