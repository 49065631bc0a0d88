import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, test, vi } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Provider, StreamDelta } from "../../../src/engine/ports/provider.ts";
import { azureResponses, openaiResponses } from "../../../src/entries/responses.ts";
import { createEngine, openStore, secret } from "../../../src/index.ts";
import { type AiSdkModel, aiSdk } from "../../../src/providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import { defineCodec } from "../../../src/providers/codec/define-codec.ts";
import { postJson, postStream } from "../../../src/providers/http/post-json.ts";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import { masked } from "../../../src/providers/secrets/masked-provider.ts";
import { failureOf } from "../../support/providers/inferences.ts";
import { answering, type Loopback, serve } from "../../support/providers/loopback.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const key = "sk-live-5581-abcd";
const prompt = "the very secret prompt";
const secrets = { KEY: key, PROMPT: prompt };
const wire = defineCodec({
  name: "tests-wire/1",
  encodeRequest: ({ settings, input }) => JSON.stringify({ said: input.map(({ block }) => block.text), ...settings }),
  readAnswer: (response) => ({ id: null, status: "done", isComplete: true, blocks: [], rest: response }),
  writeAnswer: ({ rest }) => rest,
});

/** As somebody writes one, with settings behind the conversation. */
const own = (infer: Provider["infer"], settings: JsonObject = {}): Provider => ({
  ...{ name: "own", scope: "own codec=tests-wire", codec: wire, capabilities: {}, transport: "json" },
  settings: { model: "m", ...settings },
  infer,
});

