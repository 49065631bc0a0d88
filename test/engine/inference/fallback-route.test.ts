import { expect, test } from "vitest";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { type FallbackOptions, fallback } from "../../../src/engine/options/fallback.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { circuitBreaker } from "../../../src/providers/resilience/circuit-breaker.ts";
import { rateLimit } from "../../../src/providers/resilience/rate-limit.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { tooFewPoints } from "../../support/providers/guarded.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const refused: ScriptedAnswer = { error: { status: 400, message: "not today" } };
const broken: ScriptedAnswer = { error: { status: 500, message: "down" } };

/** Three models, of which the first two answer as given, behind a fallback. */
function scene(answers: readonly (readonly ScriptedAnswer[])[], options: FallbackOptions = {}) {
  const workshop = createWorkshop();
  const models = ["first", "second", "third"].map((prefix, index) =>
    scripted(answers[index] ?? (() => `${prefix} says so`), { prefix }),
  );
  const [first = scripted([]), second = scripted([]), third = scripted([])] = models;
  const engine = workshop.engine({
    provider: first,
    otherProviders: { second, third },
    route: fallback([first, second, third], options),
  });
  const say = async (text: string): Promise<string> => {
    await workshop.conversation.append(text);
    return (await workshop.conversation.run(engine)).text;
  };
  return { ...workshop, engine, say, models };
}

test("after a rejection the next provider answers, and the log has who was asked, and why", async () => {
  const { say, conversation, store, engine } = scene([[refused], [refused]]);
  expect(await say("Hello.")).toBe("third says so");
  const events = await eventsOf(conversation);
  expect(dataOf(events, "InferenceRequested").map(({ route = null }) => route)).toEqual([null, "second", "third"]);
  expect(dataOf(events, "InferenceFailed").map(({ kind, next }) => [kind, next])).toEqual([
    ["invalid-request", { route: "second" }],
    ["invalid-request", { route: "third" }],
  ]);
  expect((await replayed(store, conversation)).difference).toBeNull();
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  const { steps, unknown } = await whatIf(conversation, engine);
  expect({ isSame: steps.map(({ isSame }) => isSame), unknown }).toEqual({ isSame: [true], unknown: null });
});

test("each run begins with the first provider again, which continues from what it holds", async () => {
  const { say, conversation } = scene([["One.", refused, "Three."]]);
  expect([await say("1"), await say("2"), await say("3")]).toEqual(["One.", "second says so", "Three."]);
  const asked = dataOf(await eventsOf(conversation), "InferenceRequested");
  expect(asked.map(({ route = null, decision }) => [route, decision.strategy])).toEqual([
    [null, "full"],
    [null, "chained"],
    ["second", "full"],
    [null, "chained"],
  ]);
});

test("a failure with an unknown outcome stands, unless the caller allows that the work is paid twice", async () => {
  const careful = scene([[broken]]);
  expect(await rejectionOf(careful.say("Hello."))).toMatchObject({ kind: "server-error" });
  expect(careful.models.map(({ requests }) => requests.length)).toEqual([1, 0, 0]);
  const eager = scene([[broken]], { unknownOutcome: true });
  expect(await eager.say("Hello.")).toBe("second says so");
});

test("when every provider has failed, the last failure is the run's", async () => {
  const last: ScriptedAnswer = { error: { status: 400, message: "the last" } };
  const { say } = scene([[refused], [refused], [last]]);
  await expect(say("Hello.")).rejects.toThrow("the last");
});

test("the caller says after which failures the next provider takes over", async () => {
  const { say, models } = scene([[refused]], { when: ({ kind }) => kind === "circuit-open" });
  expect(await rejectionOf(say("Hello."))).toMatchObject({ kind: "invalid-request" });
  expect(models[1]?.requests).toEqual([]);
});

test("an open circuit is passed over at once, and a run that is executed again goes the recorded way with other state", async () => {
  const { conversation, engine, store, waits } = createWorkshop();
  const first = scripted([broken], { prefix: "first" });
  const second = scripted(() => "second says so", { prefix: "second" });
  const engineAround = (provider: Provider) =>
    engine({ provider, otherProviders: { second }, route: fallback([provider, second], { unknownOutcome: true }) });
  const recording = engineAround(circuitBreaker(first, { failures: 1, openMs: 3_600_000 }));
  for (const text of ["1", "2"]) {
    await conversation.append(text);
    expect((await conversation.run(recording)).text).toBe("second says so");
  }
  const kinds = dataOf(await eventsOf(conversation), "InferenceFailed").map(({ kind }) => kind);
  expect([kinds, first.requests.length, waits]).toEqual([["server-error", "circuit-open"], 1, []]);
  // Here the circuit is closed, and a limiter would refuse everything: neither is asked.
  let consumed = 0;
  const limiter = {
    async consume() {
      consumed += 1;
      return tooFewPoints(1);
    },
  };
  const again = engineAround(rateLimit(circuitBreaker(first), { limiter }));
  expect((await reexecute(conversation, again)).difference).toBeNull();
  expect((await replayed(store, conversation)).difference).toBeNull();
  expect([consumed, first.requests.length, second.requests.length]).toEqual([0, 1, 2]);
});

test("what cannot work is refused when the route or the engine is created", () => {
  const [first, second] = [scripted([], { prefix: "a" }), scripted([], { prefix: "b" })];
  expect(() => fallback([first])).toThrow("a list of two providers or more, not a list of 1");
  // A caller may not use types.
  expect(() => fallback(first as never)).toThrow("not an object: write fallback([first, second])");
  expect(() => fallback([first, first])).toThrow("providers[1] is listed twice");
  expect(() => fallback([first, second], { wen: () => true } as never)).toThrow("did you mean 'when'?");
  const hosted = scripted([], { settings: { model: "scripted", tools: [{ type: "web_search" }] } });
  expect(() => fallback([hosted, second], { unknownOutcome: true })).toThrow("may do more than answer");
  const wrapped = circuitBreaker(second);
  expect(() =>
    createEngine({ provider: first, otherProviders: { second: wrapped }, route: fallback([first, second]) }),
  ).toThrow("route falls back to the provider scripted, which is not one of the engine's");
});
