import { expect, test } from "vitest";
import { inferenceWords } from "../../../src/analysis/descriptions/describe-inference.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { InferenceFailedData } from "../../../src/domain/events/inference-events.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Route, RouteQuestion } from "../../../src/engine/options/route.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { replayed } from "../../support/replayed.ts";
import { beginningOf, rewritten } from "../../support/run/cut-logs.ts";
import { dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const refused: ScriptedAnswer = { error: { status: 400, message: "no" } };
const id = conversationIdSchema.parse("cnv_failing_over");

/** Who is asked first, and who is asked where that one has failed. */
type Choice = (models: Readonly<Record<"small" | "large", ReturnType<typeof scripted>>>) => Route;

/** An engine whose large model refuses; the router is told how many have failed. */
function engineThat(choose: Choice, config: Partial<EngineConfig> = {}, large: ScriptedAnswer = refused) {
  const models = {
    small: scripted(() => "small says so", { prefix: "small" }),
    large: scripted(() => large, { prefix: "large" }),
  };
  const asked: number[] = [];
  const route = (question: RouteQuestion) => {
    asked.push(question.failed.length);
    return choose(models)(question);
  };
  const engine = createEngine({ provider: models.small, otherProviders: { large: models.large }, route, ...config });
  return { engine, asked, models };
}

const largeFirst: Choice =
  ({ large, small }) =>
  ({ failed }) =>
    failed.length === 0 ? large : small;

/** Does something of its own while the step is under way. */
const busy = defineMiddleware({ name: "busy", version: "1.0.0" }, (next) => async (turn, ctx) => {
  const own = async (): Promise<void> => {
    await ctx.infer({ input: user("and beside it?") });
    await ctx.effect("note", () => null, { idempotent: true });
  };
  const [answer] = await Promise.all([next(turn), own()]);
  return answer;
});

/** Goes on without the model where that fails. */
const careful = defineMiddleware({ name: "careful", version: "1.0.0" }, (next) => async (turn, ctx) => {
  try {
    return await next(turn);
  } catch (error) {
    await ctx.effect("note", () => String(error), { idempotent: true });
    return turn.append(user("nobody answered"));
  }
});

/** Holds the step's own request until the layer has done its part. */
function stepLast(): Interceptor {
  const noted = Promise.withResolvers<null>();
  return async (stop) => {
    if (stop.kind === "effect" && stop.phase === "after") noted.resolve(null);
    if (stop.kind === "inference" && stop.phase === "before" && stop.request.route === "large") await noted.promise;
    return null;
  };
}

/** A whole run, and what becomes of it wherever it was cut off: how each ended, and whom its router was asked about again. */
async function cutOffAnywhere(choose: Choice, config: Partial<EngineConfig>, interceptor?: Interceptor) {
  const events = createMemoryStore();
  const whole = new TurnlogStore(events).conversation(id);
  await whole.append("think");
  const { engine } = engineThat(choose, config);
  const ended = await whole
    .run(engine, interceptor === undefined ? {} : interceptedBy(interceptor, {}))
    .then(({ text }) => text, String);
  const log = await eventsOf(whole);
  const failedAt = log.findIndex(({ event }) => event.type === "InferenceFailed");
  const startedAt = log.findIndex(({ event }) => event.type === "RunStarted");
  const resumed = [];
  for (let length = startedAt + 1; length < log.length; length += 1) {
    await using store = await beginningOf(events, id, length);
    const { engine, asked } = engineThat(choose, config);
    const said = await store
      .conversation(id)
      .resume(engine)
      .then((result) => result?.text, String);
    const isFailureKnown = length > failedAt;
    resumed.push({ said, asksAgain: isFailureKnown && asked.length > 0 });
    expect((await replayed(store, store.conversation(id))).difference).toBeNull();
    expect((await reexecute(store.conversation(id), engine)).difference).toBeNull();
  }
  return { ended, log, resumed };
}

test("a run that was cut off fails over as its log says, whatever else is still to be met again", async () => {
  const { ended, log, resumed } = await cutOffAnywhere(largeFirst, { middleware: [busy] }, stepLast());
  expect(ended).toBe("small says so");
  expect(dataOf(log, "InferenceFailed").map(({ next }) => next)).toEqual([{ route: null }]);
  expect(resumed).toEqual(resumed.map(() => ({ said: "small says so", asksAgain: false })));
});

test("a recorded failure stays in a resumed run, although its router would choose another provider today", async () => {
  const { ended, log, resumed } = await cutOffAnywhere(
    ({ large }) =>
      () =>
        large,
    { middleware: [careful] },
  );
  expect(ended).toBe("");
  expect(dataOf(log, "InferenceFailed").map(({ next }) => next)).toEqual([null]);
  expect(resumed).toEqual(resumed.map(() => ({ said: "", asksAgain: false })));
});

test("an error that a router throws ends the run, and the log keeps its message for a resumption", async () => {
  const failing: Choice =
    ({ large }) =>
    ({ failed }) => {
      if (failed.length > 0) throw new RangeError("out of models");
      return large;
    };
  const { ended, log, resumed } = await cutOffAnywhere(failing, {});
  const why = "the router did not choose a provider: out of models";
  expect(ended).toMatch(
    /failed \(route-failed\): the router did not choose a provider: out of models; .* had failed: no$/,
  );
  expect(dataOf(log, "InferenceFailed").map(({ next }) => next)).toEqual([{ error: why }]);
  expect(resumed.map(({ said }) => said?.replace(/run_\w+/, ""))).toEqual(
    resumed.map(() => ended.replace(/run_\w+/, "")),
  );
  expect(resumed.some(({ asksAgain }) => asksAgain)).toBe(false);
  const astray = engineThat(() => () => scripted(() => "a stranger"));
  await using store = new TurnlogStore(createMemoryStore());
  await store.conversation(id).append("think");
  const error = await rejectionOf(store.conversation(id).run(astray.engine));
  expect(error).toMatchObject({ kind: "route-failed", cause: { code: "route-failed", cause: { name: "TypeError" } } });
});

test("a router is not asked for what the same provider is asked again, nor when the run is over", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation(id);
  await conversation.append("think");
  const busyServer: ScriptedAnswer = { error: { status: 503, message: "busy" } };
  const { engine, asked } = engineThat(
    largeFirst,
    { sleep: async () => undefined, retry: { maxRetries: 1 } },
    busyServer,
  );
  expect((await conversation.run(engine)).text).toBe("small says so");
  const told = dataOf(await eventsOf(conversation), "InferenceFailed");
  expect(told.map(({ retryInMs, next }) => [retryInMs !== undefined, next])).toEqual([
    [true, undefined],
    [false, { route: null }],
  ]);
  expect(asked).toEqual([0, 1]);
  await conversation.append("once more");
  const controller = new AbortController();
  const interceptor: Interceptor = async ({ kind, phase }) => {
    if (kind === "inference" && phase === "before") controller.abort(new Error("enough"));
    return null;
  };
  asked.length = 0;
  const cancelled = conversation.run(engine, interceptedBy(interceptor, { signal: controller.signal }));
  await expect(cancelled).rejects.toMatchObject({ code: "run-cancelled" });
  expect(asked).toEqual([0]);
  expect(dataOf(await eventsOf(conversation), "InferenceFailed").at(-1)?.next).toBeNull();
});

