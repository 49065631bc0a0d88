import { once } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { assistant, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer, type LayerHandler, type Next } from "../../../src/engine/ports/middleware.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { gated, untilAborted } from "../../support/gates.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const layer = (name: string, handle: (next: Next) => LayerHandler): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, handle);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Time goes on by a number of milliseconds, and everything that waits for it happens. */
const after = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Runs one conversation of one message through these layers, and gives what happened. */
async function runThrough(layers: readonly Layer[], answers: readonly string[] = ["answer", "answer 2"]) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(answers, { middleware: layers, layerTimeoutMs: 20 });
  const [said] = (await conversation.append("hello")).blocks;
  const outcome = await conversation.run(engine).catch((error: unknown) => error);
  const events = await eventsOf(conversation);
  return { conversation, workshop, provider, said, outcome, events, turn: await conversation.turn() };
}

const textsOf = (turn: Turn): readonly string[] => turn.blocks.map(({ text }) => text);
const idsOf = (turn: Turn): readonly (string | null)[] => turn.blocks.map(({ id }) => id);

test("the first layer listed is the outermost", async () => {
  const seen: string[] = [];
  const noting = (name: string): Layer =>
    layer(name, (next) => async (turn) => {
      seen.push(`${name} in`);
      const result = await next(turn);
      seen.push(`${name} out`);
      return result;
    });
  await runThrough([noting("a"), noting("b")]);
  expect(seen).toEqual(["a in", "b in", "b out", "a out"]);
});

test("frames number the tree of calls", async () => {
  const frames: string[] = [];
  const noting = (times: number): Layer =>
    layer(`noting-${times}`, (next) => async (turn, { frame }) => {
      frames.push(frame);
      let result = turn;
      for (let call = 0; call < times; call += 1) result = await next(turn);
      return result;
    });
  const { events } = await runThrough([noting(2), noting(1)]);
  expect(frames).toEqual(["0", "0.0", "0.1"]);
  const requests = events.filter(({ event }) => event.type === "InferenceRequested");
  expect(requests.map(({ frame }) => frame)).toEqual(["0.0.0", "0.1.0"]);
});

test("idle layers write nothing", async () => {
  const { events } = await runThrough([layer("idle", (next) => (turn) => next(turn))]);
  expect(dataOf(events, "TurnEdited")).toEqual([]);
});

test("a Turn that was made again with what it held writes nothing", async () => {
  const again = layer("again", (next) => async (turn) => {
    const result = await next(Turn.of(turn.blocks.map((block) => block.withText(block.text).withWire(block.wire))));
    return Turn.of(result.blocks);
  });
  const { events } = await runThrough([again]);
  expect(dataOf(events, "TurnEdited")).toEqual([]);
});

test("a repeated id gets a clone of its own", async () => {
  const twice = layer("twice", (next) => (turn) => next(turn.append(...turn.blocks)));
  const { turn, said } = await runThrough([twice]);
  expect(textsOf(turn)).toEqual(["hello", "hello", "answer"]);
  expect(new Set(idsOf(turn)).size).toBe(3);
  expect(idsOf(turn)[0]).toBe(said?.id);
});

test("a draft that says what a missing block said is that block", async () => {
  const redraft = layer("redraft", (next) => (turn) => next(Turn.of(turn.blocks.map((block) => block.withId(null)))));
  const { turn, said, events } = await runThrough([redraft]);
  expect(idsOf(turn)[0]).toBe(said?.id);
  expect(dataOf(events, "TurnEdited")).toEqual([]);
});

test("a draft that says something new gets an id of the run", async () => {
  const insert = layer("insert", (next) => (turn) => next(turn.append(user("new"))));
  const { turn } = await runThrough([insert]);
  expect(idsOf(turn)[1]).toBe("run_0000000000000001/0/0");
});

test("an inner layer is given the very objects that did not change", async () => {
  const seen: Turn[] = [];
  const outer = layer("outer", (next) => (turn) => {
    seen.push(turn);
    return next(Turn.of([...turn.blocks.map((block) => block.withText(block.text)), user("new")]));
  });
  const inner = layer("inner", (next) => (turn) => {
    seen.push(turn);
    return next(turn);
  });
  await runThrough([outer, inner]);
  expect(seen[1]?.at(0)).toBe(seen[0]?.at(0));
});

