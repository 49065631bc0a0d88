import { messageOf } from "../../base/error-message.ts";
import type { LayerTiming } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import { refuseWithinEffect } from "../effects/within-effect.ts";
import type { DeltaContext } from "../ports/deltas.ts";
import { isHandler, type Layer, type LayerContext, LayerError, type Next, noHandler } from "../ports/middleware.ts";
import { CallScope } from "../session/call-scope.ts";
import { LateMisuse } from "../session/layer-watch.ts";
import type { NamedTurn, PassedCall } from "../session/pass.ts";
import type { LiveRun } from "../session/session.ts";
import { checkedTurn, type Direction, recordHandedOn } from "./handed-on.ts";
import { layerParts } from "./layer-parts.ts";

/** The tree of calls of one run: layers around the core. */
export type Stack = {
  readonly run: LiveRun;
  readonly layers: readonly Layer[];
  /** Makes one step: one or more provider calls. */
  readonly core: (frame: string, outgoing: Turn, scope: CallScope) => Promise<Turn>;
  /** The caller's, for layers. */
  readonly context: unknown;
  readonly contextOf: (layer: Layer, around: FrameSurroundings) => LayerContext;
  /** The newest pass of each layer and direction: the next one may be written against it. */
  readonly lastPasses: Map<string, NamedTurn>;
};

/** The call to which a layer's context belongs. */
export type FrameSurroundings = {
  readonly frame: string;
  readonly given: Turn;
  readonly scope: CallScope;
  readonly from: (turn: Turn) => void;
  /** Counts work as part of the call: the call ends after it, and its time does not count as the layer's own. */
  readonly during: <T>(work: Promise<T>) => Promise<T>;
};

/** Calls the outermost layer with the Turn that the run starts from; returns its result. */
export async function runStack(stack: Stack, given: Turn, signal: AbortSignal): Promise<Turn> {
  const { watch } = stack.run.layers;
  const misuse = new LateMisuse();
  try {
    const frame = { depth: 0, frame: "0", given, outer: CallScope.ofRun(signal) };
    const result = await runFrame({ ...stack, misuse }, frame);
    misuse.throwFirst();
    return result;
  } finally {
    watch.end();
    misuse.end();
  }
}

type WatchedStack = Stack & { readonly misuse: LateMisuse };

/** One call of one layer, or of the core below the last one. */
type FrameCall = { readonly depth: number; readonly frame: string; readonly given: Turn; readonly outer: CallScope };

function runFrame(stack: WatchedStack, call: FrameCall): Promise<Turn> {
  const layer = stack.layers[call.depth];
  if (layer === undefined) return stack.run.gate.during(stack.core(call.frame, call.given, call.outer));
  return new LayerCall(stack, layer, call).run();
}

const deltaContext = (
  { run: { conversationId, id: runId }, context }: Stack,
  { frame, given }: Pick<FrameSurroundings, "frame" | "given">,
): DeltaContext => ({ context, conversationId, runId, frame, given });

const notAwaited = "returned before its call of next did: await next and return its result, or throw";

// Shared, because creating an error takes longer than the rest of an idle frame.
const frameEnded = new Error("the layer that made this call has returned");

class LayerCall implements FrameSurroundings {
  readonly frame: string;
  readonly given: Turn;
  readonly scope: CallScope;
  readonly #stack: WatchedStack;
  readonly layer: Layer;
  readonly #depth: number;
  readonly #calls: PassedCall[] = [];
  /** Work begun within the call that has not settled: a call of `next`, and tools. */
  readonly #open = new Set<Promise<unknown>>();
  #fail: (reason: unknown) => void = () => undefined;
  #from: Turn | null = null;
  /** Calls of `next` that threw since the layer last handed something on: if it hands on again, it swallowed them. */
  #thrown: { readonly frame: string; readonly message: string }[] = [];
  #isCalling = false;
  #hasEnded = false;
  #wasBusy = false;
  /** The layer itself has ended. If its call was ended from outside, it may still be working. */
  #hasReturned = false;
  /** A misuse by the layer that has not been reported to it yet. */
  #untold: LayerError | null = null;
  #since = 0;
  #ownMs = 0;

