import { expect, test } from "vitest";
import { message } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import {
  engineOn,
  expectSound,
  rebuiltBodies,
  say,
  shapesOf,
  startServer,
} from "../../support/providers/over-socket.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

test("what leaves on the socket is what the log gives again, byte for byte", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop, { instructions: "Be «brief»." });
  const { conversation } = workshop;
  for (const text of ["one \ud83d\ude00", "two \ud800", "three"]) await say(conversation, engine, text);
  expect(server.requests.map(({ bodyText }) => bodyText)).toEqual(await rebuiltBodies(conversation));
  expect(server.requests[1]?.bodyText).toMatch(
    /^\{"type":"response\.create","stream_id":"turnlog-[0-9a-f]{24}","model":"m","store":false,.*"previous_response_id":"resp_/,
  );
  await expectSound(workshop);
});

test("what is not stored is continued from as long as its connection is open", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  await say(conversation, engine, "two");
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  await say(conversation, engine, "three");
  await say(conversation, engine, "four");
  expect(await shapesOf(conversation)).toEqual([
    "websocket full first-request",
    "websocket chained",
    "websocket full connection-closed",
    "websocket chained",
  ]);
  await expectSound(workshop);
  expect(server.requests.map(({ status, socket }) => [status, socket])).toEqual([
    [200, 0],
    [200, 0],
    [200, 1],
    [200, 1],
  ]);
});

test("no other engine, and no other process, continues from what ends with a connection", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const [first, second] = [engineOn(server, workshop), engineOn(server, workshop)];
  await say(conversation, first, "one");
  await say(conversation, second, "two");
  await say(conversation, first, "three");
  await say(conversation, first, "four");
  expect(await shapesOf(conversation)).toEqual([
    "websocket full first-request",
    "websocket full connection-closed",
    "websocket full connection-closed",
    "websocket chained",
  ]);
  expect(server.requests.every(({ status }) => status === 200)).toBe(true);
});

test("a fork sends everything once where its parent's connection alone holds the context, whether the parent moved on or not", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation: parent } = workshop;
  const engine = engineOn(server, workshop);
  await say(parent, engine, "one");
  const early = await parent.fork(-1);
  await say(parent, engine, "two");
  const late = await parent.fork(-1);
  for (const fork of [early, late]) for (const text of ["three", "four"]) await say(fork, engine, text);
  for (const fork of [early, late])
    expect(await shapesOf(fork)).toEqual(["websocket full inherited", "websocket chained"]);
  expect(new Set(server.requests.map(({ status, socket }) => `${status} on ${socket}`))).toEqual(new Set(["200 on 0"]));
});

test("what is stored is continued from on every connection, and over HTTP", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  await say(conversation, engineOn(server, workshop, { store: true }), "one");
  await say(conversation, engineOn(server, workshop, { store: true }), "two");
  await say(conversation, engineOn(server, workshop, { store: true, transport: "json" }), "three");
  expect(await shapesOf(conversation)).toEqual(["websocket full first-request", "websocket chained", "json chained"]);
});

test("conversations share a connection, a lane each, and 32 of them have one", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop);
  const conversations = Array.from({ length: 40 }, (_, n) => workshop.store.conversation(`cnv_many_${n}`));
  for (const text of ["one", "two"])
    await Promise.all(conversations.map((conversation) => say(conversation, engine, text)));
  const sockets = Map.groupBy(server.requests, ({ socket }) => socket);
  expect([...sockets.values()].map(({ length }) => length)).toEqual([64, 16]);
  for (const conversation of conversations)
    expect(await shapesOf(conversation)).toEqual(["websocket full first-request", "websocket chained"]);
});

test("16 requests are on their way on a connection, and the next waits", async () => {
  const held = Promise.withResolvers();
  const begun: number[] = [];
  const server = await startServer({
    async answer({ request }) {
      begun.push(request);
      // The first tells that there are lanes.
      if (request > 0) await held.promise;
      return { output: [message("done")] };
    },
  });
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop);
  const conversations = Array.from({ length: 18 }, (_, n) => workshop.store.conversation(`cnv_many_${n}`));
  const [first, ...others] = conversations;
  if (first === undefined) throw new Error("there are 18");
  await say(first, engine, "one");
  const said = others.map((conversation) => say(conversation, engine, "one"));
  await expect.poll(() => server.requests.length).toBe(17);
  expect(begun.length).toBe(17);
  held.resolve(null);
  await Promise.all(said);
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual(
    Array.from({ length: 18 }, () => [0, 200]),
  );
});

