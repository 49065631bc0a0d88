import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { endless } from "../support/gates.ts";
import { calling } from "../support/run/tool-runs.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../support/workshop.ts";

/** Two processes on one store, and the subscriptions that are open on it. */
function scene() {
  const inner = createMemoryStore();
  let open = 0;
  const events: EventStore = {
    ...inner,
    close: () => Promise.resolve(),
    async *subscribe(options) {
      open += 1;
      try {
        yield* inner.subscribe(options);
      } finally {
        open -= 1;
      }
    },
  };
  const [first, second] = [new TurnlogStore(events), new TurnlogStore(events)];
  return {
    first,
    second,
    one: first.conversation("cnv_1"),
    two: second.conversation("cnv_1"),
    subscriptions: () => open,
  };
}

/** An engine whose model never ends its answer, and when it has begun with it. */
function hanging(config: Partial<EngineConfig> = {}) {
  const begun = Promise.withResolvers<undefined>();
  const observers = [
    { next: ({ type }: { readonly type: string }) => type === "text-delta" && begun.resolve(undefined) },
  ];
  return { begun: begun.promise, engine: createEngine({ provider: endless(), observers, ...config }) };
}

const operator = { kind: "operator", name: "ann" } as const;

test("a run is ended from elsewhere: its caller and the log say by whom and why, and the next run answers", async () => {
  const { one, two } = scene();
  await one.append("hello");
  const { engine, begun } = hanging();
  const running = rejectionOf(one.run(engine));
  await begun;
  const cancelled = await two.cancel({ reason: "wrong customer", actor: operator });
  expect(cancelled).toMatchObject({ status: "cancelled" });
  const error = await running;
  expect(error).toMatchObject({ code: "run-cancelled", runId: cancelled?.runId, cancelledBy: operator });
  expect(String(error)).toMatch(/was cancelled by operator ann: wrong customer$/);
  const events = await eventsOf(two);
  expect(typesOf(events).slice(-3)).toEqual(["RunCancelRequested", "InferenceFailed", "RunCancelled"]);
  expect(events.at(-3)).toMatchObject({ actor: operator, event: { data: { reason: "wrong customer" } } });
  expect(dataOf(events, "RunCancelled")).toMatchObject([{ reason: "wrong customer" }]);
  expect(await two.run(createEngine({ provider: scripted(["an answer"]) }))).toMatchObject({ text: "an answer" });
});

test("tools are aborted, and their calls are answered", async () => {
  const { one, two } = scene();
  await one.append("hello");
  const begun = Promise.withResolvers<AbortSignal>();
  const charge = tool({
    name: "charge",
    description: "Takes money.",
    inputSchema: z.object({}),
    execute: (_, { signal }) => {
      begun.resolve(signal);
      return new Promise(() => undefined);
    },
  });
  const engine = createEngine({ provider: scripted([calling(["charge", "{}"])]), tools: [charge] });
  const running = rejectionOf(one.run(engine));
  const signal = await begun.promise;
  expect(await two.cancel()).toMatchObject({ status: "cancelled" });
  expect(signal.aborted).toBe(true);
  expect(await running).toMatchObject({ code: "run-cancelled", cancelledBy: { kind: "operator" } });
  const turn = await two.turn();
  expect(turn.blocks.map(({ kind }) => kind)).toEqual(["user", "tool_call", "tool_result"]);
});

test("a hundred runs of a store have one subscription, and each is ended alone", async () => {
  const { first, second, subscriptions } = scene();
  const runs = await Promise.all(
    Array.from({ length: 100 }, async (_, number) => {
      const conversation = first.conversation(`cnv_${number}`);
      await conversation.append("hello");
      const { engine, begun } = hanging();
      const stop = new AbortController();
      const ended = rejectionOf(conversation.run(engine, { signal: stop.signal }));
      await begun;
      return { id: conversation.id, ended, stop };
    }),
  );
  expect(await second.conversation("cnv_17").cancel()).toMatchObject({ status: "cancelled" });
  expect(subscriptions()).toBe(1);
  const left = runs.filter(({ id }) => id !== "cnv_17");
  const isOver = Promise.race(left.map(({ ended }) => ended)).then(() => true);
  expect(await Promise.race([isOver, new Promise((resolve) => setTimeout(resolve, 50))])).toBeUndefined();
  for (const { stop } of left) stop.abort();
  await Promise.all(runs.map(({ ended }) => ended));
  await expect.poll(subscriptions).toBe(0);
});

test("a caller that cancels a run without an owner ends it, with everything that its owner would have recorded", async () => {
  const { first, one, two } = scene();
  await one.append("hello");
  const { engine, begun } = hanging();
  const running = rejectionOf(one.run(engine));
  await begun;
  await first.close();
  expect(await running).toMatchObject({ code: "run-parked" });
  expect(await two.cancel({ reason: "no longer wanted", actor: operator })).toMatchObject({ status: "cancelled" });
  const events = await eventsOf(two);
  expect(typesOf(events).slice(-3)).toEqual(["RunParked", "RunCancelRequested", "RunCancelled"]);
  expect(events.slice(-2).map(({ actor }) => actor)).toEqual([operator, operator]);
});

test("a run whose owner left before it saw the request is ended by the next one, which then answers", async () => {
  const { first, one, two } = scene();
  await one.append("hello");
  const { engine, begun } = hanging();
  const running = rejectionOf(one.run(engine));
  await begun;
  const asking = two.cancel({ waitMs: 0 });
  await first.close();
  await running;
  const asked = await asking;
  const result = await two.run(createEngine({ provider: scripted(["an answer"]) }));
  expect(result).toMatchObject({ text: "an answer" });
  expect(asked?.runId).not.toBe(result.runId);
  const events = await eventsOf(two);
  expect(dataOf(events, "RunCancelRequested")).toHaveLength(1);
  expect(dataOf(events, "RunCancelled")).toHaveLength(1);
  expect(await two.resume(engine)).toBeNull();
});

test("asked twice it is recorded once, and where no run is open there is nothing to do", async () => {
  const { one, two } = scene();
  expect(await two.cancel()).toBeNull();
  await one.append("hello");
  const { engine, begun } = hanging();
  const running = rejectionOf(one.run(engine));
  await begun;
  const both = await Promise.all([one.cancel({ reason: "first" }), two.cancel({ reason: "second" })]);
  expect(both.map((cancelled) => cancelled?.status)).toEqual(["cancelled", "cancelled"]);
  await running;
  expect(dataOf(await eventsOf(two), "RunCancelRequested")).toHaveLength(1);
  expect(await two.cancel()).toBeNull();
  expect(dataOf(await eventsOf(two), "RunCancelRequested")).toHaveLength(1);
});

test.each([
  [{ why: "x" }, TypeError, "why"],
  [{ reason: "" }, TypeError, "reason"],
  [{ waitMs: -1 }, RangeError, "waitMs"],
  [{ actor: { kind: "engine" } }, TypeError, "actor.kind"],
] as const)("a misspelt option is refused: %j", async (options, kind, named) => {
  const { one } = scene();
  // @ts-expect-error: what a caller without types may give.
  const error = await rejectionOf(one.cancel(options));
  expect(error).toBeInstanceOf(kind);
  expect(String(error)).toContain(named);
});
