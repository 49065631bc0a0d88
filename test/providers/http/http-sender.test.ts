import { expect, test } from "vitest";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { googleGemini } from "../../../src/providers/google/google-gemini.ts";
import { googleInteractions } from "../../../src/providers/google/google-interactions.ts";
import { postJson } from "../../../src/providers/http/post-json.ts";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import { azureResponses } from "../../../src/providers/responses/azure-responses.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { ask, failureOf } from "../../support/providers/inferences.ts";
import { answering, serve } from "../../support/providers/loopback.ts";

type Given = {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Every wire, and where its requests go behind the base URL. */
const wires = {
  responses: [(given: Given) => openaiResponses({ model: "m", ...given }), "/responses"],
  azure: [({ baseURL, ...given }: Given) => azureResponses({ model: "m", endpoint: baseURL, ...given }), "/responses"],
  chat: [(given: Given) => chatCompletions({ model: "m", ...given }), "/chat/completions"],
  anthropic: [(given: Given) => anthropic({ model: "m", ...given }), "/v1/messages"],
  google: [(given: Given) => googleGemini({ model: "m", ...given }), "/models/m:streamGenerateContent?alt=sse"],
  interactions: [(given: Given) => googleInteractions({ model: "m", ...given }), "/interactions"],
  ollama: [(given: Given) => ollama({ model: "m", ...given }), "/api/chat"],
} as const;
const all = Object.entries(wires).map(([name, [create, path]]) => [name, create, path] as const);

const refusing = () => serve(answering({ error: { message: "no" } }, 400));
const bodyText = '{ "model":"m" ,"x":[1.0,"\\ud800 é"] }';
const asked = { bodyText, settings: { model: "m" } };

test.each(all)("%s: the very bytes go out, once, to the path behind the base URL", async (_, create, path) => {
  await using server = await refusing();
  const failure = await failureOf(ask(create({ baseURL: server.baseURL, apiKey: "sk-test-1" }), asked));
  expect(failure).toMatchObject({ kind: "invalid-request", outcome: "rejected", status: 400 });
  expect(server.received).toMatchObject([{ method: "POST", url: `/v1${path}`, body: bodyText }]);
});

test.each(all)("%s: headers of the caller take the place of those that would be sent", async (name, create) => {
  await using server = await refusing();
  const headers = { "X-Team": "blue", "User-Agent": "mine/1", "Content-Type": "text/plain", Accept: "image/png" };
  await failureOf(ask(create({ baseURL: server.baseURL, apiKey: "sk-test-1", headers }), asked));
  const sent: Readonly<Record<string, unknown>> = server.received[0]?.headers ?? {};
  expect(sent).toMatchObject({ "x-team": "blue", "user-agent": "mine/1", "content-type": "application/json" });
  const key = { azure: "api-key", google: "x-goog-api-key", interactions: "x-goog-api-key" }[name] ?? "authorization";
  expect(sent[key]).toMatch(/^(Bearer )?sk-test-1$/);
});

test.each(all.filter(([name]) => name !== "google" && name !== "interactions" && name !== "ollama"))(
  "%s: the query of the base URL goes with every request",
  async (_, create, path) => {
    await using server = await refusing();
    const baseURL = `${server.baseURL}/?api-version=1&a=x%20y&a=2#here`;
    await failureOf(ask(create({ baseURL, apiKey: "sk-test-1" }), asked));
    expect(server.received[0]?.url).toMatch(new RegExp(`^/v1${path}\\?api-version=1&a=x(%20|\\+)y&a=2$`));
  },
);

test("the query of a call follows that of the base URL, with all that it repeats", async () => {
  await using server = await refusing();
  const provider = openaiResponses({ model: "m", apiKey: "k", baseURL: `${server.baseURL}?api-version=1` });
  await failureOf(provider.retrieve("resp_1", { include: ["a.b", "c.d"] }));
  await failureOf(provider.inputItems("resp_1", { order: "asc", include: ["a.b"] }));
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "GET /v1/responses/resp_1?api-version=1&include[]=a.b&include[]=c.d",
    "GET /v1/responses/resp_1/input_items?api-version=1&order=asc&include[]=a.b",
  ]);
  expect(server.received[0]?.headers).not.toHaveProperty("content-type");
});

test.each(all)(
  "%s: a key with a line break is refused before anything is sent, and is not shown",
  async (_, create) => {
    await using server = await refusing();
    const failure = await failureOf(ask(create({ baseURL: server.baseURL, apiKey: "sk-test\n-1" })));
    expect(failure).toMatchObject({ kind: "invalid-request", outcome: "rejected" });
    expect(failure.message).toMatch(/^the header "[a-z-]+" cannot be sent: /);
    expect(`${failure.message} ${failure.stack ?? ""}`).not.toContain("sk-test");
    expect(server.received).toEqual([]);
  },
);

test("a fetch that throws at once, and headers of postJson in any case, are taken", async () => {
  const { signal } = new AbortController();
  const fetch = (): Promise<Response> => {
    throw new TypeError("no network here");
  };
  await expect(postJson("http://127.0.0.1:1", { bodyText, signal }, { fetch })).rejects.toMatchObject({
    name: "ProviderError",
    message: "the connection to the provider broke: no network here",
  });
  await using server = await serve(answering({ ok: true }));
  await postJson(server.baseURL, { bodyText, signal }, { headers: { "Content-Type": "x/y", ACCEPT: "a/b" } });
  expect(server.received[0]?.headers).toMatchObject({ "content-type": "application/json", accept: "a/b" });
});
