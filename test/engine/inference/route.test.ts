import { expect, test } from "vitest";
import { z } from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Route, RouteQuestion } from "../../../src/engine/options/route.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { replayed } from "../../support/replayed.ts";

const refused: ScriptedAnswer = { error: { status: 400, message: "no" } };

/** Two models; the router sends to the large one what is asked with a word. */
function two(answers: { readonly small?: readonly ScriptedAnswer[]; readonly large?: readonly ScriptedAnswer[] } = {}) {
  const small = scripted(answers.small ?? (() => "small says so"), { prefix: "small" });
  const large = scripted(answers.large ?? (() => "large says so"), { prefix: "large" });
  return { small, large };
}

const onWord =
  (large: ReturnType<typeof two>["large"]): Route =>
  ({ turn, failed }) =>
    failed.length === 0 && turn.blocks.at(-1)?.text.includes("think") === true ? large : null;

const engineOf = ({ small, large }: ReturnType<typeof two>, config: Partial<EngineConfig> = {}) =>
  createEngine({ provider: small, otherProviders: { large }, route: onWord(large), ...config });

async function say(conversation: Conversation, text: string, engine: ReturnType<typeof engineOf>) {
  await conversation.append(text);
  return conversation.run(engine);
}

/** Of each request: who was asked, how it was planned; of each failure its kind. */
async function story(conversation: Conversation): Promise<readonly unknown[]> {
  const told: unknown[] = [];
  for await (const { event } of conversation.events()) {
    if (event.type === "InferenceRequested") told.push([event.data.route ?? null, event.data.decision.strategy]);
    if (event.type === "InferenceFailed") told.push(event.data.kind);
  }
  return told;
}

test("a router chooses the provider of each request, and a provider that is asked again continues from what it holds", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const models = two();
  const engine = engineOf(models);
  expect((await say(conversation, "hi", engine)).text).toBe("small says so");
  expect((await say(conversation, "think hard", engine)).text).toBe("large says so");
  expect((await say(conversation, "thanks", engine)).text).toBe("small says so");
  expect((await say(conversation, "think again", engine)).text).toBe("large says so");
  expect(await story(conversation)).toEqual([
    [null, "full"],
    ["large", "full"],
    [null, "chained"],
    ["large", "chained"],
  ]);
  expect(models.small.requests.map(({ input }) => (Array.isArray(input) ? input.length : 0))).toEqual([1, 3]);
  expect((await replayed(store, conversation)).difference).toBeNull();
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  const { steps, unknown } = await whatIf(conversation, engine);
  expect({ steps: steps.length, unknown }).toEqual({ steps: 4, unknown: null });
});

test("the result of a run and its stream say who answered, and who is asked", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const models = two({ large: [refused, "large again"] });
  const engine = engineOf(models, { route: ({ failed }) => (failed.length === 0 ? models.large : null) });
  await conversation.append("think");
  const asked: unknown[] = [];
  for await (const part of conversation.stream(engine)) if (part.type === "request-start") asked.push(part.route);
  expect(asked).toEqual(["large", null]);
  expect((await conversation.run(engine)).steps).toMatchObject([{ provider: "scripted", route: null }]);
  expect((await say(conversation, "think more", engine)).steps).toMatchObject([
    { provider: "scripted", route: "large" },
  ]);
});

test("a router gets the Turn, the step, the usage and the failed providers", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const asked: Omit<RouteQuestion, "turn">[] = [];
  const models = two({ large: [refused], small: [{ calls: [{ name: "look", arguments: {} }] }, "done"] });
  const look = tool({ name: "look", description: "Looks.", inputSchema: z.object({}), execute: () => "seen" });
  const engine = engineOf(models, {
    tools: [look],
    route: ({ step, usage, failed }) => {
      asked.push({ step, usage, failed });
      return step === 0 && failed.length === 0 ? models.large : null;
    },
  });
  expect((await say(store.conversation("cnv_asked"), "go", engine)).text).toBe("done");
  expect(
    asked.map(({ step, failed }) => [step, failed.map(({ provider, error }) => [provider.name, error.kind])]),
  ).toEqual([
    [0, []],
    [0, [["scripted", "invalid-request"]]],
    [1, []],
  ]);
  expect(asked.map(({ usage }) => usage.totalTokens > 0)).toEqual([false, false, true]);
  expect(await story(store.conversation("cnv_asked"))).toEqual([
    ["large", "full"],
    "invalid-request",
    [null, "full"],
    [null, "chained"],
  ]);
});

