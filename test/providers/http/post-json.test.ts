import { expect, test } from "vitest";
import { defineCodec, postJson } from "../../../src/entries/provider.ts";
import { answering, serve } from "../../support/providers/loopback.ts";

const { signal } = new AbortController();
const bodyText = '{"n":1.10,"text":"é"}';

test("sends the body byte for byte, and gives the object that came back and what the server calls the request", async () => {
  await using server = await serve(answering({ said: 1 }, 200, { "x-request-id": "req_1" }));
  const answer = await postJson(server.baseURL, { bodyText, signal }, { headers: { authorization: "Bearer k" } });
  expect(answer).toEqual({ response: { said: 1 }, requestId: "req_1" });
  const [received] = server.received;
  expect(received).toMatchObject({ method: "POST", body: bodyText });
  expect(received?.headers).toMatchObject({ authorization: "Bearer k", "content-type": "application/json" });
});

const refusals = [
  [
    "a busy server",
    429,
    {},
    { "retry-after": "2" },
    { kind: "rate-limited", outcome: "rejected", retryAfterMs: 2_000 },
  ],
  ["a server that failed", 500, { error: { message: "ouch" } }, {}, { kind: "server-error", outcome: "unknown" }],
  ["credentials that are refused", 401, "no", {}, { kind: "authentication", outcome: "rejected", message: "no" }],
  ["a redirect", 307, "", { location: "http://127.0.0.1:9/" }, { status: 307 }],
  ["what is no object", 200, "[1]", {}, { kind: "server-error", outcome: "unknown", body: "[1]" }],
  ["nothing", 200, "", {}, { kind: "server-error", message: "the provider answered with an empty body" }],
] as const;

test.each(refusals)("tells %s as the engine reacts to it", async (_, status, body, headers, expected) => {
  await using server = await serve(answering(body, status, headers));
  await expect(postJson(server.baseURL, { bodyText, signal })).rejects.toMatchObject({
    name: "ProviderError",
    ...expected,
  });
});

test("tells an answer that breaks off, a server that is not there, and an abort before and after sending", async () => {
  await using cut = await serve((response) => {
    response.writeHead(200, { "content-length": "100" }).write('{"a":', () => response.destroy());
  });
  const asked = { bodyText, signal };
  await expect(postJson(cut.baseURL, asked)).rejects.toMatchObject({ kind: "stream-cut", outcome: "unknown" });
  const gone = await serve(() => undefined);
  await gone[Symbol.asyncDispose]();
  await expect(postJson(gone.baseURL, asked)).rejects.toMatchObject({ kind: "connection", outcome: "rejected" });
  const aborted = { bodyText, signal: AbortSignal.abort() };
  await expect(postJson(cut.baseURL, aborted)).rejects.toMatchObject({ kind: "aborted", outcome: "rejected" });
  const end = new AbortController();
  await using slow = await serve(() => {
    end.abort();
  });
  const waiting = postJson(slow.baseURL, { bodyText, signal: end.signal });
  await expect(waiting).rejects.toMatchObject({ kind: "aborted", outcome: "unknown" });
});

test("a codec that is no codec is refused where it is defined", () => {
  const given = { name: "mine/1", encodeRequest: () => "", readAnswer: null, writeAnswer: () => ({}) };
  // @ts-expect-error: JavaScript gives what types refuse.
  expect(() => defineCodec(given)).toThrow(/^defineCodec: readAnswer/);
  // @ts-expect-error: the same.
  expect(() => defineCodec({ ...given, name: "" })).toThrow(/^defineCodec: name/);
  // @ts-expect-error: the same.
  expect(() => defineCodec({ ...given, encodeReqest: () => "" })).toThrow(
    "defineCodec has no option 'encodeReqest': did you mean 'encodeRequest'?",
  );
  const whole = { ...given, readAnswer: () => ({ id: null, status: null, isComplete: true, blocks: [], rest: {} }) };
  expect(() => defineCodec({ ...whole, name: "mine" })).toThrow(/^defineCodec: name is 'mine': end it with a version/);
});

test("a codec that does not say how runs ask otherwise takes a model and instructions, and names what it lacks", () => {
  const readAnswer = () => ({ id: null, status: null, isComplete: true, blocks: [], rest: {} });
  const codec = defineCodec({ name: "mine/1", encodeRequest: () => "", readAnswer, writeAnswer: () => ({}) });
  const settings = { model: "m-1", tools: [] };
  expect(codec.adjust?.(settings, { model: "m-2", instructions: "Be brief." })).toEqual({
    ...{ model: "m-2", tools: [], instructions: "Be brief." },
  });
  expect(() => codec.adjust?.(settings, { temperature: 1, topP: 1 })).toThrow(
    "the codec mine/1 cannot adjust temperature, topP for one request: give defineCodec an adjust(settings, adjustments)",
  );
});

test("an answer that pauses for too long is reported as a timeout, not as nonsense", async () => {
  await using server = await serve((response) => void response.write('{"id":"1","text":"and so'));
  const asked = postJson(
    server.baseURL,
    { bodyText: "{}", signal: new AbortController().signal },
    { limits: { idleMs: 30 } },
  );
  await expect(asked).rejects.toMatchObject({ kind: "answer-stalled", outcome: "unknown" });
});
