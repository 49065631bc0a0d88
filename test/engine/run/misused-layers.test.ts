import { once } from "node:events";
import { expect, test } from "vitest";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer, type LayerContext, type Next } from "../../../src/engine/ports/middleware.ts";
import { createWorkshop, rejectionOf } from "../../support/workshop.ts";

/** A layer as JavaScript may write it. */
const layer = (name: string, handle: (next: Next) => unknown): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, handle as never);

function throwing(value: unknown): never {
  throw value;
}

const odd = (value: unknown) => value as never;
const idle = layer("idle", (next) => (turn: Turn) => next(turn));

/** What a run through these layers ended with. */
async function outcomeOf(...middleware: readonly Layer[]): Promise<unknown> {
  const { conversation, scripted } = createWorkshop();
  const { engine } = scripted(["answer", "answer 2", "answer 3"], { middleware });
  await conversation.append("hello");
  return conversation.run(engine).catch((error: unknown) => error);
}

/** Long enough for a rejection to be found unhandled: Vitest fails a file in which one is. */
const turnsOfTheLoop = async (): Promise<void> => {
  for (let turns = 0; turns < 5; turns += 1) await new Promise(setImmediate);
};

const noHandler = "not a function: write (next) => async (turn, ctx) => next(turn)";
const shortOf = (next: Next) => next(odd(undefined));

test.each<[string, (next: Next) => unknown, string]>([
  [
    "an async function of the Turn",
    async () => Promise.reject(new Error("too early")),
    `layer bad returned a promise for next, ${noHandler}`,
  ],
  ["a function of nothing", () => undefined, `layer bad returned undefined for next, ${noHandler}`],
  ["its Turn", () => ({}), `layer bad returned an object for next, ${noHandler}`],
  [
    "next without a Turn",
    (next) => () => shortOf(next),
    "layer bad called next with undefined, not a Turn: write next(turn)",
  ],
  [
    "next with a list of blocks",
    (next) => (turn: Turn) => next(odd([...turn.blocks])),
    "layer bad called next with a list, not a Turn: write next(turn)",
  ],
  [
    "nothing returned",
    (next) => async (turn: Turn) => {
      await next(turn);
    },
    "layer bad returned undefined, not a Turn: return the result of next(turn)",
  ],
])("a layer that is made of %s fails the run by name", async (_, handle, message) => {
  expect(await outcomeOf(idle, layer("bad", handle))).toMatchObject({ code: "run-failed", cause: { message } });
  await turnsOfTheLoop();
});

test.each<[string, unknown, string]>([
  ["a text", "no luck", "no luck"],
  ["a number", 42, "42"],
  ["nothing", undefined, "undefined"],
  ["null", null, "null"],
])("an error about %s that a layer throws names the layer", async (_, thrown, told) => {
  const bad = layer("bad", () => async () => throwing(thrown));
  const outcome = await outcomeOf(
    idle,
    bad,
    layer("inner", (next) => (turn: Turn) => next(turn)),
  );
  expect(outcome).toMatchObject({ code: "run-failed", layer: "bad", cause: thrown });
  expect(outcome).toHaveProperty("message", expect.stringMatching(`: layer bad: ${told}$`));
});

test("of two layers that throw the same text each is named for its own error", async () => {
  const inner = layer("inner", () => async () => throwing("no luck"));
  const outer = layer("outer", (next) => async (turn: Turn) => {
    await next(turn).catch(() => undefined);
    throwing("no luck");
  });
  const catching = layer("catching", (next) => (turn: Turn) => next(turn).catch(() => turn));
  const again = layer("again", (next) => async (turn: Turn) => {
    await next(turn);
    throwing("no luck");
  });
  expect(await outcomeOf(again, catching, inner)).toMatchObject({ layer: "again" });
  expect(await outcomeOf(inner, outer)).toMatchObject({ layer: "inner" });
});

/** What a layer may begin and never look at again. */
const strays: readonly (readonly [string, (ctx: LayerContext, next: Next, turn: Turn) => Promise<unknown>])[] = [
  ["next", (_, next, turn) => next(turn)],
  ["next with what is no Turn", (_, next) => shortOf(next)],
  ["two calls of next", (_, next, turn) => Promise.all([next(turn), next(turn)])],
  ["an effect", (ctx) => ctx.effect("fetch", () => Promise.reject(new Error("no luck")))],
];

test.each(strays)(
  "no misuse ends in an unhandled rejection: %s and what comes after it, never awaited",
  async (_, begin) => {
    const bad = layer("bad", (next) => async (turn: Turn, ctx: LayerContext) => {
      const chain = async (): Promise<void> => {
        await begin(ctx, next, turn);
      };
      void chain();
      void begin(ctx, next, turn).then((result) => result);
      return turn;
    });
    const throwing = layer("throwing", (next) => (turn: Turn, ctx: LayerContext) => {
      void begin(ctx, next, turn).then((result) => result);
      throw new Error("at once");
    });
    await outcomeOf(idle, bad);
    await outcomeOf(idle, throwing);
    await turnsOfTheLoop();
    expect(await outcomeOf(idle)).toMatchObject({ status: "completed" });
  },
);

test("a call of next that is refused fails a layer that does not look at it", async () => {
  const bad = layer("bad", (next) => (turn: Turn) => {
    void shortOf(next);
    return turn;
  });
  const message = "layer bad called next with undefined, not a Turn: write next(turn)";
  expect(await outcomeOf(bad)).toMatchObject({ code: "run-failed", cause: { message } });
});

test.each(strays.slice(0, 2))("nor does one that comes when its run has ended: %s", async (_, begin) => {
  const left: (() => Promise<unknown>)[] = [];
  const bad = layer("bad", (next) => (turn: Turn, ctx: LayerContext) => {
    left.push(() => begin(ctx, next, turn).then((result) => result));
    return next(turn);
  });
  await outcomeOf(bad);
  const warned = once(process, "warning");
  for (const late of left) void late();
  expect(await warned).toMatchObject([{ code: "late-next", layer: "bad" }]);
  await turnsOfTheLoop();
});

test("a layer that waits inside next when its run is aborted still cleans up", async () => {
  const { conversation, scripted } = createWorkshop();
  const abort = new AbortController();
  const cleaned: string[] = [];
  const tidy = layer("tidy", (next) => async (turn: Turn) => {
    try {
      abort.abort(new Error("enough"));
      return await next(turn);
    } finally {
      cleaned.push("tidy");
    }
  });
  const { engine } = scripted(["answer"], { middleware: [tidy] });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine, { signal: abort.signal }))).toMatchObject({
    code: "run-cancelled",
  });
  await turnsOfTheLoop();
  expect(cleaned).toEqual(["tidy"]);
});
