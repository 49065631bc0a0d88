import { expect, test, vi } from "vitest";
import * as z from "zod";
import {
  functionCall,
  message,
  type ReferenceServerOptions,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { createEngine, openStore, secret, tool } from "../../../src/index.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { chatDialectNames } from "../../../src/providers/chat/chat-dialects.ts";
import type { ChatCompletionsOptions } from "../../../src/providers/chat/chat-options.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({ n: z.exactOptional(z.number()) }),
  execute: () => "found",
});
const answer: NonNullable<ReferenceServerOptions["answer"]> = ({ reading }) => ({
  output: reading.items.some(({ type }) => type === "function_call_output")
    ? [reasoning({ summary: "So." }), message("It is found.")]
    : [reasoning({ summary: "Where?" }), message("I look."), functionCall("look-up", '{ "n" : 1.0 }')],
});

/** A conversation with a reference server of a dialect, and what the provider asks it. */
async function opened(given: Partial<ChatCompletionsOptions> = {}, options: ReferenceServerOptions = {}) {
  const { dialect = "openai" } = given;
  const server = await startReferenceServer({ chat: dialect, answer, ...options });
  const provider = chatCompletions({ model: "m", apiKey: "sk-test-0001", baseURL: server.baseUrl, ...given });
  const store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Where is it?");
  return {
    ...{ server, store, conversation, engine: createEngine({ provider, tools: [lookUp] }) },
    async [Symbol.asyncDispose]() {
      await store.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test.each(
  chatDialectNames.flatMap((dialect) => (["sse", "json"] as const).map((transport) => [dialect, transport] as const)),
)("%s, %s: an agent calls a tool, learns what was cached, and every request is rebuilt", async (dialect, transport) => {
  await using world = await opened({ dialect, transport, instructions: "Be brief." });
  const { conversation, engine, store, server } = world;
  const { text, steps, usage } = await conversation.run(engine);
  expect([text, steps.length]).toEqual(["It is found.", 2]);
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200]);
  expect(usage.cachedInputTokens).toBeGreaterThan(0);
  await conversation.append("And now?");
  await conversation.run(engine);
  expect(await store.verify()).toMatchObject({ isSound: true, requests: 3 });
  const events = await eventsOf(conversation);
  const bodies = server.requests.map(({ bodyText }) => bodyText);
  expect(bodies.every((body) => body.startsWith('{"model":"m",'))).toBe(true);
  expect(dataOf(events, "InferenceRequested").map(({ decision }) => decision.strategy)).toEqual([
    "full",
    "full",
    "full",
  ]);
});

test("a stream that is cut anywhere fails the run with what had come, and the next run goes on", async () => {
  const { server: whole, ...first } = await opened({ dialect: "vllm" });
  await first.conversation.run(first.engine);
  await first[Symbol.asyncDispose]();
  expect(whole.requests).toHaveLength(2);
  let cuts = 0;
  for (let afterBytes = 0; afterBytes < 4_000; afterBytes += 97) {
    await using world = await opened({ dialect: "vllm" }, { seed: "cut" });
    const { conversation, engine, server } = world;
    server.inject({ kind: "cut", afterBytes });
    const failed = await conversation.run(engine).then(
      () => null,
      (error: unknown) => error,
    );
    const [{ partial, kind } = {}] = dataOf(await eventsOf(conversation), "InferenceFailed");
    if (failed === null && kind === undefined) continue;
    cuts += 1;
    expect({ afterBytes, kind }).toEqual({ afterBytes, kind: "stream-cut" });
    if (afterBytes > 1_500) expect(partial).toMatchObject([{ role: "assistant", reasoning: "Where?" }]);
    const { text } = failed === null ? { text: "It is found." } : await conversation.run(engine, { again: true });
    expect(text).toBe("It is found.");
  }
  expect(cuts).toBeGreaterThan(10);
});

test.each([
  ["openai", { maxContextTokens: 5 }, "context-length-exceeded"],
  ["llama.cpp", { maxContextTokens: 5 }, "context-length-exceeded"],
  ["vllm", { maxContextTokens: 5 }, "context-length-exceeded"],
  ["deepseek", { maxContextTokens: 5 }, "context-length-exceeded"],
  ["groq", { maxContextTokens: 5 }, "context-length-exceeded"],
  ["mistral", { maxContextTokens: 5 }, "context-length-exceeded"],
  ["openai", { models: ["other"] }, "invalid-request"],
  ["vllm", { models: ["other"] }, "invalid-request"],
  ["ollama", { models: ["other"] }, "invalid-request"],
  ["mistral", { models: ["other"] }, "invalid-request"],
] as const)("%s, %j: the refusal is reported as %s, and nothing is lost", async (dialect, options, kind) => {
  await using world = await opened({ dialect }, options);
  const { conversation, engine } = world;
  await expect(conversation.run(engine)).rejects.toMatchObject({ cause: { kind, outcome: "rejected" } });
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["Where is it?"]);
});

test("a key that the server repeats is masked, and a secret of the settings is sent and not recorded", async () => {
  await using world = await opened({ user: secret("USER"), secrets: { USER: "ada-lovelace-1815" } });
  const { conversation, engine, server } = world;
  const body = { error: { message: "Incorrect API key provided: sk-test-0001.", code: "invalid_api_key" } };
  await conversation.run(engine);
  server.inject({ kind: "answer", status: 401, body });
  await conversation.append("And now?");
  await expect(conversation.run(engine)).rejects.toThrow("Incorrect API key provided: [secret apiKey].");
  expect(server.requests[0]?.bodyText).toContain('"user":"ada-lovelace-1815"');
  const written = JSON.stringify(await eventsOf(conversation));
  expect(written).not.toContain("ada-lovelace");
  expect(written).not.toContain("sk-test-0001");
});

test.each([
  [{ temprature: 1 }, "chatCompletions has no option 'temprature': did you mean 'temperature'?"],
  [{ max_output_tokens: 9 }, "did you mean 'max_completion_tokens'?"],
  [{ dialect: "deepsek" }, "dialect is 'deepsek': did you mean 'deepseek'?"],
  [{ transport: "websocket" }, "transport is 'websocket': give 'json' or 'sse'"],
  [{ messages: [] }, "messages is not a setting: turnlog sets it for each request"],
  [{ n: 2 }, "the setting n is not supported: turnlog reads one answer of a response"],
  [{ baseURL: "localhost" }, "the base URL is not a URL: localhost"],
  [{ instructions: secret("A"), secrets: { A: "12345678" } }, "instructions contain a secret"],
])("refuses %j at once", (given, text) => {
  // As JavaScript and configuration files give them.
  const options = { model: "m", apiKey: "none", ...given } as ChatCompletionsOptions;
  expect(() => chatCompletions(options)).toThrow(text);
});

test("an error about a missing key names the dialect's variable; self-hosted servers need no key", async () => {
  for (const [dialect, variable] of [
    ["openai", "OPENAI_API_KEY"],
    ["deepseek", "DEEPSEEK_API_KEY"],
    ["mistral", "MISTRAL_API_KEY"],
    ["groq", "GROQ_API_KEY"],
  ] as const) {
    vi.stubEnv(variable, "");
    expect(() => chatCompletions({ model: "m", dialect })).toThrow(`set ${variable}, or give apiKey`);
  }
  vi.unstubAllEnvs();
  await using server = await startReferenceServer({ chat: "llama.cpp" });
  const provider = chatCompletions({ model: "m", dialect: "llama.cpp", baseURL: server.baseUrl });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Hello.");
  await conversation.run(createEngine({ provider }));
  expect(server.requests[0]?.headers["authorization"]).toBeUndefined();
});
