import { expect, test } from "vitest";
import { secretReference } from "../../../src/domain/secret-reference.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const instructing = (name: string, texts: readonly string[]): Layer => {
  let calls = 0;
  return defineMiddleware({ name, version: "1.0.0" }, (next) => (turn, ctx) => {
    const text = texts[Math.min(calls, texts.length - 1)];
    calls += 1;
    if (text !== undefined) ctx.instructions(text);
    return next(turn);
  });
};

async function talk(middleware: readonly Layer[], rounds: number, instructions?: string) {
  const { conversation, ...workshop } = createWorkshop();
  const settings = instructions === undefined ? { model: "m" } : { model: "m", instructions };
  const provider = scripted(({ requestNumber }) => `answer ${requestNumber}`, { settings });
  const engine = workshop.engine({ provider, middleware });
  for (let n = 0; n < rounds; n += 1) {
    await conversation.append(`said ${n}`);
    await conversation.run(engine);
  }
  return { provider, events: await eventsOf(conversation), turn: await conversation.turn() };
}

test("what layers add to the instructions is no part of the context, and the chain holds", async () => {
  const { provider, events, turn } = await talk(
    [instructing("outer", ["It is noon."]), instructing("inner", ["Be kind."])],
    2,
    "Be brief.",
  );
  expect(provider.requests.map((body) => body["instructions"])).toEqual(
    Array(2).fill("Be brief.\n\nIt is noon.\n\nBe kind."),
  );
  expect(dataOf(events, "InferenceRequested").map(({ decision }) => decision.strategy)).toEqual(["full", "chained"]);
  expect(turn.length).toBe(4);
});

test("instructions that change with every request keep the chain too, and are declared with their layer", async () => {
  const { provider, events } = await talk([instructing("clock", ["It is noon.", "It is one."])], 2);
  expect(provider.requests.map((body) => body["instructions"])).toEqual(["It is noon.", "It is one."]);
  const decisions = dataOf(events, "InferenceRequested").map(({ decision }) => decision);
  expect(decisions.map(({ strategy, changedSettings }) => [strategy, changedSettings])).toEqual([
    ["full", []],
    ["chained", ["instructions"]],
  ]);
  const declared = events.filter(({ event }) => event.type === "SettingsDeclared").map(({ actor }) => actor.kind);
  expect(declared).toEqual(["engine", "middleware", "middleware"]);
});

test("instructions hold within the call that added them, and nowhere else", async () => {
  const twice = defineMiddleware({ name: "twice", version: "1.0.0" }, (next) => async (turn) => {
    await next(turn);
    return next(turn);
  });
  const { provider } = await talk([twice, instructing("inner", ["First time.", "Second time."])], 1);
  expect(provider.requests.map((body) => body["instructions"])).toEqual(["First time.", "Second time."]);
});

test("nothing is added to instructions that are a secret, and they are not left out for what was", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted(["an answer"], { settings: { model: "m", instructions: secretReference("PROMPT") } });
  await conversation.append("hello");
  const run = conversation.run(workshop.engine({ provider, middleware: [instructing("clock", ["It is noon."])] }));
  expect(await rejectionOf(run)).toMatchObject({ code: "run-failed", cause: { code: "instructions-hidden" } });
  expect(provider.requests).toEqual([]);
});
