import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, test, vi } from "vitest";
import { azureResponses, openaiResponses } from "../../../src/entries/responses.ts";
import { aiSdk } from "../../../src/providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import { googleCodeAssist } from "../../../src/providers/google/code-assist.ts";
import { googleGemini } from "../../../src/providers/google/google-gemini.ts";
import { googleInteractions } from "../../../src/providers/google/google-interactions.ts";
import { googleVertex } from "../../../src/providers/google/vertex.ts";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import { ProviderSettingsError } from "../../../src/providers/settings/settings-error.ts";

const model = createOpenAICompatible({ name: "mine", baseURL: "http://127.0.0.1:9/v1" })("m");
const token = () => "ya29.token";

/** Every function that makes a provider, as JavaScript and configuration files call it. */
const makers: Readonly<Record<string, (options: object) => unknown>> = {
  openaiResponses: (options) => openaiResponses({ model: "m", apiKey: "none", ...options }),
  azureResponses: (options) =>
    azureResponses({ model: "m", apiKey: "none", endpoint: "https://r.openai.azure.com", ...options }),
  chatCompletions: (options) => chatCompletions({ model: "m", apiKey: "none", ...options }),
  anthropic: (options) => anthropic({ model: "m", apiKey: "none", ...options }),
  googleGemini: (options) => googleGemini({ model: "m", apiKey: "none", ...options }),
  googleVertex: (options) =>
    googleVertex({ model: "m", project: "p", location: "global", credentials: token, ...options }),
  googleCodeAssist: (options) =>
    googleCodeAssist({ model: "m", credentials: token, credentialsOwner: "me", ...options }),
  googleInteractions: (options) => googleInteractions({ model: "m", apiKey: "none", ...options }),
  ollama: (options) => ollama({ model: "m", ...options }),
  aiSdk: (options) => aiSdk({ model, ...options }),
  claudeCli: (options) => claudeCli(options),
};

function refusalOf(provider: string, options: object): string {
  try {
    makers[provider]?.(options);
  } catch (error) {
    if (error instanceof ProviderSettingsError) return error.message;
    return `no ProviderSettingsError, but ${String(error)}`;
  }
  return "taken";
}

describe.each(Object.keys(makers))("%s", (provider) => {
  test("takes what is right", () => {
    expect(refusalOf(provider, { timeoutMs: 1_000 })).toBe("taken");
  });

  test.each([
    [{ timeout: 5 }, "has no option 'timeout': did you mean 'timeoutMs'?"],
    [{ instruction: "x" }, "has no option 'instruction': did you mean 'instructions'?"],
    [{ zzz: 1 }, "has no option 'zzz'; "],
    [{ middleware: [] }, "has no option 'middleware': give it to createEngine"],
    [{ mode: "chained" }, "has no option 'mode': give it to createEngine, or to run"],
  ])("says what was meant by %j", (options, text) => {
    expect(refusalOf(provider, options)).toContain(`${provider} ${text}`);
  });

  test.each([
    [{ timeoutMs: "x" }, "timeoutMs is a text: give milliseconds"],
    [{ timeoutMs: null }, "timeoutMs is null: give milliseconds"],
    [{ instructions: 5 }, "instructions is 5: give the text for the model"],
  ])("refuses %j when it is made", (options, text) => {
    expect(refusalOf(provider, options)).toContain(`${provider}: ${text}`);
  });
});

describe.each(Object.keys(makers).filter((name) => !["aiSdk", "claudeCli"].includes(name)))("%s", (provider) => {
  test.each([
    [{ model: "" }, "model is an empty text: give the name of a model"],
    [{ model: undefined }, "model is undefined: give the name of a model"],
    [{ fetch: 5 }, "fetch is 5: give a function"],
    [{ transport: "ssee" }, "transport is 'ssee': "],
    [{ headers: { "bad header": "x" } }, "headers has 'bad header', which is not a header name"],
    [{ headers: "x" }, "headers is a text: give an object"],
  ])("refuses %j when it is made", (options, text) => {
    expect(refusalOf(provider, options)).toContain(`${provider}: ${text}`);
  });

  test("names a limit that is misspelt, and where members of a body go that it does not know", () => {
    expect(refusalOf(provider, { limits: { idleMS: 4 } })).toBe(
      "limits has no option 'idleMS': did you mean 'idleMs'?",
    );
    expect(refusalOf(provider, { zzz: 1 })).toMatch(/; other members of the request body go under extraBody$/);
    expect(refusalOf(provider, { extraBody: { zzz: 1 } })).toBe("taken");
  });
});

