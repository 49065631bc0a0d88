import OpenAI from "openai";
import { expect, test } from "vitest";
import { functionCall, message, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { objectsOf } from "../../packages/reference-server/src/wire.ts";
import { accepted, create, idOf, outputOf, send, toolOutput, user } from "../support/reference-server/wire-client.ts";

const post = (body: unknown) => ({ method: "POST", body: JSON.stringify(body) });

test("the tokens of an input are those that its response reports, and asking stores nothing", async () => {
  await using server = await startReferenceServer();
  const parent = idOf(await accepted(server, { input: "before" }));
  const asked = { model: "m", input: "a", instructions: "Be brief.", previous_response_id: parent };
  const counted = await send(server, "/responses/input_tokens", post(asked));
  const made = server.responseIds().length;
  const { usage } = await accepted(server, asked);
  expect(counted).toEqual({
    status: 200,
    body: { object: "response.input_tokens", input_tokens: objectsOf([usage ?? {}])[0]?.["input_tokens"] },
  });
  expect(made).toBe(1);
});

test("a count may leave out model and input, and is refused what a request is refused", async () => {
  await using server = await startReferenceServer();
  const parent = idOf(await accepted(server, { input: "before" }));
  const count = (body: unknown) => send(server, "/responses/input_tokens", post(body));
  expect((await count({ previous_response_id: parent })).status).toBe(200);
  expect((await count({ input: "a", store: false })).body).toMatchObject({
    error: { code: "unknown_parameter", param: "store" },
  });
  expect((await count({ input: "a", previous_response_id: "resp_x" })).body).toMatchObject({
    error: { code: "previous_response_not_found" },
  });
});

test("a compacted window is what the user said and one ciphertext, and begins a new chain", async () => {
  const script = [{ output: [functionCall("f", "{}", { callId: "call_1" })] }, { output: [message("sunny")] }];
  await using server = await startReferenceServer({ script: [...script, { output: [message("as I said")] }] });
  const first = idOf(await accepted(server, { input: "weather?" }));
  const second = idOf(await accepted(server, { input: [toolOutput("call_1", "22")], previous_response_id: first }));
  const compacted = await send(server, "/responses/compact", post({ model: "m", previous_response_id: second }));
  const window = outputOf(compacted.body);
  expect(window.map((item) => item["role"] ?? item["type"])).toEqual(["user", "compaction"]);
  expect(typeof window[1]?.["encrypted_content"]).toBe("string");
  const third = await accepted(server, { input: [...window, user("and now?")] });
  expect(third).toMatchObject({ previous_response_id: null });
  expect(server.reading(idOf(third))?.items).toHaveLength(3);
});

test("a compaction wants a model and a context whose calls are answered", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output: [functionCall("f", "{}")] }) });
  const open = idOf(await accepted(server, { input: "go" }));
  const compact = (body: unknown) => send(server, "/responses/compact", post(body));
  expect(await compact({ input: "a" })).toMatchObject({ status: 400, body: { error: { param: "model" } } });
  expect(await compact({ model: "m", previous_response_id: open })).toMatchObject({ status: 400 });
  expect((await compact({ model: "m", input: "a", tools: [] })).body).toMatchObject({
    error: { code: "unknown_parameter", param: "tools" },
  });
  expect((await create(server, { input: "b" })).status).toBe(200);
});

test("the official client counts and compacts, and pages through input items", async () => {
  await using server = await startReferenceServer();
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "none", maxRetries: 0 });
  const { id } = await client.responses.create({ model: "m", input: ["a", "b", "c"].map(said) });
  const { input_tokens: tokens } = await client.responses.inputTokens.count({ model: "m", previous_response_id: id });
  expect(tokens).toBeGreaterThan(0);
  const compacted = await client.responses.compact({ model: "m", previous_response_id: id });
  expect(compacted.output.map(({ type }) => type)).toEqual(["message", "message", "message", "compaction"]);
  const texts: string[] = [];
  for await (const item of client.responses.inputItems.list(id, { limit: 1, order: "asc" }))
    texts.push(JSON.stringify("content" in item ? item.content : null));
  expect(texts.map((text) => /"text":"(.)"/.exec(text)?.[1])).toEqual(["a", "b", "c"]);
});

const said = (content: string) => ({ role: "user", content }) as const;