  constructor(stack: WatchedStack, layer: Layer, { depth, frame, given, outer }: FrameCall) {
    this.#stack = stack;
    this.layer = layer;
    this.#depth = depth;
    this.frame = frame;
    this.given = given.frozen();
    this.scope = outer.within((reason) => this.#fail(reason));
    if (layer.deltas !== undefined)
      this.scope.deltas = [...outer.deltas, { layer: layer.name, rule: layer.deltas, ctx: deltaContext(stack, this) }];
  }

  async run(): Promise<Turn> {
    const shown = layerParts({ run: this.#stack.run, layer: this.layer, frame: this.frame });
    const end = (error: { readonly thrown: unknown } | null): void =>
      shown?.end({ error, ownMs: this.#ownMs, hasCalled: this.#calls.length > 0 });
    try {
      const returned = await this.#returned();
      this.#hasEnded = true;
      if (this.#untold !== null) throw this.#untold;
      if (this.#isCalling) throw new LayerError("next-not-awaited", this.layer.name, notAwaited);
      // The errors thrown within this call were caught.
      this.#stack.run.layers.thrown.forget();
      const result = this.#handOn(returned, "response", this.frame);
      end(null);
      return result;
    } catch (error) {
      if (!this.#isCalling) this.#ownMs += performance.now() - this.#since;
      end({ thrown: error });
      const by = this.layer.isEngine === true ? null : { layer: this.layer.name, frame: this.frame };
      this.#stack.run.layers.thrown.note(error, by);
      throw error;
    } finally {
      this.#hasEnded = true;
      this.#stack.run.layers.watch.stop(this);
      this.#isBusy(false);
      // Ends what the layer left running; the run continues once that has settled.
      this.scope.end(frameEnded);
      if (this.#open.size > 0) await Promise.allSettled(this.#open);
    }
  }

  from(turn: Turn): void {
    this.#from = turn;
  }

  during<T>(work: Promise<T>): Promise<T> {
    const { watch } = this.#stack.run.layers;
    watch.stop(this);
    this.#open.add(work);
    this.#isBusy(false);
    const hasSettled = (): void => {
      this.#open.delete(work);
      if (this.#open.size > 0 || this.#hasEnded) return;
      watch.start(this);
      this.#isBusy(true);
    };
    // A layer may begin work and never await it.
    work.then(hasSettled, hasSettled);
    return this.#untilReturned(work);
  }

  /** Whether it does its own work, and does not wait for something within its call. */
  #isBusy(isBusy: boolean): void {
    if (isBusy === this.#wasBusy) return;
    this.#wasBusy = isBusy;
    const { gate } = this.#stack.run;
    if (isBusy) gate.begin();
    else gate.end();
  }

  /** Once the layer has returned, its pending work neither resolves nor rejects (decision 0028). */
  #untilReturned<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const unlessReturned =
        <V>(settle: (value: V) => void) =>
        (value: V): void => {
          if (!this.#hasReturned) settle(value);
        };
      work.then(unlessReturned(resolve), (error: unknown) => {
        const isOwn = error instanceof LayerError && error.layer === this.layer.name;
        if (isOwn) this.#tell(error, reject);
        else unlessReturned(reject)(error);
      });
    });
  }

  /** Rejects one turn of the event loop later: a layer that does not await its calls has returned by then, and the misuse fails it. */
  #tell(misuse: LayerError, reject: (error: LayerError) => void): void {
    if (!this.#hasReturned) this.#untold = misuse;
    setImmediate(() => {
      if (this.#hasReturned) return;
      this.#untold = null;
      reject(misuse);
    });
  }

  /** Fails the layer for taking too long. */
  expire(timeoutMs: number): void {
    const what = `did not return within ${timeoutMs} ms of its own work`;
    this.#fail(new LayerError("layer-timeout", this.layer.name, what));
  }

  /** The layer's result. Once the call has failed, the result is ignored. */
  #returned(): Promise<Turn> {
    const { watch } = this.#stack.run.layers;
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      watch.start(this);
      this.#isBusy(true);
      this.#since = performance.now();
      const next: Next = (turn) => {
        refuseWithinEffect(this.#stack.run.id, "next");
        return this.during(this.#next(turn));
      };
      const hasReturned =
        <V>(settle: (value: V) => void) =>
        (value: V): void => {
          this.#hasReturned = true;
          settle(value);
        };
      Promise.resolve(this.#begin(next)).then(hasReturned(resolve), hasReturned(reject));
    });
  }

  #begin(next: Next): Promise<Turn> {
    try {
      const handler: unknown = this.layer.handle(next);
      if (!isHandler(handler)) throw noHandler(this.layer.name, handler);
      return handler(this.given, this.#stack.contextOf(this.layer, this));
    } catch (error) {
      this.#hasReturned = true;
      throw error;
    }
  }

  #next(turn: Turn): Promise<Turn> {
    const { name } = this.layer;
    if (this.#hasEnded) {
      const late = new LayerError("late-next", name, "called next after it had returned: await each call of next");
      if (this.#hasReturned) this.#stack.misuse.note(late);
      return Promise.reject(late);
    }
    if (this.#isCalling) {
      return Promise.reject(new LayerError("concurrent-next", name, "called next before an earlier call had returned"));
    }
    return this.#call(turn);
  }

  async #call(turn: Turn): Promise<Turn> {
    this.#isCalling = true;
    try {
      this.scope.throwIfEnded();
      const frame = `${this.frame}.${this.#calls.length}`;
      const passed = this.#handOn(turn, "request", frame);
      const call: PassedCall = { frame, passed, result: null };
      this.#calls.push(call);
      const below = { depth: this.#depth + 1, frame, given: passed, outer: this.scope };
      try {
        call.result = (await runFrame(this.#stack, below)).frozen();
      } catch (error) {
        this.#stack.run.layers.thrown.note(error, null);
        this.#thrown.push({ frame, message: messageOf(error) });
        throw error;
      }
      return call.result;
    } finally {
      this.#since = performance.now();
      this.#isCalling = false;
    }
  }

  /** How the layer came by what it hands on, as far as no Turn shows it. */
  #unseen(direction: Direction): Pick<LayerTiming, "withoutNext" | "swallowed"> {
    if (this.layer.isEngine === true) return {};
    const swallowed = this.#thrown;
    this.#thrown = [];
    if (swallowed.length > 0) return { swallowed };
    return direction === "response" && this.#calls.length === 0 ? { withoutNext: true } : {};
  }

  /** Records what the layer handed on in one direction; nothing if it handed on what it got. */
  #handOn(handed: unknown, direction: Direction, frame: string): Turn {
    const turn = checkedTurn(this.layer.name, handed, direction);
    const { run } = this.#stack;
    const ms = Math.round((performance.now() - this.#since) * 100) / 100;
    this.#ownMs += ms;
    const { frame: own } = this;
    run.layers.timings.push({ frame: own, layer: this.layer.name, direction, ms, ...this.#unseen(direction) });
    const from = this.#from;
    this.#from = null;
    const call = {
      layer: this.layer,
      depth: this.#depth,
      frame: this.frame,
      given: this.given,
      calls: this.#calls,
      from,
    };
    return recordHandedOn(this.#stack, call, { turn, direction, frame });
  }
}
