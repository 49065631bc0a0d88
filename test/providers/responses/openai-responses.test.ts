import { expect, test } from "vitest";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { ask, failureOf } from "../../support/providers/inferences.ts";
import { answering, eventStream, eventsOf, type Loopback, serve } from "../../support/providers/loopback.ts";

const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "hi" }],
};
const response = { id: "resp_1", object: "response", status: "completed", zeta: { b: 1, a: 2 }, output: [message] };
const provider = ({ baseURL }: Loopback, options: Readonly<Record<string, unknown>> = {}) =>
  openaiResponses({ model: "m", apiKey: "sk-test", baseURL, ...options });

test("sends the very bytes it is given, with its credentials", async () => {
  await using server = await serve(answering(response));
  const bodyText = '{ "model":"m" ,"input":[{"text":"\\ud800 é 😀"}],"__proto__":{"a":1.0} }';
  await ask(provider(server, { organization: "org-1", project: "proj-1", headers: { "x-team": "blue" } }), {
    bodyText,
    transport: "json",
  });
  const [received] = server.received;
  expect(received?.body).toBe(bodyText);
  expect(received).toMatchObject({ method: "POST", url: "/v1/responses" });
  expect(received?.headers).toMatchObject({
    authorization: "Bearer sk-test",
    "content-type": "application/json",
    accept: "application/json",
    "openai-organization": "org-1",
    "openai-project": "proj-1",
    "x-team": "blue",
  });
});

test("sends 2 MB as they are", async () => {
  await using server = await serve(answering(response));
  const bodyText = JSON.stringify({ input: [{ image_url: `data:image/png;base64,${"QUJD".repeat(500_000)}` }] });
  await ask(provider(server), { bodyText });
  expect(server.received[0]?.body === bodyText).toBe(true);
});

test("gives a JSON answer whole, members in their order", async () => {
  await using server = await serve(answering(response));
  const asked = await ask(provider(server, { transport: "json" }));
  expect(JSON.stringify(asked.response)).toBe(JSON.stringify(response));
  expect(asked.deltas).toEqual([
    { type: "text-delta", outputIndex: 0, text: "hi" },
    { type: "item-done", outputIndex: 0, item: message },
  ]);
});

test("repeats nothing by itself: what a 500 says about retries is reported, and it is asked once", async () => {
  await using server = await serve(answering("oh", 500, { "x-should-retry": "true" }));
  expect(await failureOf(ask(provider(server)))).toMatchObject({
    kind: "server-error",
    outcome: "rejected",
    status: 500,
    shouldRetry: true,
  });
  expect(server.received.length).toBe(1);
});

test("a 429 says when to come back, and keeps its body", async () => {
  const body = { error: { message: "Slow down", type: "tokens", param: null, code: "rate_limit_exceeded" } };
  await using server = await serve(answering(body, 429, { "retry-after": "7" }));
  const told = {
    kind: "rate-limited",
    outcome: "rejected",
    status: 429,
    providerCode: "rate_limit_exceeded",
    retryAfterMs: 7000,
  };
  expect(await failureOf(ask(provider(server)))).toMatchObject({
    ...told,
    message: "Slow down",
    body: JSON.stringify(body),
  });
});

test.each([
  ["a body without error", { detail: "Unsupported parameter: previous_response_id" }, 400, "chaining-unsupported"],
  [
    "an error that is a text",
    { error: "Previous response cannot be used here", code: "not-found" },
    404,
    "chaining-unsupported",
  ],
  ["an empty body", "", 404, "invalid-request"],
  ["an HTML page", "<html><title>Nope</title></html>", 502, "server-error"],
  ["a wrong key", { error: { code: "invalid_api_key", message: "Incorrect API key" } }, 401, "authentication"],
])("understands %s", async (_, body, status, kind) => {
  await using server = await serve(answering(body, status, {}));
  expect(await failureOf(ask(provider(server)))).toMatchObject({ kind, status });
});

test.each([
  [
    "nothing",
    { error: { message: "Not Found" } },
    404,
    /^Not Found; http:\S+\/responses was asked: is the base URL correct\?$/,
  ],
  [
    "a page",
    "<html><title>Nope</title></html>",
    404,
    /^the provider answered HTTP 404: .* page: Nope; http:\S+ was asked/,
  ],
  ["no body", "", 405, /^the provider answered HTTP 405; http:\S+ was asked/],
  ["a page of a proxy", "<html></html>", 502, /^the provider answered HTTP 502: the body is an HTML page$/],
  [
    "no model",
    { error: { message: "The model 'x' does not exist" } },
    404,
    /^The model 'x' does not exist; give [^;]* model [^;]*$/,
  ],
])("where %s is at the address the error says which address that is", async (_, body, status, text) => {
  await using server = await serve(answering(body, status, {}));
  expect((await failureOf(ask(provider(server)))).message).toMatch(text);
});