test("a server that takes fewer lanes gets no more of them, and the next conversation has another connection", async () => {
  const lanes = new Map<number | null, Set<string>>();
  const maxLanes = 2;
  const error = {
    type: "invalid_request_error",
    code: "websocket_stream_limit_reached",
    message: "no",
    param: "stream_id",
  };
  const full = { kind: "answer", status: 400, body: { error } } as const;
  const server = await startServer({
    faults({ socket = null, body }) {
      const name = isJsonObject(body) && typeof body["stream_id"] === "string" ? body["stream_id"] : "";
      const known = lanes.get(socket) ?? new Set();
      lanes.set(socket, known);
      if (known.size === maxLanes && !known.has(name)) return full;
      known.add(name);
      return undefined;
    },
  });
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop);
  const conversations = Array.from({ length: 3 }, (_, n) => workshop.store.conversation(`cnv_many_${n}`));
  for (const text of ["one", "two"]) for (const conversation of conversations) await say(conversation, engine, text);
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([
    [0, 200],
    [0, 200],
    [0, 400],
    [1, 200],
    [0, 200],
    [0, 200],
    [1, 200],
  ]);
  for (const conversation of conversations) expect((await shapesOf(conversation)).at(-1)).toBe("websocket chained");
});

test("an endpoint that knows no lanes has a connection for each conversation, and is remembered", async () => {
  const server = await startServer({ webSocket: { lanes: "none" } });
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop);
  const [one, other] = ["cnv_one", "cnv_other"].map((id) => workshop.store.conversation(id));
  if (one === undefined || other === undefined) throw new Error("there are two");
  await say(one, engine, "one");
  await Promise.all([say(one, engine, "two"), say(other, engine, "a")]);
  await Promise.all([say(one, engine, "three"), say(other, engine, "b")]);
  expect(server.requests.map(({ status }) => status)).toEqual([400, 200, 200, 200, 200, 200]);
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(2);
  expect((await shapesOf(other)).at(-1)).toBe("websocket chained");
  expect(dataOf(await eventsOf(one), "CapabilityLearned")).toMatchObject([{ capability: "lanes", value: false }]);
});

test("16 conversations have a connection at once there, and the next waits for one of them", async () => {
  const held = Promise.withResolvers();
  const server = await startServer({
    webSocket: { lanes: "none" },
    async answer() {
      await held.promise;
      return { output: [message("done")] };
    },
  });
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop, { capabilities: { lanes: false } });
  const said = Array.from({ length: 18 }, (_, n) => say(workshop.store.conversation(`cnv_many_${n}`), engine, "one"));
  await expect.poll(() => server.requests.length, { timeout: 20_000 }).toBe(16);
  expect(server.sockets.open).toBe(16);
  held.resolve(null);
  await Promise.all(said);
  // None is opened in vain.
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual(
    Array.from({ length: 18 }, (_, n) => [n, 200]),
  );
});

test("so has one that does as if it did not see them", async () => {
  const server = await startServer({ webSocket: { lanes: "ignored" } });
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop);
  const conversations = ["cnv_one", "cnv_other", "cnv_third"].map((id) => workshop.store.conversation(id));
  for (const text of ["one", "two"])
    await Promise.all(conversations.map((conversation) => say(conversation, engine, text)));
  expect(server.requests.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
  for (const conversation of conversations)
    expect(await shapesOf(conversation)).toEqual(["websocket full first-request", "websocket chained"]);
});

test("what a layer asks beside the conversation goes over HTTP, and takes nothing away", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const asking = defineMiddleware({ name: "asking", version: "1.0.0" }, (next) => async (turn, ctx) => {
    await ctx.infer({ input: "Is this polite?" });
    return next(turn);
  });
  const engine = engineOn(server, workshop, { config: { middleware: [asking] } });
  await say(conversation, engine, "one");
  await say(conversation, engine, "two");
  expect(await shapesOf(conversation)).toEqual([
    "sse full aside",
    "websocket full first-request",
    "sse full aside",
    "websocket chained",
  ]);
  await expectSound(workshop);
});

test("an engine that is disposed of closes its connections", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop);
  await say(workshop.conversation, engine, "one");
  expect(server.sockets.open).toBe(1);
  await engine[Symbol.asyncDispose]();
  await expect.poll(() => server.sockets.open).toBe(0);
});

test.each([
  [{ background: true }, /background cannot go with transport "websocket".*give transport "sse"/],
  [{ extraBody: { stream_id: "mine" } }, /extraBody\.stream_id is not a setting/],
] as const)("refuses what no frame can say: %j", (options, message) => {
  const make = () => openaiResponses({ model: "m", apiKey: "key", transport: "websocket", ...options });
  expect(make).toThrow(message);
});
