import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { AnyEngine } from "../../../src/engine/options/engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import type { ConversationRegression } from "../../../src/replay/regression/conversation-result.ts";
import { culpritName } from "../../../src/replay/regression/culprit.ts";
import { type RegressOptions, regress } from "../../../src/replay/regression/regress.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { createWorkshop } from "../../support/workshop.ts";

/** A layer that adds a message, says something in the instructions, or does nothing. */
const says = (name: string, text: string, version = "1.0.0"): Layer =>
  defineMiddleware({ name, version }, (next) => (turn) => next(turn.insertOnce(name, user(text), 0)));
const instructs = (name: string, text: string): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => (turn, ctx) => {
    ctx.instructions(text);
    return next(turn);
  });
const idle = (name: string): Layer => defineMiddleware({ name, version: "1.0.0" }, (next) => (turn) => next(turn));

const lookUp = (description: string) =>
  tool({ name: "look-up", description, inputSchema: z.object({ of: z.string() }), execute: () => "found" });

const provider = scripted([]);

/** An engine that must not be asked. */
const changed = (config: Partial<EngineConfig> = {}) => createEngine({ provider, ...config });

/** A conversation of two runs, the first with a tool call. */
async function recorded(config: Partial<EngineConfig> = {}) {
  const workshop = createWorkshop();
  const { engine } = workshop.scripted(
    [{ calls: [{ name: "look-up", arguments: { of: "x" } }] }, "It is found.", "Still."],
    config,
  );
  await workshop.conversation.append("What is it?");
  await workshop.conversation.run(engine);
  await workshop.conversation.append("And now?");
  await workshop.conversation.run(engine);
  return workshop;
}

async function differences(store: TurnlogStore, engine: AnyEngine, options: RegressOptions = {}) {
  const results: ConversationRegression[] = [];
  const regression = await regress(store, engine, { ...options, onConversation: (result) => results.push(result) });
  const { first } = regression;
  return { ...regression, results, culprit: first === null ? null : culpritName(first) };
}

const tools = [lookUp("Looks up.")];

test("says that nothing changes under the stack that made the conversation, whatever the versions of its layers", async () => {
  const { store } = await recorded({ tools, middleware: [says("greet", "Hello."), idle("idle")] });
  const same = await differences(
    store,
    changed({ tools, middleware: [says("greet", "Hello.", "2.0.0"), idle("idle")] }),
  );
  expect(same).toMatchObject({ requests: 3, compared: 3, changed: 0, added: 0, ends: 0, unknown: {}, culprit: null });
});

const greet = says("greet", "Hello.");
const sign = says("sign", "Yours.");
const brief = instructs("brief", "Be brief.");
const stack = { tools, middleware: [greet, brief, sign] };

test.each([
  {
    what: "an edit",
    config: { tools, middleware: [greet, brief, says("sign", "Truly.", "1.1.0")] },
    culprit: "sign@1.1.0",
  },
  { what: "a layer that is left out", config: { tools, middleware: [brief, sign] }, culprit: "greet@1.0.0" },
  {
    what: "a layer that is added",
    config: { tools, middleware: [...stack.middleware, says("new", "New.")] },
    culprit: "new@1.0.0",
  },
  { what: "another order", config: { tools, middleware: [sign, brief, greet] }, culprit: "sign@1.0.0" },
  {
    what: "other instructions",
    config: { tools, middleware: [greet, instructs("brief", "Be long."), sign] },
    culprit: "brief@1.0.0",
  },
  { what: "no instructions", config: { tools, middleware: [greet, idle("brief"), sign] }, culprit: "brief@1.0.0" },
  {
    what: "a tool that is described otherwise",
    config: { ...stack, tools: [lookUp("Finds.")] },
    culprit: "tool:look-up",
  },
  { what: "no tools", config: { ...stack, tools: [] }, culprit: "tool:look-up" },
  { what: "another mode", config: { ...stack, mode: "stateless" }, culprit: "policy:mode" },
  { what: "a budget", config: { ...stack, budget: { maxTotalTokens: 1 } }, culprit: "policy:budget" },
] satisfies { what: string; config: Partial<EngineConfig>; culprit: string }[])(
  "names the culprit of $what: $culprit",
  async ({ config, culprit }) => {
    const { store } = await recorded(stack);
    const found = await differences(store, changed(config));
    expect(found).toMatchObject({ culprit, conversations: 1, differing: 1 });
    expect(found.changed).toBeGreaterThan(0);
  },
);