test("a failure stays if the router has no other provider, and the Turn is unchanged", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const models = two({ large: [refused, "large again"] });
  const engine = engineOf(models, { route: () => models.large });
  await expect(say(conversation, "think", engine)).rejects.toMatchObject({ code: "run-failed" });
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["think"]);
  expect((await conversation.run(engine)).text).toBe("large again");
});

class Crash extends Error {}

test("what one provider refuses to continue says nothing of the one that takes over, also when its log is folded again", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const lost: ScriptedAnswer = { error: { status: 400, code: "previous_response_not_found", message: "not found" } };
  const models = two({ small: ["hello", lost, refused] });
  const route: Route = ({ turn, failed }) => {
    const isThinking = turn.blocks.at(-1)?.text.includes("think") === true;
    return isThinking || failed.length > 0 ? models.large : null;
  };
  const engine = engineOf(models, { route });
  for (const text of ["hi", "think", "thanks"]) await say(conversation, text, engine);
  expect(await story(conversation)).toEqual([
    [null, "full"],
    ["large", "full"],
    [null, "chained"],
    "lost-state",
    [null, "full"],
    "invalid-request",
    ["large", "chained"],
  ]);
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("a run that is taken up asks whom its log says, whatever the router says by then", async () => {
  const events = createMemoryStore();
  const models = two();
  const first = new TurnlogStore(events).conversation("cnv_resumed");
  await first.append("think");
  let isDead = false;
  const interceptor: Interceptor = async ({ kind, phase }) => {
    isDead ||= kind === "inference" && phase === "after";
    if (isDead) throw new Crash();
    return null;
  };
  await expect(first.run(engineOf(models), interceptedBy(interceptor, {}))).rejects.toThrow(Crash);
  const next = new TurnlogStore(events).conversation("cnv_resumed");
  const alone = createEngine({ provider: models.small });
  await expect(next.resume(alone)).rejects.toMatchObject({ code: "route-not-found" });
  const engine = engineOf(models, { route: () => null });
  expect((await next.resume(engine))?.text).toBe("large says so");
  expect(await story(next)).toEqual([["large", "full"], "interrupted", ["large", "full"]]);
});

test("a router gets the step of the run, also of a resumed one", async () => {
  const events = createMemoryStore();
  const look = tool({
    ...{ name: "look", description: "Looks.", inputSchema: z.object({}), idempotent: true },
    execute: () => "seen",
  });
  const calls = { calls: [{ name: "look", arguments: {} }] };
  const models = two({ small: [calls, calls, "done", "done"] });
  const asked: number[] = [];
  const engine = engineOf(models, {
    tools: [look],
    route({ step }) {
      asked.push(step);
      return null;
    },
  });
  const first = new TurnlogStore(events).conversation("cnv_steps");
  await first.append("go");
  let tools = 0;
  let isDead = false;
  const interceptor: Interceptor = async ({ kind, phase }) => {
    if (kind === "tool" && phase === "before") tools += 1;
    isDead ||= tools === 2;
    if (isDead) throw new Crash();
    return null;
  };
  await expect(first.run(engine, interceptedBy(interceptor, {}))).rejects.toThrow(Crash);
  expect(asked).toEqual([0, 1]);
  await new TurnlogStore(events).conversation("cnv_steps").resume(engine);
  expect(asked).toEqual([0, 1, 2]);
});

test("what a provider cannot be asked is refused when the run begins, and a stranger when the router gives it", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const { small, large } = two();
  // Its codec has no way to say it.
  const codec: Codec = { ...large.codec };
  Reflect.deleteProperty(codec, "adjust");
  const plain = { ...large, codec };
  const conversation = store.conversation();
  await conversation.append("hi");
  const engine = createEngine({ provider: small, otherProviders: { plain }, route: () => null });
  await expect(conversation.run(engine, { temperature: 1 })).rejects.toThrow(
    /scripted does not support settings of a run \(temperature\)/,
  );
  const astray = createEngine({ provider: small, otherProviders: { plain }, route: () => large });
  await expect(conversation.run(astray)).rejects.toThrow(/route returned an object.*return provider, plain, or null/s);
  expect(() => createEngine({ provider: small, otherProviders: { plain } })).toThrow(/otherProviders need a route/);
  expect(() => createEngine({ provider: small, route: () => null })).toThrow(/otherProviders is undefined/);
});
