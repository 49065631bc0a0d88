import type { Actor } from "../../domain/actor.ts";
import { Turn } from "../../domain/turn.ts";
import type { TurnName } from "../../projections/run-turns.ts";
import { type Layer, type LayerContext, LayerError } from "../middleware.ts";
import { innerSignal, rejectionOf } from "./abort.ts";
import { type Call, descendsFrom, type NamedTurn, normalise, notePass, partsOf, writePass } from "./pass.ts";
import { newBlockId, type RunSession, record } from "./session.ts";

/** The tree of calls of one run: layers around the core. */
export type Stack = {
  readonly session: RunSession;
  readonly layers: readonly Layer[];
  /** Makes one step: one or more provider calls. */
  readonly core: (frame: string, outgoing: Turn, scope: CallScope) => Promise<Turn>;
  readonly contextOf: (layer: Layer, around: Around) => LayerContext;
  /** The newest pass of each layer and direction, to write the next one against. */
  readonly lastPasses: Map<string, NamedTurn>;
};

/** What holds for everything within one call: how it ends, and what layers above added to the instructions. */
export type CallScope = { readonly signal: AbortSignal; readonly instructions: AddedInstructions[] };

/** A text that a layer added to the instructions of the requests within its call. */
type AddedInstructions = { readonly text: string; readonly actor: Actor };

/** The call that a layer is given its context for. */
export type Around = {
  readonly frame: string;
  readonly given: Turn;
  readonly scope: CallScope;
  readonly from: (turn: Turn) => void;
  /** Counts work as a part of the call: the call ends after it, and its time is not the layer's own. */
  readonly during: <T>(work: Promise<T>) => Promise<T>;
};

/** One call of one layer, or of the core below the last one. */
export async function runFrame(
  stack: Stack,
  depth: number,
  frame: string,
  given: Turn,
  scope: CallScope,
): Promise<Turn> {
  const layer = stack.layers[depth];
  if (layer === undefined) return stack.core(frame, given, scope);
  const { signal, end } = innerSignal(scope.signal);
  const call = new LayerCall(stack, layer, depth, frame, given, { signal, instructions: [...scope.instructions] });
  try {
    return await call.run();
  } finally {
    // What the layer left running ends with it, and the run goes on when it has.
    end(frameEnded);
    await call.settled();
  }
}

// One for all: making an error takes longer than all the rest of an idle frame.
const frameEnded = new Error("the layer that made this call has returned");

class LayerCall {
  readonly #stack: Stack;
  readonly #layer: Layer;
  readonly #depth: number;
  readonly #given: NamedTurn;
  readonly #frame: string;
  readonly #scope: CallScope;
  readonly #calls: Call[] = [];
  readonly #open = new Set<Promise<Turn>>();
  /** Everything that was begun within the call: calls of `next` and of tools. */
  readonly #begun: Promise<unknown>[] = [];
  #from: Turn | null = null;
  #hasEnded = false;
  #workMs = 0;
  #since = 0;

  constructor(stack: Stack, layer: Layer, depth: number, frame: string, given: Turn, scope: CallScope) {
    this.#stack = stack;
    this.#layer = layer;
    this.#depth = depth;
    this.#frame = frame;
    this.#given = { name: `given/${frame}`, turn: given };
    this.#scope = scope;
  }

