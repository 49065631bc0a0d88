import type { Actor } from "../../domain/actor.ts";
import type { RuleOfCall } from "../ports/deltas.ts";

/** A text that a layer added to the instructions of the requests within its call. */
type AddedInstructions = { readonly text: string; readonly actor: Actor };

/**
 * What applies to everything within one call: how it ends, and what outer layers added to the instructions. The signal is created on
 * demand: most layers never use one, and creating it costs more than the rest of an idle frame.
 */
export class CallScope {
  instructions: readonly AddedInstructions[] = [];
  /** What the layers around a request change of its deltas, the outermost first. */
  deltas: readonly RuleOfCall[] = [];
  readonly #outer: CallScope | null;
  readonly #onEnd: ((reason: unknown) => void) | null;
  /** The open call of `next`: there is at most one. */
  #inner: CallScope | null = null;
  #controller: AbortController | null = null;
  #end: { readonly reason: unknown } | null = null;

  private constructor(outer: CallScope | null, onEnd: ((reason: unknown) => void) | null) {
    this.#outer = outer;
    this.#onEnd = onEnd;
  }

  /** The scope of a whole run, which ends when the signal aborts. */
  static ofRun(signal: AbortSignal): CallScope {
    const scope = new CallScope(null, null);
    if (signal.aborted) scope.end(signal.reason);
    else signal.addEventListener("abort", () => scope.end(signal.reason), { once: true });
    return scope;
  }

  /** The scope of a call within this one, which ends with it; `onEnd` is called once. Nothing begins in a scope that has ended. */
  within(onEnd: (reason: unknown) => void): CallScope {
    this.throwIfEnded();
    const scope = new CallScope(this, onEnd);
    scope.instructions = this.instructions;
    scope.deltas = this.deltas;
    this.#inner = scope;
    return scope;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#end !== null) this.#controller.abort(this.#end.reason);
    return this.#controller.signal;
  }

  /** Ends the call and what is open within it. */
  end(reason: unknown): void {
    if (this.#end !== null) return;
    this.#end = { reason };
    if (this.#outer !== null && this.#outer.#inner === this) this.#outer.#inner = null;
    this.#inner?.end(reason);
    this.#controller?.abort(reason);
    this.#onEnd?.(reason);
  }

  throwIfEnded(): void {
    if (this.#end !== null) throw this.#end.reason;
  }
}
