import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import {
  cannedError,
  functionCall,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  type SocketOptions,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { SocketClient } from "../support/reference-server/socket-client.ts";

const start = (webSocket: SocketOptions = {}, options: ReferenceServerOptions = {}) =>
  startReferenceServer({ webSocket, ...options });

const notFound = (id: string) => ({
  type: "error",
  status: 400,
  error: { code: "previous_response_not_found", message: `Previous response with id '${id}' not found.` },
});

const unstored = { store: false } as const;

test("a response comes as its events, in the order of a stream and numbered", async () => {
  await using server = await start({}, { script: [{ output: [functionCall("f", '{"a":1}', { callId: "call_1" })] }] });
  await using client = new SocketClient(server);
  client.send({ input: "go" });
  const types: string[] = [];
  for (;;) {
    const event = await client.next();
    expect("sequence_number" in event ? event.sequence_number : null).toBe(types.length);
    types.push(event.type);
    if (event.type === "response.completed") break;
  }
  expect(types.slice(0, 3)).toEqual(["response.created", "response.in_progress", "response.output_item.added"]);
  expect(types.at(-2)).toBe("response.output_item.done");
  expect(server.requests).toMatchObject([{ status: 200, socket: 0, method: "POST", path: "/v1/responses" }]);
  expect(server.requests[0]?.bodyText).toBe('{"type":"response.create","model":"m","input":"go"}');
});

test("an unstored response is continued from on its own connection, and nowhere else", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  const first = await client.askFor({ ...unstored, input: "one" });
  const second = await client.askFor({ ...unstored, input: "two", previous_response_id: first });
  expect(server.context(second)?.length).toBe(4);
  await using other = new SocketClient(server);
  expect(await other.ask({ ...unstored, input: "three", previous_response_id: second })).toMatchObject(
    notFound(second),
  );
  const overHttp = new OpenAI({ baseURL: server.baseUrl, apiKey: "none", maxRetries: 0 }).responses;
  await expect(overHttp.create({ model: "m", input: "three", previous_response_id: second })).rejects.toMatchObject({
    code: "previous_response_not_found",
  });
});

test("a lane keeps its newest response only; what is stored is found on every connection", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  const first = await client.askFor({ ...unstored, input: "one" });
  await client.askFor({ ...unstored, input: "two", previous_response_id: first });
  expect(await client.ask({ ...unstored, input: "again", previous_response_id: first })).toMatchObject(notFound(first));
  const stored = await client.askFor({ input: "kept" });
  await client.askFor({ input: "after it", previous_response_id: stored });
  await using other = new SocketClient(server);
  expect(await other.ask({ input: "elsewhere", previous_response_id: stored })).toMatchObject({
    type: "response.completed",
    response: { previous_response_id: stored },
  });
});

test("a continuation that is refused takes away what it continued from", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  const first = await client.askFor({ ...unstored, input: "one" });
  const orphan = [{ type: "function_call_output", call_id: "call_bogus", output: "?" } as const];
  expect(await client.ask({ ...unstored, input: orphan, previous_response_id: first })).toMatchObject({
    type: "error",
    status: 400,
    error: { message: "No tool call found for function call output with call_id call_bogus.", param: "input" },
  });
  expect(await client.ask({ ...unstored, input: "two", previous_response_id: first })).toMatchObject(notFound(first));
  expect(await client.ask({ ...unstored, input: "all of it" })).toMatchObject({ type: "response.completed" });
});

test("another lane continues from the response of one, and fails without taking it away", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  const source = await client.askFor({ ...unstored, stream_id: "main", input: "one" });
  const fork = await client.ask({ ...unstored, stream_id: "fork", input: "aside", previous_response_id: source });
  expect(fork).toMatchObject({ type: "response.completed", stream_id: "fork" });
  const orphan = [{ type: "function_call_output", call_id: "call_bogus", output: "?" } as const];
  const failed = await client.ask({ ...unstored, stream_id: "fork", input: orphan, previous_response_id: source });
  expect(failed).toMatchObject({ type: "error", stream_id: "fork", status: 400 });
  const next = await client.ask({ ...unstored, stream_id: "main", input: "two", previous_response_id: source });
  expect(next).toMatchObject({ type: "response.completed", stream_id: "main" });
});

