import { afterEach, describe, expect, test, vi } from "vitest";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import type { OllamaOptions } from "../../../src/providers/ollama/ollama-options.ts";
import { ProviderSettingsError } from "../../../src/providers/settings/settings-error.ts";
import { ask, failureOf, textOf } from "../../support/providers/inferences.ts";
import { answering, type Loopback, serve } from "../../support/providers/loopback.ts";

const end = { model: "m", done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 2 };
const call = { id: "call_1", function: { name: "look-up", arguments: { of: "a\u2028b" } } };
const lines = [
  { model: "m", message: { role: "assistant", content: "", thinking: "H" }, done: false },
  { model: "m", message: { role: "assistant", content: "", thinking: "m." }, done: false },
  { model: "m", message: { role: "assistant", content: "I lo" }, done: false },
  { model: "m", message: { role: "assistant", content: "ok: é" }, done: false },
  { model: "m", message: { role: "assistant", content: "", tool_calls: [call] }, done: false },
  { ...end, message: { role: "assistant", content: "" } },
];
const whole = {
  ...end,
  message: { role: "assistant", content: "I look: é", thinking: "Hm.", tool_calls: [call] },
};
const ndjson = (...told: readonly unknown[]): string => told.map((line) => `${JSON.stringify(line)}\n`).join("");

const providerAt = (server: Loopback, options: Partial<OllamaOptions> = {}) =>
  ollama({ model: "m", baseURL: server.baseURL.replace("/v1", "/"), ...options });

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("an answer", () => {
  test("that comes line by line equals the whole one, and is reported as it comes", async () => {
    await using server = await serve(answering(ndjson(...lines)));
    const { response, deltas } = await ask(providerAt(server), { bodyText: '{"model":"m"}' });
    expect(response).toEqual(whole);
    expect(textOf(deltas, "reasoning-delta")).toBe("Hm.");
    expect(textOf(deltas, "text-delta")).toBe("I look: é");
    expect(textOf(deltas, "tool-call-delta")).toBe(JSON.stringify({ of: "a\u2028b" }));
    expect(server.received[0]).toMatchObject({ method: "POST", url: "/api/chat", body: '{"model":"m"}' });
  });

  test("that comes byte by byte is the same", async () => {
    await using server = await serve((response) => {
      response.writeHead(200);
      for (const byte of Buffer.from(ndjson(...lines))) response.write(Buffer.from([byte]));
      response.end();
    });
    expect((await ask(providerAt(server))).response).toEqual(whole);
  });

  test("that comes whole is reported as well", async () => {
    await using server = await serve(answering(whole));
    const { response, deltas } = await ask(providerAt(server, { transport: "json" }));
    expect(response).toEqual(whole);
    expect(textOf(deltas, "text-delta")).toBe("I look: é");
  });
});

const partial = [{ role: "assistant", content: "I lo", thinking: "Hm." }];
const failures = [
  ["ends before it is done", ndjson(...lines.slice(0, 3)), { kind: "stream-cut", partial }],
  ["ends within a line", `${ndjson(...lines.slice(0, 3))}{"mess`, { kind: "stream-cut", partial }],
  [
    "tells an error in the middle",
    ndjson(...lines.slice(0, 3), { error: "llama runner process has terminated" }),
    { message: "llama runner process has terminated", kind: "unknown", partial },
  ],
  [
    "is no JSON",
    "<html>",
    {
      kind: "unknown",
      message: expect.stringMatching(/HTML page; http:\S+\/api\/chat was asked: is the base URL correct\?$/) as string,
    },
  ],
  ["is empty", "", { kind: "stream-cut", partial: [] }],
] as const;

describe("an error says what had come until then and that the server may have acted: an answer that", () => {
  test.each(failures)("%s", async (_, body, told) => {
    await using server = await serve(answering(body));
    expect(await failureOf(ask(providerAt(server)))).toMatchObject({ outcome: "unknown", ...told });
  });
});

