import type { OnLayerAtWork } from "../options/engine.ts";
import type { LayerError } from "../ports/middleware.ts";
import type { Thrower } from "./errors.ts";

/** A layer's call as its watch sees it: something that can be failed for being slow. */
type WatchedLayer = { readonly layer: { readonly name: string }; expire(timeoutMs: number): void };

/**
 * Fails a layer that keeps the run waiting for its own work. At most one call of a run does its own work at a time, while the others wait
 * inside `next` or for tools: so one timer serves them all.
 */
export class LayerWatch {
  readonly #timer: NodeJS.Timeout;
  readonly #onLayerAtWork: OnLayerAtWork | null;
  #working: WatchedLayer | null = null;
  #starts = 0;

  constructor(timeoutMs: number, onLayerAtWork: OnLayerAtWork | null) {
    this.#onLayerAtWork = onLayerAtWork;
    this.#timer = setTimeout(() => this.#working?.expire(timeoutMs), timeoutMs);
    this.#timer.unref();
  }

  /** Whether a layer does its own work: if none does, all of them wait for the engine. */
  get isAtWork(): boolean {
    return this.#working !== null;
  }

  /** How often a layer started its own work. */
  get starts(): number {
    return this.#starts;
  }

  /** The call starts its own work, with all of its time. */
  start(call: WatchedLayer): void {
    this.#working = call;
    this.#starts += 1;
    this.#onLayerAtWork?.(call.layer.name);
    // A layer that never returns must not let the process exit as if all were done.
    this.#timer.refresh().ref();
  }

  /** The call waits for something that is not its own work, or has ended. */
  stop(call: WatchedLayer): void {
    if (this.#working !== call) return;
    this.#working = null;
    this.#onLayerAtWork?.(null);
    this.#timer.unref();
  }

  end(): void {
    this.#working = null;
    this.#onLayerAtWork?.(null);
    clearTimeout(this.#timer);
  }
}

/**
 * Misuse by layers that have already returned. It is too late to throw in the layer, so it fails the run when the run ends, and is a
 * process warning after that.
 */
export class LateMisuse {
  #first: LayerError | null = null;
  #hasEnded = false;

  note(error: LayerError): void {
    if (this.#hasEnded) process.emitWarning(error);
    else this.#first ??= error;
  }

  throwFirst(): void {
    if (this.#first !== null) throw this.#first;
  }

  end(): void {
    this.#hasEnded = true;
  }
}

/**
 * Which layer first threw an error that came out of calls of `next`: rethrowing does not count as throwing. A long run throws and catches
 * many errors, and none is kept alive.
 */
export class ThrownErrors {
  readonly #byObject = new WeakMap<object, Thrower | null>();
  /** A value that is not an object has no identity: only the newest one is known. */
  #newest: { readonly value: unknown; readonly by: Thrower | null } | null = null;

  note(error: unknown, by: Thrower | null): void {
    if (isObject(error)) {
      if (!this.#byObject.has(error)) this.#byObject.set(error, by);
    } else if (this.#newest === null || !Object.is(this.#newest.value, error)) this.#newest = { value: error, by };
  }

  /** A layer has returned, so what was thrown within it was caught: another layer may throw the same text. */
  forget(): void {
    this.#newest = null;
  }

  /** The layer that first threw it; null if none did. */
  throwerOf(error: unknown): Thrower | null {
    if (isObject(error)) return this.#byObject.get(error) ?? null;
    return this.#newest !== null && Object.is(this.#newest.value, error) ? this.#newest.by : null;
  }
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";
