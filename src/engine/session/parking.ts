import type { BlockId } from "../../domain/ids.ts";

/** How many turns of the event loop nothing may go on before a run with something in doubt is parked. */
const idleTurns = 2;

/**
 * Effects in doubt that wait for somebody's word, and those that go on beside them: once nothing goes on, the run is
 * parked. Parking too early loses nothing, for a parked run is taken up from the log like any other.
 */
export class Parking {
  readonly #inDoubt = new Map<BlockId, string>();
  readonly #onIdle: (inDoubt: ReadonlyMap<BlockId, string>) => void;
  #live = 0;
  #check = 0;

  constructor(onIdle: (inDoubt: ReadonlyMap<BlockId, string>) => void) {
    this.#onIdle = onIdle;
  }

  /** Something of the run goes on outside. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#live += 1;
    try {
      return await work();
    } finally {
      this.#live -= 1;
      this.#look();
    }
  }

  /** An effect that nobody knows the end of waits to be settled. */
  wait(id: BlockId, name: string): void {
    this.#inDoubt.set(id, name);
    this.#look();
  }

  #look(): void {
    if (this.#inDoubt.size === 0) return;
    this.#check += 1;
    this.#lookAgain(this.#check, idleTurns);
  }

  #lookAgain(check: number, turns: number): void {
    setImmediate(() => {
      if (check !== this.#check || this.#live > 0) return;
      if (turns > 0) this.#lookAgain(check, turns - 1);
      else this.#onIdle(this.#inDoubt);
    });
  }
}