test.each([
  ["an HTML page", "<html><title>Welcome</title></html>", /HTML page: Welcome/],
  ["an empty body", "", /empty body/],
  ["half a document", '{"id":"resp_1","outp', /not a response/],
  ["nothing of use", "[]", /not a response: \[\]$/],
  [
    "a page of somebody else's",
    "<html></html>",
    /HTML page; http:\S+\/responses was asked: is the base URL correct\?$/,
  ],
])("%s with status 200 is no response", async (_, body, text) => {
  await using server = await serve(answering(body));
  const failure = await failureOf(ask(provider(server)));
  expect(failure.message).toMatch(text);
  expect(failure.outcome).toBe("unknown");
});

test("an error with status 200 is what it says", async () => {
  await using server = await serve(answering({ error: { code: "previous_response_not_found", message: "gone" } }));
  expect(await failureOf(ask(provider(server)))).toMatchObject({
    ...{ kind: "lost-state", outcome: "rejected", message: "gone" },
  });
});

test("a response that failed is an error that keeps it whole", async () => {
  const failed = { ...response, status: "failed", error: { code: "server_error", message: "sorry" } };
  await using server = await serve(answering(failed));
  const told = { kind: "server-error", outcome: "unknown", message: "sorry", body: failed, partial: [message] };
  expect(await failureOf(ask(provider(server)))).toMatchObject(told);
});

test("an incomplete response is an answer", async () => {
  await using server = await serve(answering({ ...response, status: "incomplete" }));
  expect((await ask(provider(server))).response["status"]).toBe("incomplete");
});

test("an abort before anything is sent sends nothing", async () => {
  await using server = await serve(answering(response));
  const failure = await failureOf(ask(provider(server), { signal: AbortSignal.abort() }));
  expect(failure).toMatchObject({ kind: "aborted", outcome: "rejected" });
  expect(server.received).toEqual([]);
});

test("an abort while the server thinks leaves open what it did", async () => {
  const controller = new AbortController();
  await using server = await serve(() => {
    controller.abort(new Error("enough"));
  });
  const failure = await failureOf(ask(provider(server), { signal: controller.signal }));
  expect(failure).toMatchObject({ kind: "aborted", outcome: "unknown", cause: new Error("enough") });
});

test("a server that says nothing in time leaves open what it did", async () => {
  await using server = await serve(() => undefined);
  const failure = await failureOf(ask(provider(server, { timeoutMs: 30 })));
  expect(failure).toMatchObject({
    kind: "connection",
    outcome: "unknown",
    message: "the provider did not answer in time",
  });
});

test("a stream that stops in the middle is over when the time is up", async () => {
  await using server = await serve((answer) => {
    answer
      .writeHead(200, eventStream)
      .write(eventsOf({ type: "response.output_item.done", output_index: 0, item: message }));
  });
  const failure = await failureOf(ask(provider(server, { timeoutMs: 200 })));
  expect(failure).toMatchObject({ kind: "connection", outcome: "unknown", partial: [message] });
});

test("a refused connection was never sent anything", async () => {
  const gone = await serve(answering(response));
  await gone[Symbol.asyncDispose]();
  const failure = await failureOf(ask(provider(gone)));
  expect(failure).toMatchObject({ kind: "connection", outcome: "rejected" });
  expect(failure.message).toMatch(/^cannot reach the provider: .*ECONNREFUSED/);
});

test("a connection that breaks before the answer leaves open what the server did", async () => {
  await using server = await serve((answer) => {
    answer.destroy();
  });
  expect(await failureOf(ask(provider(server)))).toMatchObject({ kind: "connection", outcome: "unknown" });
  expect(server.received.length).toBe(1);
});

test("fetches and deletes a response by its id", async () => {
  await using server = await serve(answering(response));
  expect(await provider(server).retrieve("resp_1/x")).toEqual(response);
  await provider(server).delete("resp_1");
  const requests = server.received.map(({ method, url }) => `${method} ${url}`);
  expect(requests).toEqual(["GET /v1/responses/resp_1%2Fx", "DELETE /v1/responses/resp_1"]);
});