test("lanes are answered beside each other, a lane in its order", async () => {
  const held = Promise.withResolvers();
  await using server = await start();
  await using client = new SocketClient(server);
  server.inject({ kind: "delay", until: held.promise });
  client.send({ stream_id: "slow", input: "one" });
  client.send({ stream_id: "slow", input: "two" });
  expect(await client.ask({ stream_id: "fast", input: "three" })).toMatchObject({ stream_id: "fast" });
  held.resolve(null);
  const ended = [await client.ended(), await client.ended()];
  const asked = ended.flatMap((event) => ("response" in event ? server.context(event.response.id)?.[0] : []));
  expect(asked).toMatchObject([{ content: "one" }, { content: "two" }]);
});

test("16 responses are in flight, and the rest wait", async () => {
  const held = Promise.withResolvers();
  const begun: number[] = [];
  const answer = async ({ request }: { readonly request: number }) => {
    begun.push(request);
    await held.promise;
    return { output: [message("done")] };
  };
  await using server = await start({}, { answer });
  await using client = new SocketClient(server);
  for (let lane = 0; lane < 17; lane += 1) client.send({ stream_id: `lane-${lane}`, input: "go" });
  while (server.requests.length < 17) await new Promise(setImmediate);
  expect(begun.length).toBe(16);
  held.resolve(null);
  for (let lane = 0; lane < 17; lane += 1) expect(await client.ended()).toMatchObject({ type: "response.completed" });
  expect(begun.length).toBe(17);
});

test("names of lanes are checked, and counted", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  const isRefused = { type: "error", status: 400, error: { code: "invalid_stream_id", param: "stream_id" } };
  expect(await client.ask({ stream_id: "no spaces", input: "go" })).toMatchObject(isRefused);
  for (let lane = 0; lane < 32; lane += 1) await client.askFor({ stream_id: `lane-${lane}`, input: "go" });
  expect(await client.ask({ stream_id: "one-too-many", input: "go" })).toMatchObject({
    error: { code: "websocket_stream_limit_reached" },
  });
  expect(await client.ask({ stream_id: "lane-31", input: "go" })).toMatchObject({ type: "response.completed" });
});

test("a request that warms the connection up is not answered, and is continued from", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  const warm = await client.ask({ ...unstored, generate: false, input: "all that is known" });
  expect(warm).toMatchObject({ type: "response.completed", response: { output: [], status: "completed" } });
  const id = warm.type === "response.completed" ? warm.response.id : "";
  const answered = await client.askFor({ ...unstored, input: "and now?", previous_response_id: id });
  expect(server.context(answered)).toMatchObject([
    { content: "all that is known" },
    { content: "and now?" },
    { content: [{ text: "Answer 0." }] },
  ]);
});

test("what only HTTP knows is refused, and so is every other event", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  expect(await client.ask({ background: true, input: "go" })).toMatchObject({ error: { param: "background" } });
  client.socket.sendRaw('{"type":"response.append"}');
  expect(await client.ended()).toMatchObject({ status: 400, error: { code: "invalid_value", param: "type" } });
  client.socket.sendRaw("{");
  expect(await client.ended()).toMatchObject({ status: 400, error: { type: "invalid_request_error" } });
});

test("a connection of 60 minutes gets an error, and is closed", async () => {
  let now = 0;
  await using server = await start({}, { now: () => now });
  await using client = new SocketClient(server);
  await client.askFor({ input: "go" });
  now = 60 * 60 * 1000 - 1;
  await client.askFor({ input: "just in time" });
  now += 1;
  const closed = client.closed();
  expect(await client.ask({ input: "too late" })).toMatchObject({
    status: 400,
    error: {
      code: "websocket_connection_limit_reached",
      message:
        "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.",
    },
  });
  await closed;
  await using next = new SocketClient(server);
  expect(await next.ask({ input: "on another" })).toMatchObject({ type: "response.completed" });
});

const documented = {
  type: "error",
  status: 400,
  error: {
    type: "invalid_request_error",
    code: "previous_response_not_found",
    message: "Previous response with id 'resp_x' not found.",
    param: "previous_response_id",
  },
};
const { code, message: text, param } = documented.error;

test.each([
  ["documented", { ...documented, stream_id: "a" }],
  ["bare", { type: "error", status: 400, stream_id: "a", error: { code, message: text } }],
  ["flat", { type: "error", code, message: text, param, stream_id: "a" }],
] as const)("an error has the shape that is asked for: %s", async (errors, frame) => {
  await using server = await start({ errors });
  await using client = new SocketClient(server);
  expect(await client.ask({ stream_id: "a", input: "go", previous_response_id: "resp_x" })).toEqual(frame);
});