test("a second call of next while one is open is refused, and names the layer", async () => {
  let refused: unknown;
  const impatient = layer("impatient", (next) => async (turn) => {
    const first = next(turn);
    refused = await next(turn).catch((error: unknown) => error);
    return first;
  });
  const { turn } = await runThrough([impatient]);
  expect(refused).toMatchObject({ code: "concurrent-next", layer: "impatient" });
  expect(textsOf(turn)).toEqual(["hello", "answer"]);
});

test("next after its run has ended is a warning of the process, and asks no model", async () => {
  const leaked: Next[] = [];
  const leaking = layer("leaking", (next) => (turn) => {
    leaked.push(next);
    return next(turn);
  });
  const { turn, provider } = await runThrough([leaking]);
  const warned = once(process, "warning");
  for (const next of leaked) void next(turn);
  expect(await warned).toMatchObject([{ code: "late-next", layer: "leaking" }]);
  expect(provider.requests).toHaveLength(1);
});

test("next after the layer has returned fails the run that goes on, and names the layer", async () => {
  const leaked: Next[] = [];
  const leaking = layer("leaking", (next) => (turn) => {
    leaked.push(next);
    return next(turn);
  });
  const waiting = layer("waiting", (next) => async (turn) => {
    const result = await next(turn);
    for (const late of leaked) void late(turn);
    return result;
  });
  const { outcome, provider } = await runThrough([waiting, leaking]);
  expect(outcome).toMatchObject({ kind: "late-next", cause: { layer: "leaking" } });
  expect(provider.requests).toHaveLength(1);
});

test("a layer that returns while a call is open fails the run by its name, which waits until the call has ended", async () => {
  const ended: unknown[] = [];
  const hasty = layer("hasty", (next) => async (turn) => {
    void next(turn);
    return turn.append(assistant("hasty answer"));
  });
  const inner = layer("inner", (next) => async (turn, { signal }) => {
    try {
      return await next(turn);
    } finally {
      ended.push(signal.aborted);
    }
  });
  const { turn, provider, outcome } = await runThrough([hasty, inner]);
  expect(outcome).toMatchObject({ kind: "next-not-awaited", layer: "hasty", frame: "0" });
  expect({ ended, requests: provider.requests.length }).toEqual({ ended: [true], requests: 0 });
  expect(textsOf(turn)).toEqual(["hello"]);
});

test("a run that gave up a request ends when the request has, and tells how", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const asked = Promise.withResolvers<null>();
  const provider = gated([], async (_, { signal }) => {
    asked.resolve(null);
    await untilAborted(signal).catch(() => undefined);
    await new Promise(setImmediate);
    throw new ProviderError("given up", { kind: "aborted", outcome: "unknown" });
  });
  const hasty = layer("hasty", (next) => async (turn) => {
    void next(turn);
    await asked.promise;
    return turn.append(assistant("hasty answer"));
  });
  await conversation.append("hello");
  await rejectionOf(conversation.run(workshop.engine({ provider, middleware: [hasty] })));
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["InferenceFailed", "RunFailed"]);
});

test.each([
  ["an empty Turn handed on", "empty-turn", layer("bad", (next) => () => next(Turn.empty))],
  ["an empty Turn returned", "empty-turn", layer("bad", () => async () => Turn.empty)],
  [
    "a layer that never settles",
    "layer-timeout",
    layer("bad", () => () => after(21).then(() => new Promise(() => undefined))),
  ],
] as const)("%s fails the run and names the layer", async (_, kind, bad) => {
  const { outcome, events, turn } = await runThrough([bad]);
  expect(outcome).toMatchObject({ code: "run-failed", kind, cause: { code: kind, layer: "bad" } });
  expect(dataOf(events, "RunFailed")).toMatchObject([{ kind }]);
  expect(dataOf(events, "RunFailed")[0]?.message).toContain("bad");
  expect(textsOf(turn)).toEqual(["hello"]);
});

test("what a layer waits for inside next is not its own time", async () => {
  const slow = ["slow", "slow-too"].map((name) =>
    layer(name, (next) => async (turn) => {
      await after(15);
      return next(turn);
    }),
  );
  const { outcome } = await runThrough([layer("outer", (next) => (turn) => next(turn)), ...slow]);
  expect(outcome).toMatchObject({ status: "completed" });
});

