import { afterEach, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Provider, StreamDelta } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { googleCodeAssist, googleGemini, googleVertex } from "../../../src/entries/google.ts";
import { openStore, secret } from "../../../src/index.ts";
import { answering, type Loopback, serve } from "../../support/providers/loopback.ts";

const servers: Loopback[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});
const served = async (...given: Parameters<typeof serve>): Promise<Loopback> => {
  const server = await serve(...given);
  servers.push(server);
  return server;
};

const said = (text: string, more: JsonObject = { finishReason: "STOP" }): JsonObject => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1, totalTokenCount: 3 },
  responseId: "r1",
});
const sse = { "content-type": "text/event-stream" };
const eventsOf = (...chunks: readonly JsonObject[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");

const lastOf = ({ received }: Loopback) => {
  const last = received.at(-1);
  if (last === undefined) throw new Error("nothing was received");
  return last;
};

const apiKey = "AIza-secret-of-the-test";
const ask = (provider: Provider, more: Partial<Parameters<Provider["infer"]>[0]> = {}) => {
  const deltas: StreamDelta[] = [];
  const { settings, transport } = provider;
  const { signal } = new AbortController();
  const bodyText = '{"contents":[{"role":"user","parts":[{"text":"Hi."}]}]}';
  const request = {
    bodyText,
    settings,
    transport,
    signal,
    onDelta: (delta: StreamDelta) => void deltas.push(delta),
    ...more,
  };
  return { answer: provider.infer(request), deltas, bodyText };
};
const failureOf = async (answer: Promise<unknown>): Promise<ProviderError> => {
  const error: unknown = await answer.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ProviderError) return error;
  throw new Error("the request did not fail as a provider does", { cause: error });
};

describe("googleGemini", () => {
  test("sends the body unchanged to the model's address, with its key, and streams by default", async () => {
    const server = await served(answering(eventsOf(said("Hel", {}), said("lo.")), 200, sse));
    const provider = googleGemini({ model: "gemini-3-flash", apiKey, baseURL: server.baseURL });
    const { answer, deltas, bodyText } = ask(provider);
    expect((await answer).response).toEqual(said("Hello."));
    const { url, headers, body } = lastOf(server);
    expect([url, headers["x-goog-api-key"], body]).toEqual([
      "/v1/models/gemini-3-flash:streamGenerateContent?alt=sse",
      apiKey,
      bodyText,
    ]);
    expect(deltas.flatMap((delta) => (delta.type === "text-delta" ? [delta.text] : []))).toEqual(["Hel", "lo."]);
  });

  test("asks for the whole at once with transport json", async () => {
    const server = await served(answering(said("Hello.")));
    const provider = googleGemini({
      model: "models/gemini-3-flash",
      apiKey,
      baseURL: server.baseURL,
      transport: "json",
    });
    const { answer, deltas } = ask(provider);
    expect((await answer).response).toEqual(said("Hello."));
    expect(server.received[0]?.url).toBe("/v1/models/gemini-3-flash:generateContent");
    expect(deltas).toEqual([{ type: "text-delta", outputIndex: 0, text: "Hello." }]);
  });

  test("takes a stream that does not say how the answer ended for one that was cut, with what had come", async () => {
    const server = await served(answering(eventsOf(said("Hel", {})), 200, sse));
    const error = await failureOf(ask(googleGemini({ model: "m", apiKey, baseURL: server.baseURL })).answer);
    expect([error.kind, error.outcome, error.partial]).toEqual(["stream-cut", "unknown", [{ text: "Hel" }]]);
  });

  test("tells a blocked prompt, an error in a stream, and what is no answer", async () => {
    const asked = async (body: unknown, headers?: Record<string, string>) => {
      const server = await served(answering(body, 200, headers));
      return failureOf(ask(googleGemini({ model: "m", apiKey, baseURL: server.baseURL })).answer);
    };
    const blocked = await asked({ promptFeedback: { blockReason: "SAFETY" } });
    expect([blocked.kind, blocked.outcome, blocked.providerCode]).toEqual(["content-filtered", "rejected", "SAFETY"]);
    const overloaded = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };
    const broken = await asked(eventsOf(said("Hel", {}), overloaded), sse);
    expect([broken.kind, broken.outcome, broken.partial]).toEqual(["server-error", "unknown", [{ text: "Hel" }]]);
    expect((await asked({ hello: 1 })).message).toMatch(/not a response/);
    const malformed = await asked(said("", { finishReason: "MALFORMED_FUNCTION_CALL" }));
    expect(malformed.message).toMatch(/MALFORMED_FUNCTION_CALL/);
  });

  test("masks its key wherever the server repeats it", async () => {
    const server = await served(answering(said(`You are ${apiKey}.`)));
    const provider = googleGemini({ model: "m", apiKey, baseURL: server.baseURL, transport: "json" });
    const { response, isMasked } = await ask(provider).answer;
    expect([JSON.stringify(response).includes(apiKey), isMasked]).toEqual([false, true]);
  });

  test("fills secrets of its settings in when a run sends them", async () => {
    const server = await served(answering(said("Hello.")));
    const secrets = { PROMPT: "the very secret prompt" };
    const provider = googleGemini({
      ...{ model: "m", apiKey, baseURL: server.baseURL, transport: "json", secrets },
      instructions: secret("PROMPT"),
    });
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    await conversation.append("Hi.");
    expect((await conversation.run(createEngine({ provider }))).text).toBe("Hello.");
    expect(server.received[0]?.body).toBe(
      '{"systemInstruction":{"parts":[{"text":"the very secret prompt"}]},"contents":[{"role":"user","parts":[{"text":"Hi."}]}]}',
    );
  });

  test("refuses options that it does not have, and says what to do", () => {
    const make = (options: object) => () => googleGemini({ model: "m", apiKey, ...options });
    expect(make({ cachedContent: "x" })).toThrow(/cachedContent is not supported/);
    expect(make({ extraBody: { contents: [] } })).toThrow(/contents is not a setting/);
    expect(make({ modle: "x" })).toThrow(/did you mean 'model'/);
    expect(make({ baseURL: "ftp://x" })).toThrow(/https:\/\//);
    expect(make({ apiKey: "" })).toThrow(/GEMINI_API_KEY/);
    expect(make({ apiKey: () => "k" })).toThrow(/credentialsOwner/);
  });
});

describe("errors", () => {
  const rows: readonly (readonly [number, string, string, string, string])[] = [
    [
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
      "context-length-exceeded",
      "rejected",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Please ensure that function response turn comes immediately after a function call turn.",
      "orphan-tool-output",
      "rejected",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      "missing-tool-output",
      "rejected",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Function call is missing a thought_signature in functionCall parts.",
      "reasoning-pairing",
      "rejected",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Unable to submit request because function call `f` in the 2. content block is missing a `thought_signature`.",
      "reasoning-pairing",
      "rejected",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Unable to submit request because Thought signature is not valid.",
      "reasoning-pairing",
      "rejected",
    ],
    [400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "authentication", "rejected"],
    [401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", "authentication", "rejected"],
    [402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", "rate-limited", "rejected"],
    [403, "PERMISSION_DENIED", "Permission denied.", "authentication", "rejected"],
    [404, "NOT_FOUND", "models/x is not found for API version v1beta.", "invalid-request", "rejected"],
    [429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in 34.5s.", "rate-limited", "rejected"],
    [500, "INTERNAL", "An internal error has occurred.", "server-error", "unknown"],
    [503, "UNAVAILABLE", "The model is overloaded.", "server-error", "rejected"],
    [504, "DEADLINE_EXCEEDED", "Deadline expired.", "server-error", "unknown"],
  ];
  test.each(rows)("HTTP %i %s '%s' is %s, %s", async (code, status, message, kind, outcome) => {
    const error = { code, message, status };
    for (const body of [{ error }, [{ error }]]) {
      const server = await served(answering(body, code));
      const thrown = await failureOf(ask(googleGemini({ model: "m", apiKey, baseURL: server.baseURL })).answer);
      expect([thrown.kind, thrown.outcome, thrown.status, thrown.message]).toEqual([kind, outcome, code, message]);
      if (code === 429) expect(thrown.retryAfterMs).toBe(34_500);
    }
  });
});

describe("googleCodeAssist", () => {
  const wrappedIn = (text: string) => ({ response: said(text), traceId: "t" });

  test("puts the recorded body into another, byte for byte, and takes the answer out", async () => {
    const server = await served(answering(wrappedIn("Hello.")));
    const provider = googleCodeAssist({
      ...{ model: "gemini-3-pro", project: "p", baseURL: server.baseURL, transport: "json" },
      ...{ credentials: () => "token-of-the-test", credentialsOwner: "me@here" },
    });
    const { answer, bodyText } = ask(provider);
    expect((await answer).response).toEqual({ ...said("Hello."), traceId: "t" });
    const { url, headers, body } = lastOf(server);
    expect([url, headers["authorization"]]).toEqual(["/v1:generateContent", "Bearer token-of-the-test"]);
    expect(body).toBe(`{"model":"gemini-3-pro","project":"p","request":${bodyText}}`);
  });

  test("asks for another token where the server refuses one in mid-conversation, once", async () => {
    const refused = {
      error: { code: 401, message: "Request had invalid authentication credentials.", status: "UNAUTHENTICATED" },
    };
    const server = await served((response, received) => {
      const isGood = received.headers.authorization === "Bearer token-number-2";
      answering(
        isGood ? eventsOf(wrappedIn("Hello.")) : refused,
        isGood ? 200 : 401,
        isGood ? sse : undefined,
      )(response, received);
    });
    const asked: boolean[] = [];
    const provider = (second: string) =>
      googleCodeAssist({
        ...{ model: "m", baseURL: server.baseURL, credentialsOwner: "me@here" },
        credentials: ({ isRefused }) => {
          asked.push(isRefused);
          return isRefused ? second : "token-number-1";
        },
      });
    expect((await ask(provider("token-number-2")).answer).response).toMatchObject(said("Hello."));
    expect(asked).toEqual([false, true]);
    expect((await failureOf(ask(provider("token-number-3")).answer)).kind).toBe("authentication");
    expect((await failureOf(ask(provider("token-number-1")).answer)).status).toBe(401);
    expect(server.received.length).toBe(2 + 2 + 1);
  });

  test("takes functions that wrap and unwrap otherwise, and refuses one that changes the body", async () => {
    const server = await served(answering({ inner: said("Hello.") }));
    const provider = (wrap: (body: JsonObject, asked: { readonly model: string }) => JsonObject) =>
      googleCodeAssist({
        ...{
          model: "m",
          baseURL: server.baseURL,
          transport: "json",
          credentials: () => "token-of-the-test",
          credentialsOwner: "me",
        },
        ...{ wrap, path: ({ method }) => `/all/${method}` },
        unwrap: ({ inner }) => (isJsonObject(inner) ? inner : {}),
      });
    const { answer, bodyText } = ask(provider((body, { model }) => ({ deep: [{ body, model }] })));
    expect((await answer).response).toEqual(said("Hello."));
    expect([server.received[0]?.url, server.received[0]?.body]).toEqual([
      "/v1/all/generateContent",
      `{"deep":[{"body":${bodyText},"model":"m"}]}`,
    ]);
    const error = await failureOf(ask(provider((body) => ({ request: { ...body } }))).answer);
    expect([error.kind, error.outcome]).toEqual(["invalid-request", "rejected"]);
    expect(server.received.length).toBe(1);
  });
});

test("googleVertex asks at the address of its project and location, as the token says", async () => {
  const server = await served(answering(said("Hello.")));
  const provider = googleVertex({
    ...{ model: "gemini-3-pro", project: "p", location: "europe-west4", baseURL: server.baseURL, transport: "json" },
    credentials: () => "token-of-the-test",
  });
  expect((await ask(provider).answer).response).toEqual(said("Hello."));
  expect(server.received[0]?.url).toBe(
    "/v1/projects/p/locations/europe-west4/publishers/google/models/gemini-3-pro:generateContent",
  );
  expect(server.received[0]?.headers["authorization"]).toBe("Bearer token-of-the-test");
});