test.each([
  ["googleGemini", { temprature: 1 }, "generationConfig: { temperature }"],
  ["googleVertex", { temperature: 1 }, "generationConfig: { temperature }"],
  ["googleCodeAssist", { max_tokens: 1 }, "generationConfig: { maxOutputTokens }"],
  ["googleGemini", { reasoningEffort: "low" }, "generationConfig: { thinkingConfig }"],
  ["googleGemini", { system: "x" }, "'instructions'"],
  ["googleInteractions", { maxOutputTokens: 1 }, "generation_config: { max_output_tokens }"],
  ["ollama", { temprature: 1 }, "options: { temperature }"],
  ["ollama", { maxTokens: 1 }, "options: { num_predict }"],
  ["anthropic", { effort: "low" }, "output_config: { effort }"],
  ["openaiResponses", { reasoning_effort: "low" }, "reasoning: { effort }"],
  ["openaiResponses", { verbosity: "low" }, "text: { verbosity }"],
  ["aiSdk", { max_tokens: 1 }, "'maxOutputTokens'"],
])("%s: an error about a nested option names its path: %j", (provider, options, meant) => {
  expect(refusalOf(provider, options)).toContain(`: did you mean ${meant}? `);
});

test.each([
  ["openaiResponses", { capabilities: { chains: true } }, "capabilities has no 'chains': did you mean 'chain'?"],
  ["anthropic", { capabilities: { chain: true } }, "capabilities has no 'chain': give 'reasoningPrefix'"],
  ["anthropic", { betas: "x" }, "anthropic: betas is a text: give a list of texts"],
  [
    "chatCompletions",
    { input: [] },
    "the setting input is not supported: turnlog makes messages from the conversation",
  ],
  ["googleGemini", { contents: [] }, "contents is not a setting: turnlog sets it for each request"],
  ["googleGemini", { extraBody: { contents: [] } }, "contents is not a setting: turnlog sets it for each request"],
  ["googleGemini", { systemInstruction: {} }, "systemInstruction is not supported: give it as instructions"],
  ["googleGemini", { extraBody: { labels: {} } }, "extraBody.labels is an option of turnlog"],
  ["googleGemini", { baseURL: "somewhere" }, "baseURL is 'somewhere': give an address that begins with https:// or"],
  ["googleVertex", { credentials: 5 }, "googleVertex: credentials is 5: give a function"],
  ["googleCodeAssist", { baseURL: "http://host" }, "baseURL has no path: give it with the version"],
  ["ollama", { options: { num_ctxx: 1 } }, "ollama: options has no 'num_ctxx': did you mean 'num_ctx'?"],
  ["ollama", { apiKey: 5 }, "ollama: apiKey is 5: give a text"],
  ["aiSdk", { apiKey: "x" }, "apiKey is not supported: set it in the AI SDK package that makes the model"],
  ["claudeCli", { cwd: 5 }, "claudeCli: cwd is 5: give a text"],
  ["claudeCli", { extraBody: {} }, "claudeCli has no option 'extraBody'; it takes model, instructions, args, command"],
  ["claudeCli", { model: "" }, "claudeCli: model is an empty text: give the name of a model"],
])("%s refuses %j", (provider, options, text) => {
  expect(refusalOf(provider, options)).toContain(text);
});

const given: Readonly<Record<string, (options: never) => unknown>> = {
  ...{ openaiResponses, azureResponses, chatCompletions, anthropic, googleGemini, googleVertex, googleCodeAssist },
  ...{ googleInteractions, ollama, aiSdk, claudeCli },
};

test.each(
  Object.entries(given).flatMap(([name, make]) => [
    { name, make, options: null, what: "null" },
    { name, make, options: "gpt-5.4", what: "a text" },
  ]),
)("$name takes options, and says so where it is given $what", ({ name, make, options, what }) => {
  expect(() => make(options as never)).toThrow(
    new ProviderSettingsError(`${name} takes an object of options, not ${what}: write ${name}({ model })`),
  );
});

test.each([{ project: undefined }, { location: "" }])("Vertex needs %j", (options) => {
  expect(refusalOf("googleVertex", options)).toMatch(/^googleVertex: (project|location) is .*: give /);
});

test("what a model of Ollama's takes is passed on, also by a name that is new", () => {
  expect(refusalOf("ollama", { options: { num_ctx: 1, a_brand_new_sampler: 2 } })).toBe("taken");
});

test("no address of the environment counts as one of an empty text", () => {
  vi.stubEnv("OLLAMA_HOST", "");
  expect(refusalOf("ollama", {})).toBe("taken");
  vi.unstubAllEnvs();
});
