import type { LayerError } from "../stack/middleware.ts";
import type { Thrower } from "./errors.ts";

/** A layer's call as its watch sees it: something that can be failed for being slow. */
type WatchedLayer = { expire(timeoutMs: number): void };

/**
 * Fails a layer that keeps the run waiting for its own work. Of all calls of a run at most one is at work itself, the others
 * wait inside `next` or for tools: so one timer serves them all.
 */
export class LayerWatch {
  readonly #timer: NodeJS.Timeout;
  #working: WatchedLayer | null = null;
  #starts = 0;

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#working?.expire(timeoutMs), timeoutMs);
    this.#timer.unref();
  }

  /** Whether a layer is at its own work: while none is, all of them wait for the engine. */
  get isAtWork(): boolean {
    return this.#working !== null;
  }

  /** How often a layer went to work. */
  get starts(): number {
    return this.#starts;
  }

  /** The call goes to work, with all of its time. */
  start(call: WatchedLayer): void {
    this.#working = call;
    this.#starts += 1;
    // A layer that never returns must not let the process end as if all were done.
    this.#timer.refresh().ref();
  }

  /** The call waits for something that is not its own work, or has ended. */
  stop(call: WatchedLayer): void {
    if (this.#working !== call) return;
    this.#working = null;
    this.#timer.unref();
  }

  end(): void {
    this.#working = null;
    clearTimeout(this.#timer);
  }
}

/**
 * What layers did that had returned. Nobody waits for them any more, so it fails the run when that ends, and is a warning of
 * the process after that.
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
 * Which layer threw an error first that came out of calls of `next`: a layer that lets one through has not thrown it. A
 * long run throws and catches many, and none is kept alive.
 */
export class ThrownErrors {
  readonly #byObject = new WeakMap<object, Thrower | null>();
  /** What is no object has no identity: of those only the newest is known. */
  #newest: { readonly value: unknown; readonly by: Thrower | null } | null = null;

  note(error: unknown, by: Thrower | null): void {
    if (isObject(error)) {
      if (!this.#byObject.has(error)) this.#byObject.set(error, by);
    } else if (this.#newest === null || !Object.is(this.#newest.value, error)) this.#newest = { value: error, by };
  }

  /** A layer has returned, so what was thrown within it was caught: another may throw the same text. */
  forget(): void {
    this.#newest = null;
  }

  /** Null where no layer threw it. */
  throwerOf(error: unknown): Thrower | null {
    if (isObject(error)) return this.#byObject.get(error) ?? null;
    return this.#newest !== null && Object.is(this.#newest.value, error) ? this.#newest.by : null;
  }
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";
