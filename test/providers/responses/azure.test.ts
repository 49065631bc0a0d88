import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import * as reference from "../../../packages/reference-server/src/server.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import {
  type AzureResponsesOptions,
  azureResponses,
  type OpenaiResponsesOptions,
  openaiResponses,
} from "../../../src/entries/responses.ts";
import { createEngine, defineMiddleware, openStore, ProviderError, RunFailedError } from "../../../src/index.ts";

const failureOf = (work: () => Promise<unknown>): Promise<unknown> => work().catch((error: unknown) => error);
const key = "azure-key-4711";
const other = "azure-key-4712";
const token = (n: number): string => `entra-token-${n}-of-the-directory`;

let server: reference.ReferenceServer;
let endpoint: string;
beforeEach(async () => {
  const keys = [key, other, token(1), token(2), token(3)];
  server = await reference.startReferenceServer({
    azure: { keys, blocks: "bomb", deployments: ["my-deployment"] },
    seed: "azure",
  });
  endpoint = new URL(server.baseUrl).origin;
});
afterEach(() => server[Symbol.asyncDispose]());

const azure = (options: Partial<AzureResponsesOptions> = {}) =>
  azureResponses({
    model: "my-deployment",
    endpoint,
    ...(options.token === undefined ? { apiKey: key } : {}),
    ...options,
  });

async function ask(...providers: readonly ReturnType<typeof azure>[]) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const results = [];
  for (const [index, provider] of providers.entries()) {
    await conversation.append(`Question ${index}`);
    results.push(await conversation.run(createEngine({ provider })));
  }
  return results;
}

describe("a request", () => {
  test("goes to the v1 route of the resource, for a deployment, with the key in Azure's header", async () => {
    await ask(azure());
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/openai/v1/responses" });
    expect(request?.headers).toMatchObject({ "api-key": key });
    expect(request?.headers).not.toHaveProperty("authorization");
    expect(request?.body).toMatchObject({ model: "my-deployment" });
  });

  test.each([
    ["", "/openai/v1/responses"],
    ["/", "/openai/v1/responses"],
    ["/openai", "/openai/v1/responses"],
    ["/openai/v1/", "/openai/v1/responses"],
    ["/team/openai/v1", "/team/openai/v1/responses"],
  ])("of an endpoint with the path %j goes to %s", async (path, expected) => {
    await ask(azure({ endpoint: `${endpoint}${path}` })).catch(() => undefined);
    expect(server.requests[0]?.path).toBe(expected);
  });

  test("names the version of the API in its query, which is no part of what responses belong to", async () => {
    const provider = azure({ apiVersion: "preview" });
    await ask(provider);
    expect(server.requests[0]?.path).toBe("/openai/v1/responses?api-version=preview");
    expect(provider.scope).toBe(azure().scope);
    expect(provider.scope).not.toContain("preview");
  });

  test.each([
    ["", "2025-04-01-preview", "/openai/responses?api-version=2025-04-01-preview"],
    ["/openai?api-version=2025-04-01-preview", undefined, "/openai/responses?api-version=2025-04-01-preview"],
    ["/openai/responses?api-version=2025-04-01-preview", undefined, "/openai/responses?api-version=2025-04-01-preview"],
    ["/openai/v1/responses", undefined, "/openai/v1/responses"],
    ["", "preview", "/openai/v1/responses?api-version=preview"],
  ])("of the endpoint %j and the version %s goes to %s", async (path, apiVersion, expected) => {
    const results = await ask(
      ...Array<ReturnType<typeof azure>>(2).fill(azure({ endpoint: endpoint + path, apiVersion })),
    );
    expect(server.requests.map((request) => request.path)).toEqual([expected, expected]);
    expect(results.map(({ steps }) => steps[0]?.decision.strategy)).toEqual(["full", "chained"]);
  });

  test("of a version that the v1 route does not have is refused by the server", async () => {
    const dated = azure({ endpoint: `${endpoint}/openai/v1`, apiVersion: "2025-04-01-preview" });
    const cause = { kind: "invalid-request", status: 400, message: "API version not supported" };
    expect(await failureOf(() => ask(dated))).toMatchObject({ cause });
  });

  test("for a deployment that is not there is refused in Azure's words", async () => {
    const cause = { kind: "invalid-request", status: 404, providerCode: "DeploymentNotFound" };
    expect(await failureOf(() => ask(azure({ model: "elsewhere" })))).toMatchObject({ cause });
  });

  test("may have instructions in messages, which layers add to, and the model reads all of it", async () => {
    const instructions = [{ role: "developer", content: "Be brief." }] as const;
    const today = defineMiddleware({ name: "today", version: "1.0.0" }, (next) => (turn, ctx) => {
      ctx.instructions("It is Monday.");
      return next(turn);
    });
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    await conversation.append("Hello.");
    await conversation.run(createEngine({ provider: azure({ instructions }), middleware: [today] }));
    const said = { type: "message", role: "developer", content: "It is Monday." };
    expect(server.requests[0]?.body).toMatchObject({ instructions: [...instructions, said] });
    expect(server.reading(0)?.instructions).toBe("Be brief.\n\nIt is Monday.");
    // Nobody else takes them.
    expectTypeOf<{ instructions: typeof instructions }>().not.toExtend<Pick<OpenaiResponsesOptions, "instructions">>();
  });

  test.each(["in-memory", "in_memory", "24h"] as const)(
    "keeps the cache of a prompt as Azure calls it: %s",
    async (kept) => {
      await ask(azure({ prompt_cache_retention: kept }));
      expect(server.requests[0]?.body).toMatchObject({ prompt_cache_retention: kept });
    },
  );

  test("leaves out what was not set, and says what was as Azure has it", async () => {
    await ask(
      azure({ store: undefined, max_tool_calls: undefined, prompt_cache_retention: "24h", safety_identifier: "u1" }),
    );
    const body = server.requests[0]?.body ?? {};
    expect(Object.keys(body)).toEqual([
      "model",
      "prompt_cache_retention",
      "safety_identifier",
      "include",
      "input",
      "stream",
    ]);
    expect(body).toMatchObject({ prompt_cache_retention: "24h", safety_identifier: "u1" });
  });
});

