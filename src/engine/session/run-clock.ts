/** The time of one run, in milliseconds. */
export class RunClock {
  readonly #now: () => number;
  #at: number;

  /** @param now - The current time: never before the stream's newest event, whatever the clock says. */
  constructor(startedAt: number, now: () => number) {
    this.#at = startedAt;
    this.#now = now;
  }

  /** The time of the newest event delivered to the stack. */
  get at(): number {
    return this.#at;
  }

  /** Something reached the layers: their clock is set to its time, but never back. */
  delivered(at: number): number {
    this.#at = Math.max(this.#at, at);
    return this.#at;
  }

  /** The same for something that reaches them now. */
  deliveredNow(): number {
    return this.delivered(this.#now());
  }
}
