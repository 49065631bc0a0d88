/** A layer's call as its watch sees it: something that can be failed for being slow. */
type WatchedLayer = { expire(timeoutMs: number): void };

/**
 * Fails a layer that keeps the run waiting for its own work. Of all calls of a run at most one is at work itself, the others
 * wait inside `next` or for tools: so one timer serves them all.
 */
export class LayerWatch {
  readonly #timer: NodeJS.Timeout;
  #working: WatchedLayer | null = null;

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#working?.expire(timeoutMs), timeoutMs);
    this.#timer.unref();
  }

  /** The call goes to work, with all of its time. */
  start(call: WatchedLayer): void {
    this.#working = call;
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
