import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type OpenaiResponsesOptions, openaiResponses } from "../../src/providers/openai-responses.ts";
import { ProviderSettingsError } from "../../src/providers/provider-settings.ts";

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
    const tools = [{ type: "function", name: "n", parameters: {}, strict: undefined }];
    const { settings } = create({
      zeta: 1,
      transport: "json",
      tools,
      baseURL: "http://localhost",
      instructions: undefined,
      alpha: null,
    });
    expect(JSON.stringify(settings)).toBe(
      '{"model":"m","zeta":1,"tools":[{"type":"function","name":"n","parameters":{}}],"alpha":null}',
    );
  });

  test.each([
    ["conversation", "conv_1", /conversation is not supported: .* chains by response id/],
    ["prompt", { id: "pmpt_1" }, /prompt is not supported: .* instructions instead/],
    ["input", [], /input is no setting/],
    ["previous_response_id", "resp_1", /previous_response_id is no setting/],
    ["stream", true, /stream is no setting/],
    ["tools", [{ execute: () => 1 }], /tools\[0\]\.execute is no JSON/],
    ["metadata", { at: new Date(0) }, /metadata\.at is no JSON/],
    ["temperature", Number.NaN, /temperature is no JSON/],
  ])("refuse %s", (name, value, message) => {
    expect(() => create({ [name]: value })).toThrow(ProviderSettingsError);
    expect(() => create({ [name]: value })).toThrow(message);
  });

  test("do not mind what is refused when it is off", () => {
    expect(create({ conversation: null, background: false }).settings).toEqual({
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
      `openai-responses https://example.com/openai/v1?api-version=1 organization=org-1 project=proj-1 codec=openai-responses/1 owner=${owner}`,
    );
    expect(scope).not.toMatch(/secret|password/);
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

test("a missing key is told with what to do", () => {
  expect(() => openaiResponses({ model: "m" })).toThrow("there is no API key: set OPENAI_API_KEY, or give apiKey");
});

test("a base URL that is none is told", () => {
  expect(() => create({ baseURL: "localhost" })).toThrow(/base URL is no URL: localhost/);
});

test("capabilities are OpenAI's own, but for what is said", () => {
  expect(create().capabilities).toMatchObject({
    chain: true,
    echo: "previous-response-id",
    storeDefault: true,
    emptyInput: false,
  });
  expect(create({ capabilities: { chain: false } }).capabilities).toMatchObject({ chain: false, itemIds: true });
});
