import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import { type ToolContext, tool } from "../../src/engine/ports/tool.ts";
import { type ScriptedAnswer, scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { endless, untilAborted } from "../support/gates.ts";
import { calling } from "../support/run/tool-runs.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../support/workshop.ts";

/** Two processes on one store, of which the first is closed in the middle of a run; the store itself stays open. */
function scene(answers: readonly ScriptedAnswer[], config: Partial<EngineConfig> = {}) {
  const events = createMemoryStore();
  const isKept = { ...events, close: () => Promise.resolve() };
  const first = new TurnlogStore(isKept);
  const second = new TurnlogStore(isKept);
  const provider = scripted(answers);
  const engine = (changes: Partial<EngineConfig> = {}) => createEngine({ provider, ...config, ...changes });
  return { provider, engine, first, one: first.conversation("cnv_1"), second, two: second.conversation("cnv_1") };
}

/** A tool that does this, and tells when it has begun. */
function doing(execute: (context: ToolContext) => Promise<string>, idempotent = false) {
  const begun = Promise.withResolvers<undefined>();
  const charge = tool({
    name: "charge",
    description: "Takes money.",
    inputSchema: z.object({}),
    idempotent,
    execute(_, context) {
      begun.resolve(undefined);
      return execute(context);
    },
  });
  return { charge, begun: begun.promise };
}

test("a request that is aborted by close has an unknown outcome: the next run asks again, or fails, as its engine says", async () => {
  for (const onLostResponse of ["retry", "fail"] as const) {
    const { one, two, first, engine } = scene(["an answer"], { onLostResponse });
    await one.append("hello");
    const begun = Promise.withResolvers<undefined>();
    const observers = [
      { next: ({ type }: { readonly type: string }) => type === "text-delta" && begun.resolve(undefined) },
    ];
    const running = rejectionOf(one.run(engine({ provider: endless(), observers })));
    await begun.promise;
    await first.close();
    expect(await running).toMatchObject({ code: "run-parked" });
    expect(typesOf(await eventsOf(two)).slice(-2)).toEqual(["InferenceRequested", "RunParked"]);
    const next = two.run(engine());
    if (onLostResponse === "retry") expect(await next).toMatchObject({ text: "an answer", resumed: true });
    else expect(await rejectionOf(next)).toMatchObject({ kind: "interrupted" });
  }
});

test("a tool that ends within the grace is recorded, and the next run goes on at once", async () => {
  const { charge, begun } = doing(async ({ signal }) => {
    await untilAborted(signal).catch(() => undefined);
    return "took 5 euros";
  });
  const { one, two, first, engine, provider } = scene([calling(["charge", "{}"]), "Paid."], { tools: [charge] });
  await one.append("hello");
  const running = rejectionOf(one.run(engine()));
  await begun;
  await first.close();
  expect(await running).toMatchObject({ code: "run-parked" });
  const events = await eventsOf(two);
  expect(typesOf(events).slice(-2)).toEqual(["ToolFinished", "RunParked"]);
  expect(dataOf(events, "ToolFinished")).toMatchObject([
    { outcome: "ok", result: { payload: { output: "took 5 euros" } } },
  ]);
  expect(dataOf(events, "ToolFinished")[0]).not.toHaveProperty("late");
  expect(await two.run(engine())).toMatchObject({ text: "Paid.", resumed: true });
  expect(provider.requests).toHaveLength(2);
});

test.each([false, true])(
  "a tool that does not end in that time is in doubt unless it is idempotent (%s)",
  async (idempotent) => {
    let runs = 0;
    const { charge, begun } = doing(() => {
      runs += 1;
      return runs === 1 ? new Promise<string>(() => undefined) : Promise.resolve("took 5 euros");
    }, idempotent);
    const { one, two, first, engine } = scene([calling(["charge", "{}"]), "Paid."], { tools: [charge] });
    await one.append("hello");
    const running = rejectionOf(one.run(engine()));
    await begun;
    await first.close({ graceMs: 20 });
    await running;
    expect((await two.at(-1)).run?.state).toBe("parked");
    const next = await two.run(engine());
    expect(next.status).toBe(idempotent ? "completed" : "parked");
    expect(runs).toBe(idempotent ? 2 : 1);
    if (idempotent) return;
    await two.settle("charge", { how: "result", output: "took 5 euros" });
    expect(await two.run(engine())).toMatchObject({ text: "Paid." });
  },
);

test("a call that a closed store left can be settled before anything runs again", async () => {
  const { charge, begun } = doing(() => new Promise(() => undefined));
  const { one, two, first, engine } = scene([calling(["charge", "{}"]), "Paid."], { tools: [charge] });
  await one.append("hello");
  const running = rejectionOf(one.run(engine()));
  await begun;
  await first.close({ graceMs: 0 });
  await running;
  await two.settle("charge", { how: "result", output: "took 5 euros" });
  expect(await two.run(engine())).toMatchObject({ text: "Paid." });
});

test("a store without runs closes at once, twice is once, and what waits to run is refused", async () => {
  const { one, first, engine } = scene(["an answer"]);
  await one.append("hello");
  expect((await one.run(engine())).text).toBe("an answer");
  await one.append("more");
  await Promise.all([first.close(), first.close({ graceMs: 1 })]);
  expect(await rejectionOf(one.run(engine()))).toMatchObject({ code: "store-closed" });
  // @ts-expect-error: a misspelt option.
  expect(() => first.close({ grace: 1 })).toThrow(/did you mean 'graceMs'/);
  expect(() => first.close({ graceMs: -1 })).toThrow(RangeError);
});

test("resumeAll finishes what was cut off or parked, says of each what became of it, and leaves the rest", async () => {
  const { charge, begun } = doing(async ({ signal }) => {
    await untilAborted(signal).catch(() => undefined);
    return "took 5 euros";
  });
  const { one, first, second, engine } = scene([calling(["charge", "{}"]), "Paid."], { tools: [charge] });
  await one.append("hello");
  await one.relabel({ labels: { app: "bank" } });
  await first.conversation("cnv_idle").append("Nobody asked.");
  const running = rejectionOf(one.run(engine()));
  await begun;
  await first.close();
  await running;
  expect(await second.resumeAll(engine(), { where: ({ labels }) => labels["app"] === "shop" })).toEqual([]);
  const resumed = await second.resumeAll(engine(), { where: ({ labels }) => labels["app"] === "bank" });
  expect(resumed).toMatchObject([{ id: "cnv_1", result: { text: "Paid.", resumed: true }, error: null }]);
  expect(await second.resumeAll(engine())).toEqual([]);
});

test("resumeAll reports a run that cannot continue, and continues with the others", async () => {
  const { charge, begun } = doing(() => new Promise(() => undefined));
  const { one, first, second, engine } = scene([calling(["charge", "{}"])], { tools: [charge] });
  await one.append("hello");
  const running = rejectionOf(one.run(engine()));
  await begun;
  await first.close({ graceMs: 0 });
  await running;
  const [resumed] = await second.resumeAll(createEngine({ provider: scripted(["an answer"]) }));
  expect(resumed).toMatchObject({ id: "cnv_1", result: null, error: { code: "stack-changed" } });
  // @ts-expect-error: where is a function.
  await expect(second.resumeAll(engine(), { where: { app: "bank" } })).rejects.toThrow(TypeError);
});
