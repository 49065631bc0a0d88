import type { ResponsesServerEvent } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  functionCall,
  message,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import type { JsonObject } from "../../packages/reference-server/src/wire.ts";
import { SocketClient } from "../support/reference-server/socket-client.ts";
import { create, send, stream, user } from "../support/reference-server/wire-client.ts";

/*
 * The cases of the Open Responses compliance suite, made anew from the specification: a response resource has
 * every one of its fields, and each item its id, type and status.
 */
const text = z.object({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
});
const status = z.enum(["in_progress", "completed", "incomplete"]);
const item = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    ...{
      id: z.string().min(1),
      status,
      role: z.enum(["user", "assistant", "system", "developer"]),
      content: z.array(text),
    },
    phase: z.enum(["commentary", "final_answer"]).optional(),
  }),
  z.object({
    type: z.literal("function_call"),
    ...{ id: z.string().min(1), status, call_id: z.string().min(1), name: z.string().min(1), arguments: z.string() },
  }),
]);
const usage = z.object({
  ...{ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() },
  input_tokens_details: z.object({ cached_tokens: z.int() }),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
});
const resource = z.object({
  ...{ id: z.string().min(1), object: z.literal("response"), created_at: z.int(), completed_at: z.int().nullable() },
  ...{ status: z.string(), incomplete_details: z.object({ reason: z.string() }).nullable(), model: z.string() },
  ...{ previous_response_id: z.string().nullable(), instructions: z.string().nullable(), output: z.array(item) },
  ...{
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    tools: z.array(z.looseObject({ type: z.string() })),
  },
  ...{
    tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
    truncation: z.enum(["auto", "disabled"]),
  },
  ...{
    parallel_tool_calls: z.boolean(),
    text: z.object({ format: z.looseObject({ type: z.string() }), verbosity: z.string() }),
  },
  ...{ top_p: z.number(), presence_penalty: z.number(), frequency_penalty: z.number(), top_logprobs: z.int() },
  ...{
    temperature: z.number(),
    reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  },
  ...{ usage: usage.nullable(), max_output_tokens: z.int().nullable(), max_tool_calls: z.int().nullable() },
  ...{ store: z.boolean(), background: z.boolean(), service_tier: z.string(), metadata: z.looseObject({}) },
  ...{ safety_identifier: z.string().nullable(), prompt_cache_key: z.string().nullable() },
});

const weather = {
  ...{ type: "function", name: "get_weather", description: "The weather of a place", strict: true },
  parameters: {
    type: "object",
    properties: { location: { type: "string" } },
    required: ["location"],
    additionalProperties: false,
  },
};
const phased = (phase: "commentary" | "final_answer") => ({ output: [message("Let me see.", { phase })] });
const called = { output: [functionCall("get_weather", '{"location":"Paris"}')] };
const picture = { type: "input_image", image_url: "data:image/png;base64,aW1hZ2U=" };

test.each<[string, JsonObject, ReferenceServerOptions?]>([
  ["a text", { input: [user("Say hello in exactly 3 words.")] }],
  ["a system prompt", { input: [{ role: "system", content: "You are a pirate." }, user("Say hello.")] }],
  ["a tool", { input: [user("What is the weather in Paris?")], tools: [weather] }, { answer: () => called }],
  ["an image", { input: [{ role: "user", content: [{ type: "input_text", text: "What is this?" }, picture] }] }],
  ["several turns", { input: [user("I am Ann."), { role: "assistant", content: "Hello Ann." }, user("Who am I?")] }],
  [
    "phases of an assistant",
    { input: [user("a"), { role: "assistant", content: "b", phase: "commentary" }, user("c")] },
    { answer: () => phased("final_answer") },
  ],
])("the response to %s has every field of the resource", async (_, body, options) => {
  await using server = await startReferenceServer(options ?? {});
  const answered = await create(server, body);
  expect(answered.status).toBe(200);
  const response = resource.parse(answered.body);
  expect(response).toMatchObject({ status: "completed", error: null });
  expect(response.output.length).toBeGreaterThan(0);
  expect(response.completed_at).not.toBeNull();
  const retrieved = await send(server, `/responses/${response.id}`);
  expect(resource.parse(retrieved.body)).toEqual(response);
});

test("phases of the output are those that the model gave", async () => {
  await using server = await startReferenceServer({ answer: () => phased("commentary") });
  const { body } = await create(server, { input: [user("a")] });
  expect(resource.parse(body).output).toMatchObject([{ type: "message", phase: "commentary" }]);
});

test("every event of a stream has its type and number, and those with a response have all of it", async () => {
  await using server = await startReferenceServer();
  const { frames } = await stream(server, { input: [user("Count from 1 to 5.")] });
  const event = z.looseObject({ type: z.string().startsWith("response."), sequence_number: z.int() });
  const seen = frames.map((frame) => event.parse(frame));
  expect(seen.map(({ sequence_number: number }) => number)).toEqual(frames.map((_, index) => index));
  for (const { type, response } of seen)
    if (["response.created", "response.in_progress", "response.completed"].includes(type)) resource.parse(response);
  expect(seen.map(({ type }) => type).filter((type, index, types) => type !== types[index - 1])).toEqual([
    ...["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"],
    ...["response.output_text.delta", "response.output_text.done", "response.content_part.done"],
    ...["response.output_item.done", "response.completed"],
  ]);
});