test("every row of the error catalogue arrives as a frame", async () => {
  await using server = await start();
  await using client = new SocketClient(server);
  server.inject(cannedError("rate-limit"));
  expect(await client.ask({ input: "go" })).toMatchObject({
    type: "error",
    status: 429,
    error: { code: "rate_limit_exceeded", type: "tokens" },
  });
});

describe("an endpoint without lanes", () => {
  test("has one response in flight, and knows no stream_id", async () => {
    const held = Promise.withResolvers();
    await using server = await start({ lanes: "none" });
    await using client = new SocketClient(server);
    expect(await client.ask({ stream_id: "a", input: "go" })).toMatchObject({
      error: { code: "unknown_parameter", param: "stream_id" },
    });
    server.inject({ kind: "delay", until: held.promise });
    client.send({ input: "one" });
    expect(await client.ask({ input: "two" })).toMatchObject({ status: 409, error: { code: "concurrent_request" } });
    held.resolve(null);
    expect(await client.ended()).toMatchObject({ type: "response.completed" });
  });

  test("or does as if it were not there", async () => {
    await using server = await start({ lanes: "ignored" });
    await using client = new SocketClient(server);
    const event = await client.ask({ stream_id: "a", input: "go" });
    expect(event).toMatchObject({ type: "response.completed" });
    expect("stream_id" in event).toBe(false);
  });
});

/** What a plain client of the protocol is told where no connection is made. */
async function upgradeStatus({ url }: ReferenceServer, path = "/v1/responses"): Promise<number | "open"> {
  const socket = new WebSocket(url.replace("http", "ws") + path);
  const refused = Promise.withResolvers<number | "open">();
  socket.on("error", () => undefined);
  socket.once("unexpected-response", (_, { statusCode = 0 }) => {
    refused.resolve(statusCode);
    socket.terminate();
  });
  socket.once("open", () => {
    refused.resolve("open");
    socket.terminate();
  });
  return refused.promise;
}

test("upgrades are refused where there are no WebSockets, for as long as a test says, and elsewhere", async () => {
  await using without = await start({ refused: 426 });
  expect(await upgradeStatus(without)).toBe(426);
  await using server = await start();
  server.sockets.refuse(503);
  expect(await upgradeStatus(server)).toBe(503);
  expect(await upgradeStatus(server, "/v1/chat")).toBe(404);
  expect(await upgradeStatus(server)).toBe("open");
});

describe("what goes wrong on the way", () => {
  test("a socket is cut in the middle of an answer, which then does not exist", async () => {
    await using server = await start();
    await using client = new SocketClient(server);
    const closed = client.closed();
    server.inject({ kind: "cut", afterBytes: 2_000 });
    client.send({ input: "go" });
    expect(await client.next()).toMatchObject({ type: "response.created" });
    await closed;
    expect(server.requests[0]?.hasFaultFired).toBe(true);
    await using other = new SocketClient(server);
    const [id = ""] = server.responseIds();
    expect(await other.ask({ input: "on", previous_response_id: id })).toMatchObject(notFound(id));
  });

  test("an answer is stored of which the client never hears", async () => {
    await using server = await start();
    await using client = new SocketClient(server);
    const closed = client.closed();
    server.inject({ kind: "lost-acknowledgement" });
    client.send({ input: "go" });
    await closed;
    await using other = new SocketClient(server);
    const [id = ""] = server.responseIds();
    expect(await other.ask({ input: "on", previous_response_id: id })).toMatchObject({ type: "response.completed" });
  });

  test("a frame is no JSON", async () => {
    await using server = await start();
    await using client = new SocketClient(server);
    const raw: unknown[] = [];
    client.socket.on("raw", (data) => raw.push(data));
    server.inject({ kind: "frame", data: '{"type":', afterFrames: 1 });
    client.send({ input: "go" });
    await client.next();
    await client.askFor({ input: "and another" });
    expect(raw).toEqual(['{"type":']);
  });

  test("all sockets are cut", async () => {
    await using server = await start();
    await using client = new SocketClient(server);
    await client.askFor({ input: "go" });
    expect(server.sockets.open).toBe(1);
    const closed = client.closed();
    server.sockets.cut();
    await closed;
  });
});
