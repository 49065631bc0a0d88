import { rejectionOf } from "../../base/abort.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";

/** A call that waits for somebody outside of the run, and the event that says so. */
export type GatedCall = { readonly id: BlockId; readonly frame: string; readonly event: ProposedEvent["event"] };

/**
 * Holds calls back until it is known of all calls under way whether they may begin: what is approved begins together, once nothing waits for
 * a decision any more. When all that is left of a run waits, the run is left to those who decide.
 */
export class Gate {
  /** How much of the run is under way and does not wait: layers that do their own work, requests, tools, effects. */
  #busy = 0;
  /** Calls of which it is not known yet whether they may begin. */
  readonly #unknown = new Set<BlockId>();
  readonly #waiting = new Map<BlockId, GatedCall>();
  #held: (() => void)[] = [];
  #questions: Promise<unknown> = Promise.resolve();
  #isLooking = false;
  #onIdle: () => void = () => undefined;

  /** Called when everything that is under way waits. */
  whenIdle(onIdle: () => void): void {
    this.#onIdle = onIdle;
  }

  get waiting(): readonly GatedCall[] {
    return [...this.#waiting.values()];
  }

  begin(): void {
    this.#busy += 1;
  }

  end(): void {
    this.#busy -= 1;
    this.look();
  }

  /** Counts work as under way until it has settled. */
  during<T>(work: Promise<T>): Promise<T> {
    this.begin();
    const end = (): void => {
      this.end();
    };
    work.then(end, end);
    return work;
  }

  /** It has to be found out whether the call may begin. */
  enter(id: BlockId): void {
    this.#unknown.add(id);
  }

  /** Asks one question after another: a person reads one at a time. */
  inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const asked = this.#questions.then(ask);
    this.#questions = asked.catch(() => undefined);
    return asked;
  }

  /** The call needs no permission, or will not begin at all. */
  leave(id: BlockId): void {
    this.#unknown.delete(id);
    this.#release();
  }

  /**
   * The call may begin: resolves once that is known of all the others too.
   *
   * @throws the signal's reason when it aborts.
   */
  async clear(id: BlockId, signal: AbortSignal): Promise<void> {
    this.#unknown.delete(id);
    const { promise, resolve: go } = Promise.withResolvers<undefined>();
    const held = (): void => {
      this.begin();
      go(undefined);
    };
    this.#held.push(held);
    this.end();
    this.#release();
    try {
      await Promise.race([promise, rejectionOf(signal)]);
    } catch (reason) {
      // Its end is counted as of one that goes on.
      if (this.#held.includes(held)) this.begin();
      this.#held = this.#held.filter((each) => each !== held);
      throw reason;
    }
  }

  /**
   * The call waits for somebody outside of the run, and does not go on in this process.
   *
   * @throws the signal's reason when it aborts: the layer that made the call has returned, or the run has ended.
   */
  async wait(call: GatedCall, signal: AbortSignal): Promise<never> {
    this.#unknown.delete(call.id);
    this.#waiting.set(call.id, call);
    this.end();
    try {
      return await rejectionOf(signal);
    } finally {
      this.#waiting.delete(call.id);
      this.begin();
      this.#release();
    }
  }

  /** Looks whether everything waits, once the event loop has let what has just ended go on. */
  look(): void {
    if (this.#isLooking || this.#busy > 0 || this.#waiting.size === 0) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#isLooking = false;
      if (this.#busy === 0) this.#onIdle();
    });
  }

  #release(): void {
    if (this.#unknown.size > 0 || this.#waiting.size > 0) return;
    for (const go of this.#held.splice(0)) go();
  }
}
