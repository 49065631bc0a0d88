/** The time of one run, in milliseconds. */
export class RunClock {
  readonly #now: () => number;
  #at: number;

  /** @param now - The time of what happens now: never before the stream's newest event, whatever the clock does. */
  constructor(startedAt: number, now: () => number) {
    this.#at = startedAt;
    this.#now = now;
  }

  /** The time of the newest event delivered to the stack. */
  get at(): number {
    return this.#at;
  }

  /** Something reached the layers: their clock stands at its time, and never runs backwards. */
  delivered(at: number): number {
    this.#at = Math.max(this.#at, at);
    return this.#at;
  }

  /** The same for what reaches them now. */
  deliveredNow(): number {
    return this.delivered(this.#now());
  }
}
