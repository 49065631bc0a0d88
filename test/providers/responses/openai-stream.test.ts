import { expect, test } from "vitest";
import type { StreamDelta } from "../../../src/engine/ports/provider.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { ask, failureOf, textOf } from "../../support/providers/inferences.ts";
import { answering, eventStream, eventsOf, type Loopback, serve } from "../../support/providers/loopback.ts";

const provider = ({ baseURL }: Loopback) => openaiResponses({ model: "m", apiKey: "sk-test", baseURL });
const streaming = (text: string, headers: Record<string, string> = eventStream) => serve(answering(text, 200, headers));

const thought = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }] };
const call = { type: "function_call", id: "fc_1", call_id: "c", name: "n", arguments: "{}" };
const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "hello" }],
};
const items = [thought, message, call];
const response = {
  id: "resp_1",
  object: "response",
  status: "completed",
  zeta: { b: 1, a: 2 },
  output: items,
  unknown: null,
};
const added = (index: number, item: object) => ({ type: "response.output_item.added", output_index: index, item });
const done = (index: number, item: object) => ({ type: "response.output_item.done", output_index: index, item });
const delta = (type: string, index: number, text: string) => ({
  type,
  output_index: index,
  item_id: "any",
  delta: text,
});
const hello = [delta("response.output_text.delta", 1, "hel"), delta("response.output_text.delta", 1, "lo")];
const completed = { type: "response.completed", response };

test("gives the response of the terminal event whole, and its parts as they come", async () => {
  const args = delta("response.function_call_arguments.delta", 2, "{}");
  const hm = delta("response.reasoning_summary_text.delta", 0, "hm");
  await using server = await streaming(
    eventsOf(
      { type: "response.created", response: {} },
      hm,
      done(0, thought),
      ...hello,
      done(1, message),
      args,
      done(2, call),
      completed,
    ),
  );
  const asked = await ask(provider(server));
  expect(JSON.stringify(asked.response)).toBe(JSON.stringify(response));
  expect(server.received[0]?.headers["accept"]).toBe("text/event-stream");
  expect(textOf(asked.deltas, "text-delta")).toBe("hello");
  expect(textOf(asked.deltas, "reasoning-delta")).toBe("hm");
  expect(textOf(asked.deltas, "tool-call-delta")).toBe("{}");
  expect(asked.deltas.flatMap((delta) => (delta.type === "item-done" ? delta.outputIndex : []))).toEqual([0, 1, 2]);
  expect(asked.deltas.findIndex(({ type }) => type === "item-done")).toBe(1);
});

test("gives the text of items that came without deltas", async () => {
  await using server = await streaming(
    eventsOf(done(0, message), { ...completed, response: { ...response, output: [message] } }),
  );
  expect(textOf((await ask(provider(server))).deltas, "text-delta")).toBe("hello");
});

test("ends with the terminal event, even if the server keeps the connection open", async () => {
  await using server = await serve((answer) => {
    answer.writeHead(200, eventStream).write(eventsOf(completed));
  });
  expect((await ask(provider(server))).response).toEqual(response);
});

test("reads a stream without event names, with carriage returns, and without a last empty line", async () => {
  const text = [{ type: "response.created" }, completed]
    .map((event) => `data: ${JSON.stringify(event)}`)
    .join("\r\n\r\n");
  await using server = await streaming(text);
  expect((await ask(provider(server))).response).toEqual(response);
});

test.each([
  ["a stream that is called JSON", eventsOf(completed), { "content-type": "application/json" }],
  ["a stream that is called nothing", `: comment\n\n${eventsOf(completed)}data: [DONE]\n\n`, {}],
  ["JSON that is called a stream", JSON.stringify(response, null, 1), eventStream],
  ["JSON where a stream was asked for", `\n ${JSON.stringify(response)}`, { "content-type": "application/json" }],
])("reads %s", async (_, text, headers) => {
  await using server = await streaming(text, headers);
  expect((await ask(provider(server))).response).toEqual(response);
  expect((await ask(provider(server), { transport: "json" })).response).toEqual(response);
});

test("takes the streamed items when the terminal event has none", async () => {
  await using server = await streaming(
    eventsOf(done(1, message), done(0, thought), { ...completed, response: { ...response, output: [] } }),
  );
  expect((await ask(provider(server))).response["output"]).toEqual([thought, message]);
});

test("believes the terminal event where it differs from the items streamed", async () => {
  await using server = await streaming(eventsOf(done(0, { ...message, content: [] }), completed));
  expect((await ask(provider(server))).response["output"]).toEqual(items);
});

test("an incomplete response is an answer", async () => {
  const incomplete = { ...response, status: "incomplete" };
  await using server = await streaming(eventsOf({ type: "response.incomplete", response: incomplete }));
  expect((await ask(provider(server))).response).toEqual(incomplete);
});

test("a stream that ends early is cut: what was done stays, of an open message the text so far", async () => {
  await using server = await streaming(
    eventsOf(done(0, thought), added(1, { ...message, status: "in_progress", content: [] }), ...hello, added(2, call)),
  );
  const failure = await failureOf(ask(provider(server)));
  const open = {
    ...message,
    status: "in_progress",
    content: [{ type: "output_text", text: "hello", annotations: [] }],
  };
  expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown", partial: [thought, open] });
});

