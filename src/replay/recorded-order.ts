import type { CameAt } from "./recorded-answers.ts";

type Waiting = { readonly came: CameAt; readonly go: () => void };

/** How many turns of the event loop a durable write is waited for before an answer goes all the same. */
const maxWritingTurns = 1_000;

/**
 * Lets answers go in the order in which they came when the run was recorded: what several effects at once gave, and when, is
 * then as it was, whichever was asked for first. The earliest of those that wait goes once nothing else moves, for until then
 * one that came earlier may still be asked for; those that came at once, with nothing between them, go together.
 */
export class RecordedOrder {
  readonly #waiting: Waiting[] = [];
  #writes = 0;
  #turns: number | null = null;

  /** Resolves when it is the turn of what came then. */
  turnOf(came: CameAt): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ came, go: resolve });
      this.#turns ??= this.#wait(0);
    });
  }

  /** A durable write begins or has ended: code that waits for it may ask for something then. */
  noteWrite(phase: "before" | "after"): void {
    this.#writes += phase === "before" ? 1 : -1;
  }

  #wait(turns: number): number {
    setImmediate(() => {
      this.#turns = null;
      if (this.#writes > 0 && turns < maxWritingTurns) this.#turns = this.#wait(turns + 1);
      else this.#letGo();
    });
    return turns;
  }

  #letGo(): void {
    this.#waiting.sort((left, right) => left.came.revision - right.came.revision);
    let last: CameAt | null = null;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { came, go } = next;
      if (last !== null && (came.revision !== last.revision + 1 || came.at !== last.at)) break;
      this.#waiting.shift();
      last = came;
      go();
    }
    if (this.#waiting.length > 0) this.#turns = this.#wait(0);
  }
}