describe("who asks", () => {
  let given = 0;
  const tokens = (): string => {
    given += 1;
    return token(given);
  };
  beforeEach(() => {
    given = 0;
  });

  test("may be tokens that are fetched anew for each request", async () => {
    const provider = azure({ token: async () => tokens() });
    await ask(provider, provider);
    expect(server.requests.map(({ headers }) => headers["authorization"])).toEqual([
      `Bearer ${token(1)}`,
      `Bearer ${token(2)}`,
    ]);
    expect(server.requests.every(({ headers }) => headers["api-key"] === undefined)).toBe(true);
  });

  test("may change between keys and tokens of a resource, and the chain holds", async () => {
    const results = await ask(azure(), azure({ apiKey: other }), azure({ token: () => token(1) }));
    expect(results.map(({ steps }) => steps[0]?.decision.strategy)).toEqual(["full", "chained", "chained"]);
  });

  test("is masked where the server repeats it, whichever token it was", async () => {
    await using echo = await reference.startReferenceServer({
      azure: {},
      answer: ({ arrival }) => ({
        output: [reference.message(`I got ${String(echo.requests[arrival]?.headers["authorization"])}.`)],
      }),
    });
    const provider = azure({ endpoint: new URL(echo.baseUrl).origin, token: tokens });
    const results = await ask(provider, provider);
    expect(results.map(({ text }) => text)).toEqual(["I got Bearer [secret apiKey].", "I got Bearer [secret apiKey]."]);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no managed identity")), /failed: no managed identity; nothing was sent/],
    ["gives nothing", async () => "", /returned an empty text, not a text; nothing was sent/],
    ["never ends", () => new Promise<string>(() => undefined), /did not answer in time; nothing was sent/],
  ])("ends the run where the source of tokens %s", async (_, source, message) => {
    const failure = await failureOf(() => ask(azure({ token: source, timeoutMs: 50 })));
    const error = failure instanceof RunFailedError ? failure.cause : failure;
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ outcome: "rejected" });
    expect(error instanceof Error ? error.message : "").toMatch(message);
    expect(server.requests).toEqual([]);
  });

  test("is refused by a server that does not know the key", async () => {
    const failure = await failureOf(() => ask(azure({ apiKey: "azure-key-0000" })));
    expect(failure).toMatchObject({ cause: { kind: "authentication", outcome: "rejected", status: 401 } });
  });

  test("has to be known by name where keys change", () => {
    const apiKey = (): string => "key-of-the-hour";
    expect(() => openaiResponses({ model: "m", apiKey })).toThrow(/apiKey is a function.*give credentialsOwner/);
    expect(openaiResponses({ model: "m", apiKey, credentialsOwner: "team" }).scope).toContain("owner=team");
  });
});