const refusals = [
  [
    404,
    "model 'm' not found",
    { kind: "invalid-request" },
    /^model 'm' not found: run 'ollama pull m', or give a model/,
  ],
  [400, '"m" does not support tools', { kind: "invalid-request" }, /^"m" does not support tools$/],
  [
    ...[400, "the input length exceeds the context length", { kind: "context-length-exceeded" }],
    /^the input length exceeds the context length: raise options.num_ctx, or make the Turn shorter/,
  ],
  [429, "too many requests", { kind: "rate-limited" }, /^too many/],
  [401, "unauthorized", { kind: "authentication" }, /^unauthorized$/],
  [503, "server busy, please try again", { kind: "server-error", outcome: "rejected" }, /^server busy/],
  [500, "model requires more system memory", { kind: "server-error", outcome: "unknown" }, /^model requires/],
] as const;

describe("a refusal says why and what to do", () => {
  test.each(refusals)("%i %s", async (status, error, told, message) => {
    await using server = await serve(answering({ error }, status));
    const failure = await failureOf(ask(providerAt(server)));
    expect(failure).toMatchObject({ status, ...(typeof told === "object" ? told : {}) });
    expect(failure.message).toMatch(message);
  });

  test("of a server that is not there", async () => {
    const gone = await serve(() => undefined);
    await gone[Symbol.asyncDispose]();
    const failure = await failureOf(ask(providerAt(gone)));
    expect(failure).toMatchObject({ kind: "connection", outcome: "rejected" });
    expect(failure.message).toMatch(/is Ollama running there\? start it with 'ollama serve', or give its baseURL$/);
  });
});

test("an answer past a limit is refused, with what had come", async () => {
  await using server = await serve(answering(ndjson(...lines)));
  const failure = await failureOf(ask(providerAt(server, { limits: { itemBytes: 5 } })));
  expect(failure).toMatchObject({ kind: "item-too-large", partial });
});

test("a key is sent, and masked where the server repeats it; it is part of the scope as a fingerprint only", async () => {
  await using server = await serve(answering({ error: "the key sesame-open is not valid" }, 401));
  const provider = providerAt(server, { apiKey: "sesame-open" });
  const failure = await failureOf(ask(provider));
  expect(server.received[0]?.headers.authorization).toBe("Bearer sesame-open");
  expect(failure.message).toBe("the key [secret apiKey] is not valid");
  expect(provider.scope).toMatch(/^ollama http:\/\/127\.0\.0\.1:\d+ codec=ollama owner=[0-9a-f]{12}$/);
});

test("the address is where Ollama's own client looks for it", () => {
  const scopeAt = (host: string): string => {
    vi.stubEnv("OLLAMA_HOST", host);
    return ollama({ model: "m" }).scope;
  };
  expect(scopeAt("")).toMatch(/^ollama http:\/\/127\.0\.0\.1:11434 /);
  expect(scopeAt("gpu.local")).toMatch(/^ollama http:\/\/gpu\.local:11434 /);
  expect(scopeAt("gpu.local:80")).toMatch(/^ollama http:\/\/gpu\.local /);
  expect(scopeAt("https://ollama.com/")).toMatch(/^ollama https:\/\/ollama\.com /);
});

const mistakes = [
  [{ model: "" }, /^ollama: model is an empty text/],
  [{ model: "m", num_ctx: 1 }, /^ollama has no option 'num_ctx': did you mean options: \{ num_ctx \}\?/],
  [{ model: "m", kep_alive: 1 }, /^ollama has no option 'kep_alive': did you mean 'keep_alive'\?/],
  [{ model: "m", truncate: true }, /^truncate is not a setting: turnlog sets it for each request$/],
  [{ model: "m", extraBody: { shift: true } }, /^shift is not a setting/],
  [{ model: "m", extraBody: { think: true } }, /^extraBody.think is an option of turnlog/],
  [{ model: "m", options: { seed: Number.NaN } }, /^the setting options/],
  [{ model: "m", baseURL: "ftp://x" }, /^the base URL of ollama is .*, not a URL/],
  [{ model: "m", baseURL: "http://u:p@x" }, /^the base URL of ollama contains a user or password/],
] as const;

test.each(mistakes)("%j is refused where it is given", (options, message) => {
  const make = (): unknown => ollama(options);
  expect(make).toThrow(ProviderSettingsError);
  expect(make).toThrow(message);
});
