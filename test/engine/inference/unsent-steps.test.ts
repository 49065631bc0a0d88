import { expect, test } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { inferenceWords } from "../../../src/analysis/descriptions/describe-inference.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ConversationEventOf } from "../../../src/domain/events/event.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { text, user } from "../../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { RouteQuestion } from "../../../src/engine/options/route.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { replayed } from "../../support/replayed.ts";
import { beginningOf, rewritten } from "../../support/run/cut-logs.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const id = conversationIdSchema.parse("cnv_never_sent");

/** Shows the model first what its wire has no form for, and notes what came of that before it goes on without. */
const showing = defineMiddleware({ name: "showing", version: "1.0.0" }, (next) => async (turn, ctx) => {
  try {
    return await next(turn.append(user([text("Look."), { type: "refusal", refusal: "No." }])));
  } catch (error) {
    await ctx.effect("note", () => String(error), { idempotent: true });
    return next(turn);
  }
});

type Choosing = (question: RouteQuestion) => "small" | "large";

/** An engine of two models whose router records the steps for which it was called. */
function engineThat(choose: Choosing, config: Partial<EngineConfig> = {}) {
  const small = scripted(() => "small says so", { prefix: "small" });
  const large = scripted(() => "large says so", { prefix: "large" });
  const asked: number[] = [];
  const route = (question: RouteQuestion) => {
    asked.push(question.step);
    return { small, large }[choose(question)];
  };
  const routed = { provider: small, otherProviders: { large }, route };
  return { engine: createEngine({ ...routed, middleware: [showing], onUnsendablePart: "throw", ...config }), asked };
}

/** A whole run, its log, and what becomes of it where the router says otherwise than it did, wherever it was cut off. */
async function cutOffAnywhere(choose: Choosing, otherwise: Choosing) {
  const events = createMemoryStore();
  const whole = new TurnlogStore(events);
  await whole.conversation(id).append("think");
  const ended = await whole
    .conversation(id)
    .run(engineThat(choose).engine)
    .then(({ text: said }) => said, String);
  const log = await eventsOf(whole.conversation(id));
  const again = engineThat(otherwise);
  expect((await reexecute(whole.conversation(id), again.engine)).difference).toBeNull();
  expect((await replayed(whole, whole.conversation(id))).difference).toBeNull();
  expect(again.asked).toEqual([]);
  const startedAt = log.findIndex(({ event }) => event.type === "RunStarted");
  const choiceAt = log.findIndex(({ event }) => event.type === "StepRouted");
  const resumed = [];
  for (let length = startedAt + 1; length < log.length; length += 1) {
    await using store = await beginningOf(events, id, length);
    const { engine, asked } = engineThat(otherwise);
    const said = await store
      .conversation(id)
      .resume(engine)
      .then((result) => result?.text, String);
    resumed.push({ said, isChoiceKnown: length > choiceAt, asked: [...asked] });
    const last = engineThat(choose);
    expect((await reexecute(store.conversation(id), last.engine)).difference).toBeNull();
    expect((await replayed(store, store.conversation(id))).difference).toBeNull();
    expect(last.asked).toEqual([]);
  }
  return { ended, log, resumed };
}

test("the router's choice for a request that was never sent is in the log, and a resumption asks the same provider", async () => {
  const { ended, log, resumed } = await cutOffAnywhere(
    () => "large",
    () => "small",
  );
  expect(ended).toBe("large says so");
  expect(dataOf(log, "StepRouted")).toEqual([{ route: "large" }]);
  const types = log.map(({ event }) => event.type);
  expect(types.indexOf("StepRouted")).toBeLessThan(types.indexOf("EffectStarted"));
  const known = resumed.filter(({ isChoiceKnown }) => isChoiceKnown);
  expect(known.length).toBeGreaterThan(2);
  // The request that was made later is asked about where the log has none.
  for (const { said, asked } of known)
    expect([said, asked]).toEqual(asked.length === 0 ? ["large says so", []] : ["small says so", [1]]);
  expect(resumed.some(({ asked }) => asked.includes(0))).toBe(true);
});

test("what a router threw for a step that a layer goes on without is in the log, and thrown again from there", async () => {
  const { ended, log, resumed } = await cutOffAnywhere(
    ({ step }) => {
      if (step === 0) throw new RangeError("out of models");
      return "large";
    },
    () => "small",
  );
  expect(ended).toBe("large says so");
  const why = "the router did not choose a provider: out of models";
  expect(dataOf(log, "StepRouted")).toEqual([{ error: why }]);
  expect(dataOf(log, "EffectFinished")).toMatchObject([{ answer: { value: `TurnlogError: ${why}` } }]);
  for (const { isChoiceKnown, asked } of resumed) if (isChoiceKnown) expect(asked).not.toContain(0);
});

test("the router's choice is recorded before the requests that make room at that server", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output: [message("ok")] }) });
  const own = { model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" } as const;
  const [provider, kept] = [openaiResponses(own), openaiResponses({ ...own, organization: "kept" })];
  const engine = createEngine({ provider, otherProviders: { kept }, route: () => kept, mode: "conversation" });
  await using store = new TurnlogStore(createMemoryStore());
  await store.conversation(id).append("think");
  await store.conversation(id).run(engine);
  const types = (await eventsOf(store.conversation(id))).map(({ event }) => event.type);
  const steps = types.filter((type) => /^(StepRouted|EffectStarted|InferenceRequested)$/.test(type));
  expect(steps).toEqual(["StepRouted", "EffectStarted", "InferenceRequested"]);
  expect((await replayed(store, store.conversation(id))).difference).toBeNull();
  expect((await reexecute(store.conversation(id), engine)).difference).toBeNull();
});

test("nothing more is recorded of a step whose request tells who was asked, nor where no router is", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  await store.conversation(id).append("think");
  await store.conversation(id).run(engineThat(() => "large", { middleware: [] }).engine);
  await store.conversation(id).append("and now?");
  await store
    .conversation(id)
    .run(createEngine({ provider: scripted(() => "ok"), middleware: [showing], onUnsendablePart: "throw" }));
  const log = await eventsOf(store.conversation(id));
  expect(dataOf(log, "InferenceRequested")).toHaveLength(2);
  expect(dataOf(log, "StepRouted")).toEqual([]);
});

test("a fold replay sees a request that went to another than the router had chosen, and words tell whom", async () => {
  const words = (data: ConversationEventOf<"StepRouted">["data"]) =>
    inferenceWords({ type: "StepRouted", version: 1, data });
  expect([{ route: "large" }, { route: null }, { error: "out of\nmodels" }].map(words)).toEqual([
    "the router chose large",
    "the router chose the engine's own provider",
    "the router chose nobody: out of models",
  ]);
  await using store = new TurnlogStore(createMemoryStore());
  await store.conversation(id).append("think");
  await store.conversation(id).run(engineThat(() => "large", { middleware: [] }).engine);
  const log = await eventsOf(store.conversation(id));
  const withChoice = (route: string | null) =>
    rewritten(log, id, (event) =>
      event.type === "InferenceRequested" ? [{ type: "StepRouted", version: 1, data: { route } }, event] : [event],
    );
  await using sound = await withChoice("large");
  expect((await replayed(sound, sound.conversation(id))).difference).toBeNull();
  await using tampered = await withChoice(null);
  expect((await replayed(tampered, tampered.conversation(id))).difference).toMatchObject({ field: "route" });
});