test.each<[string, JsonObject, RegExp]>([
  ["no endpoint", { model: "m", apiKey: key }, /no endpoint: set AZURE_OPENAI_ENDPOINT/],
  ["no key", { model: "m", endpoint: "https://r.openai.azure.com" }, /no key: set AZURE_OPENAI_API_KEY/],
  [
    "a base URL",
    { model: "m", baseURL: "https://r.openai.azure.com" },
    /no option 'baseURL': give the address as endpoint/,
  ],
  ["a deployment", { deployment: "m" }, /no option 'deployment': give the deployment's name as model/],
  [
    "a deployment in its address",
    { model: "m", endpoint: "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21" },
    /a deployment in its endpoint: give https:\/\/RESOURCE\.openai\.azure\.com, and the deployment's name as model/,
  ],
  [
    "a background that stores nothing",
    { model: "m", endpoint: "https://r.openai.azure.com", apiKey: key, background: true, store: false },
    /background with store: false, but Azure makes background responses only if they are stored/,
  ],
  ["an address that is none", { model: "m", endpoint: "r.openai.azure.com", apiKey: key }, /the base URL is not a URL/],
])("a provider with %s is refused, in words that say what to do", (_, options, message) => {
  expect(() => azureResponses(options as unknown as AzureResponsesOptions)).toThrow(message);
});

const listed = {
  ...{ blocked: true, source_type: "prompt" },
  content_filter_results: { violence: { filtered: true, severity: "high" } },
};

describe("content filters", () => {
  test("are on the result and in its steps, by category", async () => {
    const [result] = await ask(azure());
    expect(result?.contentFilters.map(({ source, blocked }) => [source, blocked])).toEqual([
      ["prompt", false],
      ["completion", false],
    ]);
    expect(result?.steps[0]?.contentFilters[0]?.results["hate"]).toEqual({ filtered: false, severity: "safe" });
    expect(result?.contentFilters[0]?.results["jailbreak"]).toEqual({ filtered: false, detected: false });
  });

  test("that block a prompt end the run with an error that says what they found, and is recorded", async () => {
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    await conversation.append("How do I build a bomb?");
    const failure = await failureOf(() => conversation.run(createEngine({ provider: azure() })));
    expect(failure).toMatchObject({
      cause: { kind: "content-filtered", outcome: "rejected", providerCode: "content_filter" },
    });
    const found = [{ source: "prompt", blocked: true, results: { violence: { filtered: true, severity: "medium" } } }];
    expect(failure).toMatchObject({ cause: { contentFilters: found } });
    const recorded: unknown[] = [];
    for await (const { event } of conversation.events())
      if (event.type === "InferenceFailed") recorded.push(event.data);
    expect(recorded).toMatchObject([{ kind: "content-filtered", contentFilters: found }]);
    // It said no before it inferred, and would say no again.
    expect(server.requests.length).toBe(1);
  });
});

test.each<[string, JsonObject]>([
  ["as answers do", { content_filters: [listed] }],
  ["under innererror, in the plural", { innererror: { content_filter_results: listed.content_filter_results } }],
])("a refusal that lists what was found %s says the same", async (_, members) => {
  const error = { code: "content_filter", message: "It was filtered.", param: "prompt", ...members };
  const provider = azure({ fetch: async () => Response.json({ error }, { status: 400 }) });
  const found = [{ source: "prompt", blocked: true, results: { violence: { filtered: true, severity: "high" } } }];
  expect(await failureOf(() => ask(provider))).toMatchObject({
    cause: { kind: "content-filtered", contentFilters: found },
  });
});

test("an answer that a filter cuts off is incomplete, says so, and its text stays; the next request sends it", async () => {
  const cut = { status: "incomplete", incompleteDetails: { reason: "content_filter" } } as const;
  await using filtering = await reference.startReferenceServer({
    azure: {},
    answer: ({ request }) => ({ output: [reference.message(`Part ${request}`)], ...(request === 0 ? cut : {}) }),
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const engine = createEngine({ provider: azure({ endpoint: filtering.url }) });
  await conversation.append("Tell me.");
  const result = await conversation.run(engine);
  expect(result).toMatchObject({ text: "Part 0", status: "incomplete" });
  expect(result.contentFilters.map(({ source }) => source)).toEqual(["prompt", "completion"]);
  await conversation.append("Go on.");
  expect((await conversation.run(engine)).steps[0]?.decision.strategy).toBe("full");
  const read = reference.readItems(filtering.reading(1)?.items ?? []);
  expect(read).toHaveLength(3);
});

test("ids of items that were stored are not sent by a request that is not", async () => {
  const stateless = azure({ store: false, capabilities: { chain: false } });
  const results = await ask(azure(), stateless);
  expect(results[1]?.steps[0]?.decision.strategy).toBe("full");
  expect(JSON.stringify(server.requests[1]?.body)).not.toContain('"id"');
});

test("a conversation over a WebSocket goes to the same route, with the same key", async () => {
  const provider = azure({ transport: "websocket" });
  const results = await ask(provider, provider);
  expect(results.map(({ steps }) => steps[0]?.decision.transport)).toEqual(["websocket", "websocket"]);
  expect(results.map(({ steps }) => steps[0]?.decision.strategy)).toEqual(["full", "chained"]);
  await provider[Symbol.asyncDispose]?.();
});

test("each conversation has a WebSocket of its own, and no lane is named to find that out", async () => {
  await using single = await reference.startReferenceServer({ azure: {}, webSocket: { lanes: "none" } });
  const provider = azure({ endpoint: new URL(single.baseUrl).origin, transport: "websocket" });
  await using store = await openStore("memory:");
  await using engine = createEngine({ provider });
  const conversations = ["one", "other"].map((id) => store.conversation(`cnv_of_azure_${id}`));
  for (const text of ["Hello.", "And now?"])
    await Promise.all(
      conversations.map(async (conversation) => {
        await conversation.append(text);
        await conversation.run(engine);
      }),
    );
  expect(single.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(new Set(single.requests.map(({ socket }) => socket)).size).toBe(2);
  expect(single.requests.some(({ bodyText }) => bodyText.includes("stream_id"))).toBe(false);
});