test("a request that is too long for one provider, and cannot be made shorter, goes to another", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation(id);
  await conversation.append("think");
  const tooLong: ScriptedAnswer = { error: { status: 400, code: "context_length_exceeded", message: "too long" } };
  const { engine, asked } = engineThat(largeFirst, {}, tooLong);
  expect((await conversation.run(engine)).text).toBe("small says so");
  expect(asked).toEqual([0, 1]);
});

/** The same log with other failures. */
const withFailures = (log: readonly RecordedEvent[], failure: (data: InferenceFailedData) => InferenceFailedData) =>
  rewritten(log, id, (event) => [event.type === "InferenceFailed" ? { ...event, data: failure(event.data) } : event]);

test("an older log, whose failures do not say who is next, is read by what came after them", async () => {
  await using whole = new TurnlogStore(createMemoryStore());
  await whole.conversation(id).append("think");
  await whole.conversation(id).run(engineThat(largeFirst).engine);
  const log = await eventsOf(whole.conversation(id));
  const failedAt = log.findIndex(({ event }) => event.type === "InferenceFailed");
  const asOnce = ({ next: _, ...data }: InferenceFailedData): InferenceFailedData => data;
  for (const [length, asks] of [
    [failedAt + 1, [1]],
    [failedAt + 2, []],
  ] as const) {
    await using store = await withFailures(log.slice(0, length), asOnce);
    const { engine, asked } = engineThat(largeFirst);
    expect((await store.conversation(id).resume(engine))?.text).toBe("small says so");
    expect(asked).toEqual(asks);
  }
});

test("a fold replay sees that who was asked is not who was to be asked, and words tell who is next", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  await store.conversation(id).append("think");
  await store.conversation(id).run(engineThat(largeFirst).engine);
  const log = await eventsOf(store.conversation(id));
  const told = log.flatMap(({ event }) =>
    event.type === "InferenceFailed" || event.type === "InferenceRequested" ? [inferenceWords(event)] : [],
  );
  expect(told[0]).toMatch(/^asked large full/);
  expect(told[1]).toBe("refused (400), the engine's own provider is asked next: no");
  await using tampered = await withFailures(log, (data) => ({ ...data, next: { route: "large" } }));
  expect((await replayed(tampered, tampered.conversation(id))).difference).toMatchObject({ field: "route" });
});
