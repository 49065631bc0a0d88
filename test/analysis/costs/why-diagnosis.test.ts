import { expect, test } from "vitest";
import type { ReferenceServerOptions } from "../../../packages/reference-server/src/server.ts";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, objectOf, parseJson } from "../../../src/base/json.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { lens } from "../../../src/middleware/lens.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createWorkshop, type Workshop } from "../../support/workshop.ts";

const apiKey = "none";
const long = (text: string): string => `${text} ${"word ".repeat(60)}`.trimEnd();

type Asked = Partial<EngineConfig> & { readonly model?: string; readonly more?: object };

const wires = {
  responses: {
    provider: (url: string, { model = "m-1", more = {} }: Asked): Provider =>
      openaiResponses({ model, apiKey, baseURL: `${url}/v1`, transport: "json", cacheDiagnostics: true, ...more }),
    asked: (body: object) => objectOf(Reflect.get(body, "prompt_cache_options"))["comparison_response_id"],
    model: "model_changed",
    block: "input_changed",
  },
  messages: {
    provider: (url: string, { model = "m-1", more = {} }: Asked): Provider =>
      anthropic({ model, apiKey, baseURL: url, transport: "json", cacheDiagnostics: true, ...more }),
    asked: (body: object) => objectOf(Reflect.get(body, "diagnostics"))["previous_message_id"],
    model: "model_changed",
    block: "messages_changed",
  },
} as const;

type Wire = (typeof wires)[keyof typeof wires];

async function world(wire: Wire, options: ReferenceServerOptions = {}) {
  const workshop = createWorkshop();
  const server = await startReferenceServer({ seed: "says", now: () => workshop.clock.now, ...options });
  const ask = async (said: string, asked: Asked = {}): Promise<void> => {
    const { middleware = [] } = asked;
    workshop.clock.now += 1_000;
    await workshop.conversation.append(long(said));
    await workshop.conversation.run(workshop.engine({ provider: wire.provider(server.url, asked), middleware }));
  };
  const bodies = () => server.requests.map(({ body }) => (isJsonObject(body) ? body : {}));
  return { ...workshop, server, ask, bodies, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const saidOf = async ({ conversation }: Workshop) => (await conversation.why()).cache.serverSays;

test.each(Object.entries(wires))(
  "%s: each request names the newest answer, and why shows what the provider says beside its own comparison",
  async (_, wire) => {
    await using here = await world(wire);
    await here.ask("one");
    expect(await saidOf(here)).toBeNull();
    await here.ask("two");
    expect(await saidOf(here)).toMatchObject({ says: "same", reason: null, agrees: true });
    await here.ask("three", { model: "m-2" });
    expect(await saidOf(here)).toMatchObject({ says: "changed", reason: wire.model, agrees: true });
    const hide = lens({
      ...{ name: "veil", version: "1.0.0" },
      hide: (block) => (block.text.startsWith("two") ? block.withText(`2 ${block.text}`) : block),
    });
    await here.ask("four", { model: "m-2", middleware: [hide] });
    const said = await saidOf(here);
    expect(said).toMatchObject({ says: "changed", reason: wire.block, agrees: true });
    expect(said?.lostTokens).toBeGreaterThan(60);
    const requests = here.server.requests.map(({ responseId }) => responseId);
    expect(here.bodies().map((body) => wire.asked(body) ?? null)).toEqual([null, ...requests.slice(0, -1)]);
  },
);

test.each(Object.entries(wires))(
  "%s: the bodies are rebuilt to the byte, and the chain and the other settings stay as they are",
  async (name, wire) => {
    const options = name === "responses" ? { more: { prompt_cache_options: { ttl: "30m" }, top_p: 1 } } : {};
    await using here = await world(wire);
    for (const said of ["one", "two", "three"]) await here.ask(said, options);
    const { conversation, server } = here;
    const sent: string[] = [];
    for await (const { event, revision } of conversation.events())
      if (event.type === "InferenceRequested") sent.push((await conversation.request(revision)).bodyText);
    expect(sent).toEqual(server.requests.map(({ bodyText }) => bodyText));
    if (name !== "responses") return;
    const [, second = {}] = here.bodies();
    const id = server.requests[0]?.responseId;
    expect(Object.entries(second).slice(1, 3)).toEqual([
      ["prompt_cache_options", { ttl: "30m", comparison_response_id: id }],
      ["top_p", 1],
    ]);
    expect(second).toMatchObject({ previous_response_id: id });
    expect(second).not.toHaveProperty("cacheDiagnostics");
  },
);

test.each(Object.entries(wires))(
  "%s: an endpoint that rejects the member is asked without it, in this process and in the next",
  async (_, wire) => {
    await using here = await world(wire, { unsupported: ["diagnostics", "prompt_cache_options"] });
    await here.ask("one");
    await here.ask("two");
    await here.ask("three");
    expect(await saidOf(here)).toBeNull();
    const asked = here.bodies().map((body) => "diagnostics" in body || "prompt_cache_options" in body);
    expect(asked.filter(Boolean)).toHaveLength(1);
    const learned: unknown[] = [];
    for await (const { event } of here.conversation.events())
      if (event.type === "CapabilityLearned") learned.push(event.data);
    expect(learned).toMatchObject([{ capability: "cacheDiagnostics", value: false, model: "m-1" }]);
    const { decision } = await here.conversation.why();
    expect([decision.strategy, decision.changedSettings]).toEqual([wire === wires.responses ? "chained" : "full", []]);
  },
);

test("a model that lacks diagnostics and breakpoints is asked without both", async () => {
  const unsupported = ["prompt_cache_options", "prompt_cache_breakpoint"];
  await using older = await world(wires.responses, { unsupported });
  const learned: string[] = [];
  // The first request names no answer yet, so the second one meets both.
  for (const said of ["one", "two", "three"]) await older.ask(said, { more: { cacheBreakpoints: said !== "one" } });
  for await (const { event } of older.conversation.events())
    if (event.type === "CapabilityLearned") learned.push(event.data.capability);
  expect(learned.toSorted()).toEqual(["cacheBreakpoints", "cacheDiagnostics"]);
  expect(older.server.requests.map(({ status }) => status)).toEqual([200, 400, 400, 200, 200]);
});

test("the sums of the cache count what the provider said, and how often turnlog agrees", async () => {
  await using here = await world(wires.messages);
  await here.ask("one");
  await here.ask("two", { model: "m-2" });
  expect((await here.store.cache()).serverSays).toEqual({ requests: 1, agreed: 1, disagreed: 0 });
});

test("a setting that names an answer itself cannot go with the option", () => {
  const options = { model: "m", apiKey, cacheDiagnostics: true };
  expect(() => anthropic({ ...options, diagnostics: { previous_message_id: "msg_1" } })).toThrow(
    "diagnostics cannot go with cacheDiagnostics",
  );
  expect(() => openaiResponses({ ...options, prompt_cache_options: { comparison_response_id: "resp_1" } })).toThrow(
    "comparison_response_id cannot go with cacheDiagnostics",
  );
  const wrong: object = { cacheDiagnostics: "yes" };
  expect(() => anthropic({ ...options, ...wrong })).toThrow("cacheDiagnostics is a text: give true or false");
  const settings = anthropic({ model: "m", apiKey, cacheDiagnostics: false }).settings;
  expect(Object.hasOwn(settings, "cacheDiagnostics")).toBe(false);
  expect(parseJson(JSON.stringify(settings))).toEqual(anthropic({ model: "m", apiKey }).settings);
});
