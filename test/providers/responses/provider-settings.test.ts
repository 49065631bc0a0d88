import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { ProviderSettingsError } from "../../../src/providers/settings/settings-error.ts";
import { answering, serve } from "../../support/providers/loopback.ts";

beforeEach(() => {
  for (const name of ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
    vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const create = (options: Partial<OpenaiResponsesOptions> = {}) =>
  openaiResponses({ model: "m", apiKey: "sk-1", ...options });

describe("settings", () => {
  test("are every option that is not about the connection, in the caller's order", () => {
    const tools = [{ type: "function" as const, name: "n", parameters: { of: undefined }, strict: null }];
    const { settings } = create({
      top_p: 1,
      transport: "json",
      tools,
      baseURL: "http://localhost",
      instructions: undefined,
      extraBody: { zeta: 1, "7": { a: [] }, none: undefined },
      background: null,
    });
    expect(JSON.stringify(settings)).toBe(
      '{"7":{"a":[]},"model":"m","top_p":1,"tools":[{"type":"function","name":"n","parameters":{},"strict":null}],"background":null,"zeta":1}',
    );
  });

  test.each([
    ["apikey", /^openaiResponses has no option 'apikey': did you mean 'apiKey'\? Other members .* go under extraBody$/],
    ["api_key", /did you mean 'apiKey'\?/],
    ["baseUrl", /did you mean 'baseURL'\?/],
    ["baseurl", /did you mean 'baseURL'\?/],
    ["timeout", /did you mean 'timeoutMs'\?/],
    ["temprature", /did you mean 'temperature'\?/],
    ["maxOutputTokens", /did you mean 'max_output_tokens'\?/],
    ["max_tokens", /did you mean 'max_output_tokens'\?/],
    ["response_format", /did you mean 'text'\?/],
    ["extra_body", /did you mean 'extraBody'\?/],
    ["top_k", /^openaiResponses has no option 'top_k': /],
    ["guided_decoding_backend", /^openaiResponses has no option 'guided_decoding_backend'; other members/],
  ])("that do not exist are rejected: %s", (name, message) => {
    for (const value of ["x", undefined, null]) {
      expect(() => create({ [name]: value })).toThrow(ProviderSettingsError);
      expect(() => create({ [name]: value })).toThrow(message);
    }
  });

  test.each([
    [{ temperature: 1 }, "extraBody.temperature is an option of turnlog: give temperature beside extraBody"],
    [{ stream: true }, "stream is not a setting"],
    [{ conversation: "conv_1" }, "conversation is not supported"],
    [{ at: new Date(0) }, "extraBody.at is not JSON"],
    ["top_k=1", "extraBody is a text: give an object"],
  ])("of a server's own are refused where they are none: %j", (extraBody, message) => {
    expect(() => create({ extraBody: extraBody as never })).toThrow(message);
  });

  test.each([
    [
      "conversation",
      "conv_1",
      /conversation is not supported: .* give createEngine mode 'conversation'; importConversation reads/,
    ],
    ["prompt", { id: "pmpt_1" }, /prompt is not supported: .* instructions instead/],
    ["input", [], /input is not a setting/],
    ["previous_response_id", "resp_1", /previous_response_id is not a setting/],
    ["stream", true, /stream is not a setting/],
    ["tools", [{ execute: () => 1 }], /tools\[0\]\.execute is not JSON/],
    ["metadata", { at: new Date(0) }, /metadata\.at is not JSON/],
    ["temperature", Number.NaN, /temperature is not JSON/],
  ])("refuse %s", (name, value, message) => {
    expect(() => create({ [name]: value })).toThrow(ProviderSettingsError);
    expect(() => create({ [name]: value })).toThrow(message);
  });

  test("do not mind what is refused when it is off", () => {
    const off = { conversation: null, background: false };
    // @ts-expect-error: types refuse them even so.
    expect(create(off).settings).toEqual({
      model: "m",
      conversation: null,
      background: false,
    });
  });
});

describe("the scope", () => {
  test("names what a response id is good for, and no secret", () => {
    const baseURL = "https://user:password@example.com/openai/v1/?api-version=1";
    const { scope } = create({ baseURL, organization: "org-1", project: "proj-1", apiKey: "sk-secret" });
    const owner = "b7e8ff5bd9bb";
    expect(scope.replace(/owner=\w{12}$/, `owner=${owner}`)).toBe(
      `openai-responses https://example.com/openai/v1 organization=org-1 project=proj-1 codec=openai-responses owner=${owner}`,
    );
    expect(scope).not.toMatch(/secret|password/);
  });

  test("is the same for another query, and for another user", () => {
    const scopes = [
      "https://example.com/v1",
      "https://me:password@example.com/v1/?key=1",
      "https://example.com/v1?key=2",
    ];
    expect(new Set(scopes.map((baseURL) => create({ baseURL }).scope)).size).toBe(1);
  });

  test("is another for another key, address or project, and the same for another model", () => {
    const scopes = [
      create(),
      create({ apiKey: "sk-2" }),
      create({ baseURL: "https://example.com/v1" }),
      create({ project: "p" }),
    ];
    expect(new Set(scopes.map(({ scope }) => scope)).size).toBe(4);
    expect(create({ model: "other" }).scope).toBe(create().scope);
  });

  test("outlives a key whose owner is named", () => {
    expect(create({ credentialsOwner: "team" }).scope).toBe(create({ credentialsOwner: "team", apiKey: "sk-2" }).scope);
  });

  test("says what the environment says", () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-1");
    vi.stubEnv("OPENAI_BASE_URL", "https://example.com/v1/");
    vi.stubEnv("OPENAI_ORG_ID", "org-1");
    const given = create({ baseURL: "https://example.com/v1", organization: "org-1" });
    expect(openaiResponses({ model: "m" }).scope).toBe(given.scope);
  });
});

test("an error about a missing key says what to do", () => {
  expect(() => openaiResponses({ model: "m" })).toThrow("there is no API key: set OPENAI_API_KEY, or give apiKey");
});

test("an invalid base URL is an error", () => {
  expect(() => create({ baseURL: "localhost" })).toThrow(
    /base URL is not a URL: localhost; it must begin with https:\/\//,
  );
  expect(() => create({ baseURL: "me:password@localhost/v1?key=4711" })).toThrow(
    /^the base URL is not a URL: localhost\/v1; /,
  );
});

test("query and user of the base URL go with every request", async () => {
  await using server = await serve(answering({ id: "resp_1", status: "completed", output: [] }));
  const baseURL = `${server.baseURL.replace("//", "//me:pass%20word@")}/?api-version=1`;
  await create({ baseURL }).retrieve("resp_1");
  const [received] = server.received;
  expect(received?.url).toBe("/v1/responses/resp_1?api-version=1");
  expect(received?.headers.authorization).toBe(`Basic ${Buffer.from("me:pass word").toString("base64")}`);
});

test("capabilities are OpenAI's own, but for what is said", () => {
  expect(create().capabilities).toMatchObject({
    chain: true,
    echo: "anchor",
    storeDefault: true,
    emptyInput: false,
  });
  expect(create({ capabilities: { chain: false } }).capabilities).toMatchObject({ chain: false, itemIds: true });
});
