import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { assistant } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer, type LayerHandler, type Next } from "../../../src/engine/ports/middleware.ts";
import { gated } from "../../support/gates.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const layer = (name: string, handle: (next: Next) => LayerHandler): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, handle);
const idle = layer("idle", (next) => (turn) => next(turn));
const inner = layer("inner", (next) => (turn) => next(turn));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const after = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const layerTimeoutMs = 20;

async function conversationWith(middleware: readonly Layer[]) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["answer", "answer 2"], { middleware, layerTimeoutMs });
  await conversation.append("hello");
  return { conversation, engine };
}

test("a layer that does not listen is waited for no longer when its run is aborted, whatever it does later", async () => {
  const abort = new AbortController();
  const later = Promise.withResolvers<Turn>();
  const deaf = layer("deaf", () => () => {
    setImmediate(() => abort.abort(new Error("the user has gone")));
    return later.promise;
  });
  const { conversation, engine } = await conversationWith([idle, deaf]);
  const outcome = await rejectionOf(conversation.run(engine, { signal: abort.signal }));
  expect(outcome).toMatchObject({ code: "run-cancelled", cause: { message: "the user has gone" } });
  const before = await eventsOf(conversation);
  expect(before.at(-1)?.event.type).toBe("RunCancelled");
  // Unhandled, it would fail this test.
  later.reject(new Error("too late"));
  await new Promise(setImmediate);
  expect(await eventsOf(conversation)).toEqual(before);
});

test.each([
  ["kept", true],
  ["passed", false],
])("a layer has all of its time again after each call of next: %s", async (_, isInTime) => {
  const slow = layer("slow", (next) => async (turn) => {
    await after(15);
    await next(turn);
    await after(15);
    const result = await next(turn);
    await after(isInTime ? 15 : 21);
    return isInTime ? result : new Promise(() => undefined);
  });
  const { conversation, engine } = await conversationWith([idle, slow, inner]);
  const outcome = await conversation.run(engine).catch((error: unknown) => error);
  if (isInTime) expect(outcome).toMatchObject({ status: "completed" });
  else expect(outcome).toMatchObject({ kind: "layer-timeout", cause: { layer: "slow" } });
});

test("the time of a request is nobody's own", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = gated(["answer"], () => after(21));
  await conversation.append("hello");
  const { status } = await conversation.run(workshop.engine({ provider, middleware: [idle, inner], layerTimeoutMs }));
  expect(status).toBe("completed");
});

test("a call of next that comes too late does not take the watch off the layer at work", async () => {
  const leaked: Next[] = [];
  const leaking = layer("leaking", (next) => (turn) => {
    leaked.push(next);
    return next(turn);
  });
  const stuck = layer("stuck", (next) => async (turn) => {
    const result = await next(turn);
    for (const late of leaked) void late(result);
    await after(21);
    return new Promise(() => undefined);
  });
  const { conversation, engine } = await conversationWith([stuck, leaking]);
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ cause: { layer: "stuck" } });
});

test("a layer that comes back after its time has passed changes nothing", async () => {
  const woken = Promise.withResolvers<null>();
  const late: unknown[] = [];
  const sleeper = layer("sleeper", (next) => async (turn, ctx) => {
    await after(21);
    await woken.promise;
    late.push(ctx.signal.aborted, await rejectionOf(next(turn)));
    return turn.append(assistant("late"));
  });
  const { conversation, engine } = await conversationWith([sleeper]);
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ kind: "layer-timeout" });
  const before = await eventsOf(conversation);
  woken.resolve(null);
  await expect.poll(() => late).toMatchObject([true, { code: "late-next", layer: "sleeper" }]);
  expect(await eventsOf(conversation)).toEqual(before);
});

test("a layer that throws before it gives a promise fails the run with what it threw", async () => {
  const throwing = layer("throwing", () => () => {
    throw new Error("at once");
  });
  const { conversation, engine } = await conversationWith([idle, throwing]);
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({
    code: "run-failed",
    cause: { message: "at once" },
  });
  expect(dataOf(await eventsOf(conversation), "RunFailed")).toMatchObject([{ message: "at once" }]);
});

test.each(["early", "late"])("a signal asked for %s ends with the call that it belongs to", async (when) => {
  const signals: AbortSignal[] = [];
  const contexts: { readonly signal: AbortSignal }[] = [];
  const asking = layer("asking", (next) => (turn, ctx) => {
    contexts.push(ctx);
    if (when === "early") signals.push(ctx.signal);
    return next(turn);
  });
  const states: boolean[] = [];
  const outer = layer("outer", (next) => async (turn, ctx) => {
    const result = await next(turn);
    signals.push(...contexts.map(({ signal }) => signal));
    states.push(ctx.signal.aborted, ...signals.map(({ aborted }) => aborted));
    return result;
  });
  const { conversation, engine } = await conversationWith([outer, asking]);
  await conversation.run(engine);
  expect(states).toEqual(when === "early" ? [false, true, true] : [false, true]);
});
