import { AsyncLocalStorage } from "node:async_hooks";
import { Socket } from "node:net";
import { vi } from "vitest";
import { type Engine, engineOf } from "../../src/engine/options/engine.ts";
import type { Layer, LayerContext } from "../../src/engine/ports/middleware.ts";

/** The layer whose own code runs; null while it is the engine's, or anybody else's. */
const working = new AsyncLocalStorage<string | null>();

/** What layers reached for while the guard stood. */
export type OutsideGuard = Disposable & { readonly touched: readonly string[] };

/**
 * Until it is disposed, a guarded layer's own code finds no clock, chance, timer or network: they throw. The engine, which
 * its code calls and is called by, keeps them.
 */
export function guardOutside(): OutsideGuard {
  const touched: string[] = [];
  const check = (what: string): void => {
    const layer = working.getStore() ?? null;
    if (layer === null) return;
    touched.push(`${layer}: ${what}`);
    throw new Error(`${layer} reached for ${what}`);
  };
  vi.stubGlobal("Date", guardedDate(check));
  for (const name of ["fetch", "setTimeout", "setInterval", "setImmediate", "queueMicrotask"] as const) {
    vi.stubGlobal(
      name,
      guardedFunction(globalThis[name], () => check(name)),
    );
  }
  const random = vi.spyOn(Math, "random").mockImplementation(guardedFunction(Math.random, () => check("Math.random")));
  // Every client of HTTP, TLS or TCP comes by here.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- the proxy calls it on the socket that it was called on.
  const realConnect = Socket.prototype.connect;
  const connect = vi
    .spyOn(Socket.prototype, "connect")
    .mockImplementation(guardedFunction(realConnect, () => check("a socket")));
  return {
    touched,
    [Symbol.dispose]() {
      vi.unstubAllGlobals();
      random.mockRestore();
      connect.mockRestore();
    },
  };
}

/** The same function, looked at before every call. */
const guardedFunction = <F extends (...args: never[]) => unknown>(real: F, before: () => void): F =>
  new Proxy(real, {
    apply(target, self, given) {
      before();
      const result: unknown = Reflect.apply(target, self, given);
      return result;
    },
  });

/** Times that someone names are no clock. */
const guardedDate = (check: (what: string) => void): DateConstructor =>
  new Proxy(Date, {
    apply(target, self, given) {
      check("Date");
      const text: unknown = Reflect.apply(target, self, given);
      return text;
    },
    construct(target, given) {
      if (given.length === 0) check("new Date");
      const date: unknown = Reflect.construct(target, given);
      if (date instanceof target) return date;
      throw new TypeError("a date is no date");
    },
    get(target, name, receiver) {
      if (name === "now") check("Date.now");
      const found: unknown = Reflect.get(target, name, receiver);
      return found;
    },
  });

/** The engine with layers that a guard knows. */
export const guarded = ({ options }: Engine): Engine =>
  engineOf({ ...options, layers: options.layers.map(guardedLayer) });

const guardedLayer = (layer: Layer): Layer => ({
  ...layer,
  handle(next) {
    const inner = layer.handle((turn) => working.run(null, () => next(turn)));
    return (turn, ctx) => working.run(layer.name, () => inner(turn, asEngine(ctx)));
  },
});

/** What a layer asks of the engine is the engine's doing. */
const asEngine = (ctx: LayerContext): LayerContext => ({
  context: ctx.context,
  conversationId: ctx.conversationId,
  runId: ctx.runId,
  frame: ctx.frame,
  get settings() {
    return ctx.settings;
  },
  get signal() {
    return ctx.signal;
  },
  get unsent() {
    return ctx.unsent;
  },
  get replaying() {
    return ctx.replaying;
  },
  get summarising() {
    return ctx.summarising;
  },
  now: () => ctx.now(),
  id: () => ctx.id(),
  random: () => ctx.random(),
  from: (turn) => ctx.from(turn),
  instructions: (text) => ctx.instructions(text),
  onAcknowledged: (work) => ctx.onAcknowledged(work),
  infer: (asked) => ctx.infer(asked),
  canRun: (call) => ctx.canRun(call),
  offers: (tool) => ctx.offers(tool),
  emit: (name, data) => ctx.emit(name, data),
  tool: (call) => working.run(null, () => ctx.tool(call)),
  effect: (name, work, options) => working.run(null, () => ctx.effect(name, work, options)),
});