test("a compacted conversation is a resource of its own, and one without a model is refused", async () => {
  await using server = await startReferenceServer();
  const input = [user("We launch on Tuesday."), { role: "assistant", content: "Understood." }];
  const compact = (body: JsonObject) =>
    send(server, "/responses/compact", { method: "POST", body: JSON.stringify(body) });
  const { status: code, body } = await compact({ model: "m", prompt_cache_key: "compact-test", input });
  expect(code).toBe(200);
  const compacted = z.object({
    ...{ id: z.string(), object: z.literal("response.compaction"), created_at: z.int(), usage },
    output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  });
  expect(compacted.parse(body).output.map(({ type }) => type)).toContain("compaction");
  expect([400, 422]).toContain((await compact({ input })).status);
});

describe("over WebSocket", () => {
  /** The whole response of a terminal event. */
  const completed = (event: ResponsesServerEvent) => {
    expect(event.type).toBe("response.completed");
    return resource.parse("response" in event ? event.response : undefined);
  };
  const said = (content: string) => [{ role: "user", content } as const];
  const failure = z.object({
    type: z.literal("error"),
    status: z.int(),
    error: z.object({ code: z.string().nullable(), message: z.string().min(1), type: z.string() }),
  });
  const unstored = { store: false } as const;

  test("a response comes as numbered events, and its last one holds all of it", async () => {
    await using server = await startReferenceServer();
    await using client = new SocketClient(server);
    client.send({ input: said("Count from 1 to 5.") });
    const types: string[] = [];
    for (;;) {
      const event = await client.next();
      expect("sequence_number" in event ? event.sequence_number : null).toBe(types.length);
      types.push(event.type);
      if (event.type === "response.created" || event.type === "response.in_progress") resource.parse(event.response);
      if (event.type !== "response.completed") continue;
      expect(completed(event).output).toMatchObject([{ type: "message", status: "completed" }]);
      break;
    }
    expect(types[0]).toBe("response.created");
    expect(types).toContain("response.output_text.delta");
  });

  test("responses come one after another on one connection", async () => {
    await using server = await startReferenceServer();
    await using client = new SocketClient(server);
    const first = completed(await client.ask({ input: said("Say one.") }));
    const second = completed(await client.ask({ input: said("Say two.") }));
    expect(second.id).not.toBe(first.id);
    expect([first, second].map((each) => each.previous_response_id)).toEqual([null, null]);
    expect(server.sockets.open).toBe(1);
  });

  test("a response continues from the one before, stored or not", async () => {
    for (const stored of [{}, unstored]) {
      await using server = await startReferenceServer();
      await using client = new SocketClient(server);
      const first = completed(await client.ask({ ...stored, input: said("My word is kiwi.") }));
      const asked = { ...stored, input: said("Which word?"), previous_response_id: first.id };
      expect(completed(await client.ask(asked)).previous_response_id).toBe(first.id);
      expect(JSON.stringify(server.reading(1)?.items)).toContain("My word is kiwi.");
    }
  });

  test("what was not stored is gone with its connection, and the whole of it begins a new chain", async () => {
    await using server = await startReferenceServer();
    const first = await (async () => {
      await using client = new SocketClient(server);
      return completed(await client.ask({ ...unstored, input: said("My word is kiwi.") }));
    })();
    await using client = new SocketClient(server);
    const lost = { ...unstored, input: said("Which word?"), previous_response_id: first.id };
    expect(failure.parse(await client.ask(lost)).error.code).toBe("previous_response_not_found");
    const whole = [...said("My word is kiwi."), { role: "assistant", content: "OK." } as const, ...said("Which word?")];
    const second = completed(await client.ask({ ...unstored, input: whole }));
    expect(second.previous_response_id).toBeNull();
    completed(await client.ask({ ...unstored, input: said("Thanks."), previous_response_id: second.id }));
  });

  test("a response that is not there is an error that says so, and the connection goes on", async () => {
    await using server = await startReferenceServer();
    await using client = new SocketClient(server);
    const event = failure.parse(await client.ask({ input: said("Hello."), previous_response_id: "resp_missing" }));
    expect(event).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
    completed(await client.ask({ input: said("Hello.") }));
  });

  test("a continuation that fails takes what it continued from out of the connection's memory", async () => {
    await using server = await startReferenceServer();
    await using client = new SocketClient(server);
    const first = completed(await client.ask({ ...unstored, input: said("Hello.") }));
    const orphan = [{ type: "function_call_output", call_id: "call_bogus", output: "?" } as const];
    const failed = await client.ask({ ...unstored, input: orphan, previous_response_id: first.id });
    expect(failure.parse(failed).status).toBe(400);
    const again = await client.ask({ ...unstored, input: said("Hello?"), previous_response_id: first.id });
    expect(failure.parse(again).error.code).toBe("previous_response_not_found");
  });

  test("a compacted window begins a new chain", async () => {
    await using server = await startReferenceServer();
    await using client = new SocketClient(server);
    const input = [...said("We launch on Tuesday."), { role: "assistant", content: "Understood." } as const];
    const { body } = await send(server, "/responses/compact", {
      method: "POST",
      body: JSON.stringify({ model: "m", input }),
    });
    const { output } = z.object({ output: z.array(z.looseObject({ type: z.string() })) }).parse(body);
    expect(output.map(({ type }) => type)).toContain("compaction");
    client.socket.sendRaw(
      JSON.stringify({ type: "response.create", model: "m", ...unstored, input: [...output, ...said("When?")] }),
    );
    const first = completed(await client.ended());
    expect(first.previous_response_id).toBeNull();
    const second = completed(await client.ask({ ...unstored, input: said("Sure?"), previous_response_id: first.id }));
    expect(second.previous_response_id).toBe(first.id);
  });
});