test("a refused second call does not start the layer's time while the first is open", async () => {
  const slow = ["slow", "slow-too"].map((name) =>
    layer(name, (next) => async (turn) => {
      await after(19);
      return next(turn);
    }),
  );
  const impatient = layer("impatient", (next) => async (turn) => {
    const first = next(turn);
    await next(turn).catch(() => undefined);
    return first;
  });
  const { outcome } = await runThrough([impatient, ...slow]);
  expect(outcome).toMatchObject({ status: "completed" });
});

test("an answer without next is no context that a request could continue from", async () => {
  const cache = layer(
    "cache",
    (next) => async (turn) => (turn.last?.text === "hello" ? turn.append(assistant("cached")) : next(turn)),
  );
  const { conversation, workshop, provider, turn } = await runThrough([cache]);
  expect(textsOf(turn)).toEqual(["hello", "cached"]);
  expect((await conversation.at(-1)).serverContexts).toEqual([]);
  await conversation.append("more");
  const next = workshop.scripted(["after the cache"]);
  const { steps } = await conversation.run(next.engine);
  expect(provider.requests).toEqual([]);
  expect(steps[0]?.decision).toMatchObject({ strategy: "full", reason: "first-request", sendFrom: 0 });
});

test("a layer that drops all of an answer says with ctx.from what its Turn descends from", async () => {
  const judge = layer("judge", (next) => async (turn, ctx) => {
    const result = await next(turn);
    ctx.from(result);
    return turn.append(assistant("withheld"));
  });
  const silent = layer("silent", (next) => async (turn) => {
    await next(turn);
    return turn.append(assistant("withheld"));
  });
  const said = await runThrough([judge]);
  const unsaid = await runThrough([silent]);
  const [withFrom, without] = [dataOf(said.events, "TurnEdited"), dataOf(unsaid.events, "TurnEdited")];
  expect(withFrom).toMatchObject([{ from: "result/0.0", edits: [{ op: "remove" }, { op: "insert" }] }]);
  expect(without).toMatchObject([{ from: "given/0", edits: [{ op: "insert" }] }]);
  expect(textsOf(said.turn)).toEqual(["hello", "withheld"]);
});

test("time, ids and numbers of a layer follow from the run and the frame", async () => {
  const drawn: unknown[] = [];
  const drawing = layer("drawing", (next) => (turn, ctx) => {
    drawn.push(ctx.id(), ctx.id(), ctx.random(), ctx.random(), ctx.now());
    return next(turn);
  });
  await runThrough([drawing]);
  await runThrough([drawing]);
  expect(drawn.slice(0, 5)).toEqual(drawn.slice(5));
  expect(drawn.slice(0, 2)).toEqual(["run_0000000000000001/0/0", "run_0000000000000001/0/1"]);
  expect(drawn[2]).not.toBe(drawn[3]);
});

test("work that waits for an answer runs once it is durable, and not for an earlier answer", async () => {
  const order: string[] = [];
  const asking = layer("asking", (next) => async (turn, ctx) => {
    ctx.onAcknowledged(() => order.push("acknowledged 1"));
    const first = await next(turn);
    order.push("answer 1");
    ctx.onAcknowledged(() => order.push("acknowledged 2"));
    const second = await next(first.append(user("again")));
    order.push("answer 2");
    return second;
  });
  await runThrough([asking]);
  expect(order.toSorted()).toEqual(["acknowledged 1", "acknowledged 2", "answer 1", "answer 2"]);
  for (const n of [1, 2]) expect(order.indexOf(`acknowledged ${n}`)).toBeGreaterThan(order.indexOf(`answer ${n}`));
});

test("work that waits for an answer and throws does no harm to the run", async () => {
  const throwing = layer("throwing", (next) => (turn, ctx) => {
    ctx.onAcknowledged(() => {
      throw new Error("the callback's own trouble");
    });
    return next(turn);
  });
  const { outcome } = await runThrough([throwing]);
  expect(outcome).toMatchObject({ status: "completed" });
});

test("a layer knows which blocks no server has seen", async () => {
  const unsent: (readonly string[])[] = [];
  const looking = layer("looking", (next) => (turn, ctx) => {
    unsent.push(turn.blocks.filter(({ id }) => id !== null && ctx.unsent.has(id)).map(({ text }) => text));
    return next(turn);
  });
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["first answer", "second answer"], { middleware: [looking] });
  await conversation.append("one");
  await conversation.run(engine);
  await conversation.append("two");
  await conversation.run(engine);
  expect(unsent).toEqual([["one"], ["two"]]);
});