test("names a layer that changes the answer on its way back, also where no request differs", async () => {
  const { store } = await recorded(stack);
  const back = defineMiddleware({ name: "back", version: "1.0.0" }, (next) => async (turn) => {
    const result = await next(turn);
    return result.last?.kind === "assistant" ? result.append(user("Thanks.")) : result;
  });
  const found = await differences(store, changed({ ...stack, middleware: [back, ...stack.middleware] }));
  expect(found).toMatchObject({ culprit: "back@1.0.0", changed: 1, ends: 1 });
});

test("names a layer that ends the run", async () => {
  const { store } = await recorded(stack);
  const fails = defineMiddleware({ name: "fails", version: "3.0.0" }, () => () => {
    throw new Error("no");
  });
  const found = await differences(store, changed({ ...stack, middleware: [...stack.middleware, fails] }));
  expect(found).toMatchObject({ culprit: "fails@3.0.0", changed: 3, compared: 3 });
});

test.each([
  ["30 s, however long the engine gives it", 600_000, 30_000],
  ["as long as the engine gives it, if that is shorter", 500, 500],
])("fails a layer that never ends after %s", async (_, layerTimeoutMs, limitMs) => {
  const { store } = await recorded();
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const handed = Promise.withResolvers<undefined>();
  const hangs = defineMiddleware({ name: "hangs", version: "1.0.0" }, () => () => {
    handed.resolve(undefined);
    return new Promise(() => undefined);
  });
  let isDone = false;
  const found = differences(store, changed({ middleware: [hangs], layerTimeoutMs }), {
    onConversation: () => {
      isDone = true;
    },
  });
  await handed.promise;
  await vi.advanceTimersByTimeAsync(limitMs - 1);
  expect(isDone).toBe(false);
  // Each of the two runs takes its whole time.
  await vi.advanceTimersByTimeAsync(1);
  await vi.advanceTimersByTimeAsync(limitMs);
  expect(await found).toMatchObject({ culprit: "hangs@1.0.0", differing: 1 });
});

test("leaves policies as they are recorded if asked to, and lets a layer below a changed policy go on", async () => {
  const { store } = await recorded(stack);
  const stateless = changed({ ...stack, mode: "stateless" });
  expect(await differences(store, stateless, { recordedPolicies: true })).toMatchObject({ changed: 0, compared: 3 });
  expect(await differences(store, stateless)).toMatchObject({ changed: 3, chains: 2 });
});

test("compares two stacks with each other, and a stack with itself without a layer", async () => {
  const { store } = await recorded(stack);
  const other = changed({ ...stack, middleware: [says("greet", "Hi.")], mode: "stateless" });
  expect(await differences(store, other)).toMatchObject({ changed: 3 });
  expect(await differences(store, other, { compareWith: other })).toMatchObject({
    changed: 0,
    compared: 3,
    differing: 0,
  });
  expect(await differences(store, changed(stack), { without: "greet" })).toMatchObject({
    changed: 3,
    culprit: "greet@1.0.0",
  });
  await expect(regress(store, other, { without: "gret" })).rejects.toMatchObject({ code: "layer-not-found" });
});

test("refuses again what was refused, so that the same stack does the same and a stack that sends everything is not refused", async () => {
  const workshop = createWorkshop();
  const { conversation, store } = workshop;
  const answers = scripted(["One.", "Two.", "Three."]);
  let isLost = false;
  const forgetful = {
    ...answers,
    infer: (request: Parameters<typeof answers.infer>[0]) => {
      if (!isLost || !request.bodyText.includes("previous_response_id")) return answers.infer(request);
      isLost = false;
      throw new ProviderError("gone", { kind: "lost-state", outcome: "rejected", status: 404 });
    },
  };
  const engine = workshop.engine({ provider: forgetful });
  for (const text of ["a", "b", "c"]) {
    isLost = text === "b";
    await conversation.append(text);
    await conversation.run(engine);
  }
  expect(await differences(store, changed())).toMatchObject({ requests: 4, compared: 4, changed: 0, unknown: {} });
  // The refused request and the one after it become one.
  expect(await differences(store, changed({ mode: "stateless" }))).toMatchObject({
    culprit: "policy:mode",
    added: 0,
    unknown: {},
  });
});

