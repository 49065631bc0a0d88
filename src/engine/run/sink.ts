import { messageOf } from "../../base/error-message.ts";
import type { Observer, PartPlace } from "../options/engine.ts";
import { partUnits, type RunPart } from "../options/run-part.ts";
import { outsideOfRuns } from "./run-queue.ts";

/** The most parts that wait for an observer: of those that may be lost first, with the UTF-16 units in them, and of all parts. */
export const maxWaitingDeltas = 10_000;
const maxWaitingUnits = 1_000_000;
export const maxWaitingParts = 20_000;

/** The sink of each observer: one for all runs and engines that it watches, so that what waits for it has one limit. */
const sinks = new WeakMap<Observer, Sink>();

export function sinkOf(observer: Observer): Sink {
  const known = sinks.get(observer);
  if (known !== undefined) return known;
  const made = new Sink(observer);
  sinks.set(observer, made);
  return made;
}

type Waiting = { readonly part: RunPart; readonly place: PartPlace };

/**
 * Hands the parts of runs to an observer, one after another. The run never waits: parts queue while the observer's promise is pending, up to a
 * limit, and it learns how many it missed (`parts-dropped`). Its errors do not affect the run: the process warns of the first one for each type of
 * part.
 */
export class Sink {
  readonly #observer: Observer;
  #waiting: Waiting[] = [];
  /** How many of them were given: cutting the front of a list for each would be quadratic. */
  #given = 0;
  #deltas = 0;
  #units = 0;
  #isBusy = false;
  /** The types of parts at which it has failed. */
  readonly #failedAt = new Set<RunPart["type"]>();

  constructor(observer: Observer) {
    this.#observer = observer;
  }

  take(part: RunPart, place: PartPlace): void {
    if (this.#isBusy || this.#count > 0) this.#keep(part, place);
    else this.#give(part, place);
  }

  get #count(): number {
    return this.#waiting.length - this.#given;
  }

  #give(part: RunPart, place: PartPlace): void {
    try {
      const taken = outsideOfRuns(() => this.#observer.next(part, place));
      if (!(taken instanceof Promise)) return;
      this.#isBusy = true;
      const goOn = (): void => {
        this.#isBusy = false;
        this.#drain();
      };
      taken.then(goOn, (error: unknown) => {
        this.#warn(part, error);
        goOn();
      });
    } catch (error) {
      this.#warn(part, error);
    }
  }

  #warn({ type }: RunPart, error: unknown): void {
    if (this.#failedAt.has(type)) return;
    this.#failedAt.add(type);
    process.emitWarning(
      `an observer failed at a part '${type}', and the run goes on: ${messageOf(error)}; later failures of this observer at such parts are not reported`,
      "TurnlogWarning",
    );
  }

  /** Gives what waits, until the observer is busy again. */
  #drain(): void {
    while (!this.#isBusy) {
      const next = this.#waiting[this.#given];
      if (next === undefined) break;
      this.#given += 1;
      const units = partUnits(next.part);
      if (units !== null) {
        this.#deltas -= 1;
        this.#units -= units;
      }
      this.#give(next.part, next.place);
    }
    if (this.#given < 1_000 && this.#count > 0) return;
    this.#waiting = this.#waiting.slice(this.#given);
    this.#given = 0;
  }

  #keep(part: RunPart, place: PartPlace): void {
    const units = partUnits(part);
    const isFull =
      this.#count >= maxWaitingParts ||
      (units !== null && (this.#deltas >= maxWaitingDeltas || this.#units + units > maxWaitingUnits));
    if (isFull) this.#drop(part, place);
    else {
      if (units !== null) {
        this.#deltas += 1;
        this.#units += units;
      }
      this.#waiting.push({ part, place });
    }
  }

  /** Consecutive lost parts share one count, in the place of the newest. */
  #drop(part: RunPart, place: PartPlace): void {
    const last = this.#count > 0 ? this.#waiting.at(-1)?.part : undefined;
    const before = last?.type === "parts-dropped" ? last.count : 0;
    if (before > 0) this.#waiting.pop();
    const count = before + (part.type === "parts-dropped" ? part.count : 1);
    this.#waiting.push({ part: Object.freeze({ type: "parts-dropped", count } as const), place });
  }
}