test.each([
  ["between two events", 0],
  ["within an event", 25],
])("a connection that breaks %s is cut", async (_, missing) => {
  const text = eventsOf(done(0, thought), completed);
  const end = text.indexOf("event: response.completed") + missing;
  await using server = await serve((answer) => {
    answer.writeHead(200, { ...eventStream, "content-length": text.length }).write(text.slice(0, end));
    setTimeout(() => answer.destroy(), 20);
  });
  expect(await failureOf(ask(provider(server)))).toMatchObject({
    kind: "stream-cut",
    outcome: "unknown",
    partial: [thought],
  });
});

test("a stream that ends within an event is cut", async () => {
  const text = eventsOf(done(0, thought), completed);
  await using server = await streaming(text.slice(0, -20));
  expect(await failureOf(ask(provider(server)))).toMatchObject({ kind: "stream-cut", partial: [thought] });
});

test("an abort in the middle keeps what had come", async () => {
  const controller = new AbortController();
  await using server = await serve((answer) => {
    answer.writeHead(200, eventStream).write(eventsOf(done(0, thought), ...hello));
  });
  const onDelta = (delta: StreamDelta): void => {
    if ("outputIndex" in delta && delta.outputIndex === 1) controller.abort();
  };
  const failure = await failureOf(ask(provider(server), { signal: controller.signal, onDelta }));
  expect(failure).toMatchObject({ kind: "aborted", outcome: "unknown", partial: [thought] });
});

const tooLong = { code: "context_length_exceeded", message: "too long", param: "input" };

test.each([
  ["a flat error event", { type: "error", sequence_number: 1, ...tooLong }],
  ["a nested error event", { type: "error", sequence_number: 1, error: { type: "invalid_request_error", ...tooLong } }],
  [
    "a failed response",
    { type: "response.failed", response: { id: "resp_1", status: "failed", output: [], error: tooLong } },
  ],
])("%s is an error", async (_, event) => {
  await using server = await streaming(eventsOf({ type: "response.created" }, event));
  const told = {
    kind: "context-length-exceeded",
    outcome: "rejected",
    providerCode: tooLong.code,
    message: "too long",
  };
  expect(await failureOf(ask(provider(server)))).toMatchObject(told);
});

test("an error event without a type of its own goes by the name of the event", async () => {
  await using server = await streaming(`event: error\ndata: ${JSON.stringify(tooLong)}\n\n`);
  expect(await failureOf(ask(provider(server)))).toMatchObject({ kind: "context-length-exceeded" });
});

test("an error without a name or type is an error", async () => {
  await using server = await streaming(`data: ${JSON.stringify({ error: tooLong })}\n\n`);
  expect(await failureOf(ask(provider(server)))).toMatchObject({ kind: "context-length-exceeded" });
});

test("an error after a part of the answer says that the server has acted", async () => {
  await using server = await streaming(eventsOf(done(0, thought), { type: "error", ...tooLong }));
  expect(await failureOf(ask(provider(server)))).toMatchObject({ outcome: "unknown", partial: [thought] });
});

test("an error of a listener is reported", async () => {
  await using server = await streaming(eventsOf(done(0, message), completed));
  const onDelta = (): never => {
    throw new Error("a bug of the listener");
  };
  await expect(ask(provider(server), { onDelta })).rejects.toThrow("a bug of the listener");
});

test.each([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  ["response.cancelled", "cancelled"],
])("takes the status from the type of the terminal event: %s", async (type, status) => {
  for (const said of [undefined, "in_progress", null]) {
    await using server = await streaming(eventsOf({ type, response: { ...response, status: said } }));
    expect((await ask(provider(server))).response).toEqual({ ...response, status });
  }
});

test("takes a response.failed as a failure, whatever status its response has, and without a response too", async () => {
  const error = { code: "server_error", message: "it broke" };
  for (const body of [{ response: { ...response, error, status: "completed" } }, { response: null, error }]) {
    await using server = await streaming(eventsOf(done(0, message), { type: "response.failed", ...body }));
    expect(await failureOf(ask(provider(server)))).toMatchObject({ kind: "server-error", message: "it broke" });
  }
});

test("takes an answer with an error and without a status as a failure, in a stream or not", async () => {
  const { status: _, ...told } = { ...response, error: { code: "server_error", message: "it broke" } };
  for (const text of [JSON.stringify(told), eventsOf({ type: "response.done", response: told })]) {
    await using server = await streaming(text);
    const failure = await failureOf(ask(provider(server)));
    expect(failure).toMatchObject({ kind: "server-error", outcome: "unknown", message: "it broke" });
    expect(failure.partial).toEqual(items);
  }
});

test("takes an event that says that there is no error as what its name says", async () => {
  const event = { output_index: 0, item: message, error: null };
  const named = `event: response.output_item.done\ndata: ${JSON.stringify(event)}\n\n`;
  await using server = await streaming(named + eventsOf({ ...completed, response: { ...response, output: [] } }));
  expect((await ask(provider(server))).response["output"]).toEqual([message]);
});

test("loses none of the streamed items to a terminal event whose output holds only nulls", async () => {
  await using server = await streaming(
    eventsOf(done(0, message), { ...completed, response: { ...response, output: [null] } }),
  );
  expect((await ask(provider(server))).response["output"]).toEqual([message]);
});

test("the cost of an answer so far is reported while it comes, by a server that says so", async () => {
  const usage = { input_tokens: 7, output_tokens: 2, output_tokens_details: { reasoning_tokens: 1 } };
  const counted = { type: "response.in_progress", response: { usage } };
  await using server = await streaming(eventsOf(counted, ...hello, completed));
  const { deltas } = await ask(provider(server));
  expect(deltas.filter(({ type }) => type === "usage")).toEqual([
    {
      type: "usage",
      usage: { inputTokens: 7, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 1 },
      reported: usage,
    },
  ]);
});