test("says what is unknown and why: a context that is not given or cannot be made, and an answer that the log does not have", async () => {
  const { store, conversation } = await recorded(stack);
  const asks = defineMiddleware({ name: "asks", version: "1.0.0" }, (next) => async (turn) => next(await next(turn)));
  const more = await differences(store, changed({ ...stack, middleware: [asks, ...stack.middleware] }));
  expect(more).toMatchObject({ culprit: "asks@1.0.0", unknown: { answer: 1 } });
  await conversation.append("Who am I?");
  const seeing = defineMiddleware<{ readonly name: string }>(
    { name: "seeing", version: "1.0.0" },
    (next) => (turn, ctx) => next(turn.insertOnce("who", user(`I am ${ctx.context.name}`), 0)),
  );
  const asked = createEngine({ provider: scripted(["Ann."]), middleware: [seeing] });
  await conversation.run(asked, { context: { name: "Ann" } });
  const other = createEngine({ provider, middleware: [seeing] });
  expect((await differences(store, other)).unknown).toMatchObject({ context: 1 });
  const context = ({ conversation: id }: { readonly conversation: string }) => ({
    name: id === conversation.id ? "Ann" : "",
  });
  expect((await differences(store, other, { context })).unknown).toEqual({});
  const failing = () => {
    throw new Error("the directory is down");
  };
  const without = await differences(store, other, { context: failing });
  expect(without.unknown).toEqual({ context: 4 });
  expect(without.results[0]?.message).toBe("the context cannot be made: the directory is down");
});

test("chooses conversations by id, label, time and sample, and always the same sample", async () => {
  const { store, conversation, clock } = await recorded(stack);
  const noon = new Date(clock.now);
  clock.now += 60_000;
  for (const id of ["cnv_b", "cnv_c"]) {
    const other = store.conversation(id);
    await other.append("Hello?");
    await other.relabel({ labels: { user: id } });
  }
  const ids = async (chosen: RegressOptions): Promise<readonly string[]> => {
    const { results } = await differences(store, changed(stack), chosen);
    return results.map(({ conversation: id }) => id).toSorted();
  };
  const all = ["cnv_b", "cnv_c", conversation.id];
  expect(await ids({})).toEqual(all);
  expect(await ids({ conversations: ["cnv_b"] })).toEqual(["cnv_b"]);
  expect(await ids({ labels: { user: "cnv_c" } })).toEqual(["cnv_c"]);
  expect(await ids({ since: new Date(noon.getTime() + 1) })).toEqual(["cnv_b", "cnv_c"]);
  const sample = await ids({ sample: 2 });
  expect(sample).toHaveLength(2);
  expect(await ids({ sample: 2 })).toEqual(sample);
  expect(sample).toEqual(expect.arrayContaining([...(await ids({ sample: 1 }))]));
  await expect(regress(store, changed(stack), { sample: 0 })).rejects.toThrow(/sample is 0/);
});

test("says about how much more it costs: nothing for the same, more for a longer and less for a shorter Turn", async () => {
  const { store } = await recorded(stack);
  const { file } = temporaryFolder();
  const entry = { litellm_provider: "openai", input_cost_per_token: 0.001, output_cost_per_token: 0.003 };
  const prices = file("prices.json");
  writeFileSync(prices, JSON.stringify({ "gpt-5.4": { ...entry, cache_read_input_token_cost: 0.0001 } }));
  const priced = { prices, priceAs: { scripted: "gpt-5.4" } };
  const costOf = async (greeting: string) => {
    const engine = changed({ ...stack, middleware: [says("greet", greeting), brief, sign] });
    const { money, unpriced } = await differences(store, engine, priced);
    expect(unpriced).toBe(0);
    return Number(money);
  };
  expect(await costOf("Hello.")).toBe(0);
  expect(await costOf("Hello, and a very long greeting to all of you.".repeat(10))).toBeGreaterThan(0);
  expect(await costOf(".")).toBeLessThan(0);
});