/** With state of its own, which only its methods may read. */
class Client implements Provider {
  readonly name = "own";
  readonly scope = "own codec=tests-wire";
  readonly codec = wire;
  readonly capabilities = {};
  readonly transport = "json";
  readonly settings = { model: "m", instructions: secret("PROMPT") };
  readonly #url: string;
  constructor(url: string) {
    this.#url = url;
  }
  get timeoutMs(): number {
    return this.#url.length * 1_000;
  }
  infer: Provider["infer"] = (request) => postJson(this.#url, request, { headers: { authorization: `Bearer ${key}` } });
  async delete(responseId: string): Promise<void> {
    throw new Error(`${this.#url} knows no ${responseId} of ${key}`);
  }
}

const streamed = (onDelta: (delta: StreamDelta) => void) => ({
  take: (_event: string | null, part: JsonObject) => {
    onDelta({ type: "text-delta", outputIndex: 0, text: JSON.stringify(part) });
    return { ...part };
  },
});
const authorization = { authorization: `Bearer ${key}` };

/** Every provider that turnlog has no dialect for, or whose key it is not given. */
const providers: readonly (readonly [string, (url: string) => Provider])[] = [
  ["aiSdk", (baseURL) => aiSdk({ model: createOpenAICompatible({ name: "mine", baseURL, apiKey: key })("m") })],
  ["aiSdk with headers of its own", (baseURL) => aiSdk({ model: createAnthropic({ baseURL, apiKey: key })("m") })],
  [
    "aiSdk with our fetch",
    (baseURL) =>
      aiSdk({
        model: ({ fetch }) => ({
          ...plainModel,
          doStream: () => fetch(baseURL, { headers: authorization }).then(refused),
        }),
      }),
  ],
  [
    "aiSdk with secrets",
    (baseURL) => aiSdk({ model: { ...plainModel, doStream: () => fetch(baseURL).then(refused) }, secrets }),
  ],
  ["ollama", (baseURL) => ollama({ model: "m", baseURL, apiKey: secret("KEY"), secrets })],
  ["ollama with a header", (baseURL) => ollama({ model: "m", baseURL, headers: { "x-key": secret("KEY") }, secrets })],
  ["ollama with a query", (baseURL) => ollama({ model: "m", baseURL: `${baseURL}?code=${key}` })],
  ["postJson", (url) => own((request) => postJson(url, request, { headers: authorization }))],
  ["postJson with a query", (url) => own((request) => postJson(`${url}?code=${key}`, request))],
  [
    "postJson with a secret header",
    (url) => own((request) => postJson(url, request, { headers: { "x-team": secret("KEY") }, secrets })),
  ],
  [
    "postStream",
    (url) => own((request) => postStream(url, request, { stream: streamed(request.onDelta), headers: authorization })),
  ],
  [
    "a provider of one's own",
    () =>
      masked(
        own(async () => {
          throw new Error(`fetch with ${key} failed`, { cause: { key } });
        }),
        { secrets },
      ),
  ],
  ["a class of one's own", (url) => masked(new Client(url), { secrets: () => secrets })],
];

const plainModel: AiSdkModel = {
  ...{ specificationVersion: "v3", provider: "plain", modelId: "m" },
  doGenerate: () => Promise.reject(new Error("unused")),
  doStream: () => Promise.reject(new Error("unused")),
};
const refused = async (answer: Response): Promise<never> => {
  throw new Error(await answer.text());
};

/** All that a store holds, and all that a caller could print. */
async function seenOf(provider: Provider, server: Loopback) {
  const { path, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`, { codecs: [wire] });
  const conversation = store.conversation();
  await conversation.append("Who are you?");
  const engine = createEngine({ provider, retry: { maxRetries: 0 } });
  const outcome: unknown = await conversation.run(engine).catch((error: unknown) => error);
  const stored: string[] = [];
  for await (const { type, data } of store.events.readLog()) stored.push(`${type} ${data}`);
  return { path, stored: stored.join("\n"), shown: shown(outcome), sent: server.received.map(({ body }) => body) };
}

function shown(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error);
  return [error.message, error.stack, JSON.stringify(error), shown(error.cause)].join("\n");
}

test.each(providers)("%s: a key that the server repeats reaches neither the log nor its caller", async (_, create) => {
  await using server = await serve(answering({ error: { message: `no such key: ${key}` } }, 401));
  const { stored, shown } = await seenOf(create(server.baseURL), server);
  expect(stored).toContain("InferenceFailed");
  expect(stored).toMatch(/\[secret [\w.-]+\]/);
  expect(`${stored}\n${shown}`).not.toContain(key);
});

test("claudeCli is given the values of its secrets, and what it repeats of them is masked", async () => {
  const script = `process.stderr.write("no key " + process.env.MINE + " for " + process.argv.join(" ")); process.exit(1)`;
  const provider = claudeCli({
    command: [process.execPath, "-e", script, "--"],
    env: { MINE: secret("KEY") },
    instructions: secret("PROMPT"),
    secrets,
  });
  await using server = await serve(answering({}));
  const { stored, shown } = await seenOf(provider, server);
  expect(stored).toContain('{"$secret":"PROMPT"}');
  expect(stored).toContain("no key [secret KEY] for");
  for (const value of Object.values(secrets)) expect(`${stored}\n${shown}`).not.toContain(value);
});

describe("secret() in settings is sent as its value and recorded as its name:", () => {
  const message = { role: "assistant", content: "Hello." };
  const sending: readonly (readonly [string, JsonObject, (baseURL: string) => Provider])[] = [
    [
      "ollama",
      { message, done: true },
      (baseURL) => ollama({ model: "m", baseURL, instructions: secret("PROMPT"), secrets }),
    ],
    [
      "aiSdk",
      { id: "1", choices: [{ index: 0, message, finish_reason: "stop" }] },
      (baseURL) =>
        aiSdk({
          ...{ model: createOpenAICompatible({ name: "mine", baseURL })("m"), transport: "json" },
          ...{ instructions: secret("PROMPT"), secrets },
        }),
    ],
    [
      "postJson",
      { said: "Hello." },
      (url) => own((request) => postJson(url, request, { secrets }), { instructions: secret("PROMPT") }),
    ],
    [
      "masked",
      { said: "Hello." },
      (url) =>
        masked(
          own((request) => postJson(url, request), { deep: [{ instructions: secret("PROMPT") }] }),
          { secrets },
        ),
    ],
    ["masked, of a class", { said: "Hello." }, (url) => masked(new Client(url), { secrets })],
  ];
  test.each(sending)("%s", async (_, answer, create) => {
    await using server = await serve(answering({ ...answer, echo: `You said: ${prompt}` }));
    const { stored, sent } = await seenOf(create(server.baseURL), server);
    expect(stored).toContain("ResponseReceived");
    expect(sent.join("\n")).toContain(JSON.stringify(prompt));
    expect(sent.join("\n")).not.toContain("$secret");
    expect(stored).toContain('{"$secret":"PROMPT"}');
    expect(stored).not.toContain(prompt);
  });

  test("over WebSocket", async () => {
    await using server = await startReferenceServer();
    const tools = [
      { type: "mcp" as const, server_label: "crm", server_url: "https://crm.example", authorization: secret("KEY") },
    ];
    const provider = openaiResponses({
      model: "m",
      apiKey: "none",
      baseURL: server.baseUrl,
      transport: "websocket",
      tools,
      secrets,
    });
    await using engine = createEngine({ provider });
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    for (const text of ["Who are you?", "And you?"]) {
      await conversation.append(text);
      expect((await conversation.run(engine)).status).toBe("completed");
    }
    expect(server.requests).toHaveLength(2);
    for (const { bodyText } of server.requests) expect(bodyText).toContain(`"authorization":"${key}"`);
    const stored: string[] = [];
    for await (const { type, data } of store.events.readLog()) stored.push(`${type} ${data}`);
    expect(stored.join("\n")).not.toContain(key);
  });
});

test("a body in which a secret is a part of a text is refused, and so is one that was changed", async () => {
  const settings = { model: "m", instructions: secret("PROMPT") };
  const never: Provider["infer"] = () => Promise.reject(new Error("it was sent"));
  const provider = masked(own(never, settings), { secrets });
  const request = { settings, transport: "json", signal: new AbortController().signal, onDelta: () => undefined };
  const bodyWith = (given: JsonObject): string => JSON.stringify({ text: JSON.stringify(given["instructions"]) });
  const within = provider.infer({ ...request, bodyText: bodyWith(settings), bodyWith });
  expect(await failureOf(within)).toMatchObject({ kind: "invalid-request", outcome: "rejected" });
  const changed = provider.infer({ ...request, bodyText: "{}", bodyWith: (given) => JSON.stringify(given) });
  expect((await failureOf(changed)).message).toBe(
    "the body was changed after encoding, so the places of its secrets are unknown; nothing was sent",
  );
});

test("a masked provider has all members of the one within, and what they give is masked", async () => {
  const provider = masked(new Client("http://127.0.0.1:9"), { secrets });
  expect([provider.name, provider.timeoutMs, provider.codec]).toEqual(["own", 18_000, wire]);
  await expect(provider.delete("resp_1")).rejects.toThrow("http://127.0.0.1:9 knows no resp_1 of [secret KEY]");
  expect(() => masked(new Client("http://x"), { secrets: {} })).toThrow("the secret PROMPT has no value");
  expect(() => masked(new Client("http://x"), { secrets: { ...secrets, X: "short" } })).toThrow("give at least 8");
  // @ts-expect-error: a misspelt option.
  expect(() => masked(new Client("http://x"), { secret: {} })).toThrow("did you mean 'secrets'?");
});

test("a key that a server splits over two messages is masked in the result's text and in the log", async () => {
  const said = (text: string, id: string) => ({
    ...{ type: "message", id, role: "assistant", status: "completed" },
    content: [{ type: "output_text", text }],
  });
  const thought = { type: "reasoning", id: "rs_1", summary: [] };
  const output = [said(`It is ${key.slice(0, 7)}`, "msg_1"), thought, said(`${key.slice(7)}.`, "msg_2")];
  await using server = await serve(answering({ id: "resp_1", status: "completed", output }));
  const provider = openaiResponses({ model: "m", apiKey: key, baseURL: server.baseURL, transport: "json" });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("What is your key?");
  const { text, steps } = await conversation.run(createEngine({ provider }));
  expect(text).toBe("It is [secret apiKey].");
  expect(steps).toHaveLength(1);
  expect((await conversation.turn()).blocks.map((block) => block.text)).toEqual([
    "What is your key?",
    "It is [secret apiKey]",
    "",
    ".",
  ]);
});

test.each(["code", "subscription", "x"])("the value of %s in a base URL's query is masked", async (name) => {
  await using server = await serve(answering({ error: { message: `${key} may not` } }, 403));
  const provider = openaiResponses({ model: "m", apiKey: "none", baseURL: `${server.baseURL}?${name}=${key}` });
  expect((await seenOf(provider, server)).stored).toContain("[secret baseURL] may not");
  expect(provider.scope).not.toContain(key);
});

test("a variable of the environment that names a key is masked in what a model of the AI SDK says", async () => {
  vi.stubEnv("OTHER_API_KEY", key);
  await using server = await serve(answering(`no ${key}`, 401));
  const model = { ...plainModel, doStream: () => fetch(server.baseURL).then(refused) };
  expect((await seenOf(aiSdk({ model }), server)).stored).toContain("no [secret OTHER_API_KEY]");
  vi.unstubAllEnvs();
});

test("variables that name an organization of OpenAI's go neither to Azure nor into its scope", async () => {
  vi.stubEnv("OPENAI_ORG_ID", "org-of-another");
  vi.stubEnv("OPENAI_PROJECT_ID", "proj-of-another");
  await using server = await serve(answering({ id: "resp_1", status: "completed", output: [] }));
  const provider = azureResponses({ model: "m", endpoint: server.baseURL, apiKey: "azure-key", transport: "json" });
  const { stored } = await seenOf(provider, server);
  expect(server.received).toHaveLength(1);
  const [{ headers } = { headers: {} }] = server.received;
  expect(headers).not.toHaveProperty("openai-organization");
  expect(headers).not.toHaveProperty("openai-project");
  expect(provider.scope).toContain("organization= project= ");
  expect(stored).not.toContain("of-another");
  const openai = openaiResponses({ model: "m", apiKey: "k" });
  expect(openai.scope).toContain("organization=org-of-another project=proj-of-another");
  vi.unstubAllEnvs();
});

test("headers that a variable names for another client are not sent", async () => {
  vi.stubEnv("ANTHROPIC_CUSTOM_HEADERS", `x-elsewhere: ${key}`);
  vi.stubEnv("OPENAI_CUSTOM_HEADERS", `x-elsewhere: ${key}`);
  await using server = await serve(answering({ error: { message: "no" } }, 401));
  await seenOf(anthropic({ model: "m", apiKey: "sk-ant-1", baseURL: server.baseURL }), server);
  await seenOf(openaiResponses({ model: "m", apiKey: "sk-openai-1", baseURL: server.baseURL }), server);
  expect(server.received).toHaveLength(2);
  expect(JSON.stringify(server.received)).not.toContain(key);
  vi.unstubAllEnvs();
});

test.each([
  ["anthropic", (baseURL: string) => anthropic({ model: "m", apiKey: "k", baseURL }), "/v1/v1/messages?code=4711"],
  ["ollama", (baseURL: string) => ollama({ model: "m", baseURL }), "/v1/api/chat?code=4711"],
])("%s: the query of a base URL goes with every request, behind its path", async (_, create, url) => {
  await using server = await serve(answering({ error: "no" }, 400));
  const provider = create(`${server.baseURL}?code=4711`);
  await seenOf(provider, server);
  expect(server.received.map((each) => each.url)).toEqual([url]);
  expect(provider.scope).not.toContain("4711");
});
