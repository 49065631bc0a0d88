import type { CameAt } from "./recorded-answers.ts";

type Waiting = { readonly came: CameAt; readonly go: () => void };

/** How many turns of the event loop an answer waits for a durable write before it is released anyway. */
const maxWritingTurns = 1_000;

/**
 * Releases answers in the order in which they came when the run was recorded, so that concurrent effects get the recorded
 * results and times, whatever the order of their requests. Releases the earliest waiter once the event loop is idle, because until then
 * an earlier one may still be requested. Answers that came at once, with nothing between them, are released together.
 */
export class RecordedOrder {
  readonly #waiting: Waiting[] = [];
  #writes = 0;
  #turns: number | null = null;

  /** Resolves when it is the turn of a result that came then. */
  turnOf(came: CameAt): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ came, go: resolve });
      this.#turns ??= this.#wait(0);
    });
  }

  /** A durable write begins or has ended: code that awaits it may then request something. */
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