  async run(): Promise<Turn> {
    const { session } = this.#stack;
    const watch = new LayerWatch(this.#layer, session.engine.layerTimeoutMs);
    const during = <T>(work: Promise<T>): Promise<T> => {
      this.#begun.push(work);
      const watched = watch.pauseDuring(work);
      // A layer may begin something and never look at it.
      watched.catch(() => undefined);
      return watched;
    };
    const context = this.#stack.contextOf(this.#layer, {
      ...{ frame: this.#frame, given: this.#given.turn, scope: this.#scope, during },
      from: (turn) => {
        this.#from = turn;
      },
    });
    this.#since = performance.now();
    const next = (turn: Turn): Promise<Turn> => during(this.#next(turn));
    try {
      const work = this.#layer.handle(next)(this.#given.turn, context);
      const returned = await Promise.race([work, watch.expired, rejectionOf(this.#scope.signal)]);
      this.#hasEnded = true;
      return this.#handOn(returned, "response", this.#frame);
    } finally {
      this.#hasEnded = true;
      watch.end();
    }
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#begun);
  }

  #next(turn: Turn): Promise<Turn> {
    const { name } = this.#layer;
    if (this.#hasEnded) return Promise.reject(new LayerError("late-next", name, "called next after it had returned"));
    if (this.#open.size > 0) {
      return Promise.reject(new LayerError("concurrent-next", name, "called next while a call of it was open"));
    }
    const call = this.#call(turn).finally(() => this.#open.delete(call));
    this.#open.add(call);
    return call;
  }

  async #call(turn: Turn): Promise<Turn> {
    this.#scope.signal.throwIfAborted();
    const frame = `${this.#frame}.${this.#calls.length}`;
    const passed = this.#handOn(turn, "request", frame);
    const call: Call = { frame, passed, result: null };
    this.#calls.push(call);
    try {
      call.result = await runFrame(this.#stack, this.#depth + 1, frame, passed, this.#scope);
      return call.result;
    } finally {
      this.#since = performance.now();
    }
  }

  /** Records what the layer handed on in one direction: nothing where it handed on what it got. */
  #handOn(handed: unknown, direction: "request" | "response", frame: string): Turn {
    const { session, lastPasses } = this.#stack;
    const turn = this.#checked(handed);
    const base = this.#baseOf(turn);
    const settled = normalise(turn, base.turn, () => newBlockId(session, this.#frame));
    this.#workMs = performance.now() - this.#since;
    session.passes.push({
      frame: this.#frame,
      layer: this.#layer.name,
      direction,
      ms: Math.round(this.#workMs * 100) / 100,
    });
    if (this.#isIdle(settled, direction)) return settled;
    const target: TurnName = direction === "request" ? `given/${frame}` : `result/${frame}`;
    const key = `${this.#depth} ${direction}`;
    const others = [this.#given, lastPasses.get(key)].filter((named) => named !== undefined);
    const pass = writePass(settled, base, others, session.turns);
    const actor = this.#actor(direction);
    for (const { from, edits, after } of partsOf(pass, target, session.turns)) {
      const data = { direction, from, edits: [...edits], after };
      const edit = from === base.name ? data : { ...data, base: base.name };
      record(session, { type: "EditTurn", runId: session.runId, data: edit }, actor, frame);
    }
    notePass(session.turns, pass, target, actor);
    lastPasses.set(key, { name: target, turn: settled });
    return settled;
  }

  #checked(handed: unknown): Turn {
    const { name } = this.#layer;
    if (!(handed instanceof Turn)) throw new LayerError("not-a-turn", name, "handed on something that is not a Turn");
    if (handed.length === 0) throw new LayerError("empty-turn", name, "handed on an empty Turn");
    return handed;
  }

  #baseOf(turn: Turn): NamedTurn {
    const said = this.#from;
    this.#from = null;
    const call = said === null ? undefined : this.#calls.findLast(({ result }) => result === said);
    if (call?.result != null) return { name: `result/${call.frame}`, turn: call.result };
    return descendsFrom(turn, this.#given, this.#calls);
  }

  /** What an idle pass hands on: the fold assumes it where nothing is written. */
  #isIdle(turn: Turn, direction: "request" | "response"): boolean {
    const idle = direction === "request" ? this.#given.turn : (this.#calls.at(-1)?.result ?? null);
    return turn === idle;
  }

  #actor(direction: "request" | "response"): Actor {
    const { name, version } = this.#layer;
    if (this.#layer.isEngine === true) return { kind: "engine" };
    return { kind: "middleware", name, version, frame: this.#frame, direction };
  }
}

/** Fails a layer that keeps the run waiting for its own work; what it waits for inside `next` does not count. */
class LayerWatch {
  readonly expired: Promise<never>;
  readonly #fail: (error: Error) => void;
  readonly #layer: Layer;
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;
  #pauses = 0;
  #hasEnded = false;

  constructor(layer: Layer, timeoutMs: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.expired = promise;
    this.#fail = reject;
    this.#layer = layer;
    this.#timeoutMs = timeoutMs;
    this.#start();
  }

  async pauseDuring<T>(work: Promise<T>): Promise<T> {
    this.#pauses += 1;
    clearTimeout(this.#timer);
    try {
      return await work;
    } finally {
      this.#pauses -= 1;
      this.#start();
    }
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #start(): void {
    if (this.#hasEnded || this.#pauses > 0) return;
    this.#timer = setTimeout(() => {
      const what = `did not return within ${this.#timeoutMs} ms of its own work`;
      this.#fail(new LayerError("layer-timeout", this.#layer.name, what));
    }, this.#timeoutMs);
    this.#timer.unref();
  }
}
