import OpenAI from "openai";
import { expect, test } from "vitest";
import {
  cannedError,
  functionCall,
  message,
  reasoning,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";

test("the official client creates, streams, chains, lists, retrieves and deletes", async () => {
  const script = [
    { output: [reasoning({ summary: "hm" }), functionCall("f", '{"a":1}', { callId: "call_1" })] },
    { output: [message("the answer, in several pieces of text")] },
  ];
  await using server = await startReferenceServer({ script });
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "none", maxRetries: 0 });
  const first = await client.responses.create({ model: "m", input: "go" });
  expect(first.output.map(({ type }) => type)).toEqual(["reasoning", "function_call"]);
  const stream = client.responses.stream({
    model: "m",
    previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id: "call_1", output: "done" }],
  });
  const types = new Set<string>();
  for await (const event of stream) types.add(event.type);
  const final = await stream.finalResponse();
  expect(final.output_text).toBe("the answer, in several pieces of text");
  expect([...types].slice(0, 5).at(-1)).toBe("response.output_text.delta");
  expect((await client.responses.retrieve(final.id)).output_text).toBe(final.output_text);
  const listed = await client.responses.inputItems.list(final.id);
  expect(listed.data.map(({ type }) => type)).toEqual(["function_call_output"]);
  await client.responses.delete(final.id);
  await expect(client.responses.retrieve(final.id)).rejects.toThrow(OpenAI.NotFoundError);
});

test("the official client finds code, param and type where it looks for them", async () => {
  await using server = await startReferenceServer();
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "none", maxRetries: 0 });
  server.inject(undefined, cannedError("rate-limit"));
  await client.responses.create({ model: "m", input: "go" });
  await expect(client.responses.create({ model: "m", input: "go" })).rejects.toMatchObject({
    status: 429,
    code: "rate_limit_exceeded",
    type: "tokens",
  });
  const lost = client.responses.create({ model: "m", input: "go", previous_response_id: "resp_x" });
  await expect(lost).rejects.toMatchObject({
    status: 400,
    code: "previous_response_not_found",
    param: "previous_response_id",
  });
});
