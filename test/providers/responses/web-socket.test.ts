import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { isJsonObject } from "../../../src/base/json.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { EngineConfig } from "../../../src/engine/stack/create-engine.ts";
import type { Engine } from "../../../src/engine/stack/engine.ts";
import { defineMiddleware } from "../../../src/engine/stack/middleware.ts";
import { tool } from "../../../src/engine/stack/tool.ts";
import {
  type OpenaiResponsesOptions,
  openaiResponses,
  responsesProvider,
} from "../../../src/providers/responses/openai-responses.ts";
import {
  functionCall,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  reasoning,
  startReferenceServer,
} from "../../../src/reference-server/server.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, type Workshop } from "../../support/workshop.ts";

async function startServer(options: ReferenceServerOptions = {}): Promise<ReferenceServer> {
  const server = await startReferenceServer(options);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function engineOn(
  { baseUrl }: ReferenceServer,
  workshop: Workshop,
  { config = {}, ...options }: Partial<OpenaiResponsesOptions> & { readonly config?: Partial<EngineConfig> } = {},
): Engine {
  const provider = openaiResponses({
    ...{ model: "m", baseURL: baseUrl, apiKey: "key", transport: "websocket", store: false },
    ...options,
  });
  const engine = workshop.engine({ provider, ...config });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return engine;
}

async function say(conversation: Conversation, engine: Engine, text: string): Promise<string> {
  await conversation.append(text);
  return (await conversation.run(engine)).text;
}

const decisionsOf = async (conversation: Conversation) =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision);

/** What each request was: how it was sent, from what, and why. */
const shapesOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await decisionsOf(conversation)).map(({ transport, strategy, reason }) =>
    [transport, strategy, reason].filter((part) => part !== null).join(" "),
  );

/** The bodies that the log gives again, in the order of the requests. */
async function rebuiltBodies(conversation: Conversation): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (const { event, revision } of await eventsOf(conversation)) {
    if (event.type === "InferenceRequested") bodies.push((await conversation.request(revision)).bodyText);
  }
  return bodies;
}

/** Every request is planned and made again as it was. */
async function expectSound({ store, conversation }: Workshop): Promise<void> {
  expect(await replayed(store, conversation)).toMatchObject({ difference: null });
}

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

describe("a refused continuation", () => {
  const refused = { kind: "answer", status: 500, body: { error: { message: "no", type: "server_error" } } } as const;

  test("is not continued from again: the server has let go of it", async () => {
    const server = await startServer();
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop);
    await say(conversation, engine, "one");
    server.inject(refused);
    expect(await rejectionOf(say(conversation, engine, "two"))).toMatchObject({ kind: "server-error" });
    await say(conversation, engine, "three");
    expect(await shapesOf(conversation)).toEqual([
      "websocket full first-request",
      "websocket chained",
      "websocket full refused",
    ]);
    await expectSound(workshop);
    expect(dataOf(await eventsOf(conversation), "AnchorInvalidated")).toMatchObject([{ reason: "evicted" }]);
    expect(server.requests.map(({ status }) => status)).toEqual([200, 500, 200]);
  });

  test.each(["documented", "bare", "flat"] as const)("for lost state is sent whole, once (%s)", async (errors) => {
    const server = await startServer({ webSocket: { errors } });
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop, { store: true });
    await say(conversation, engine, "one");
    for (const id of server.responseIds()) server.forget(id);
    server.sockets.cut();
    await expect.poll(() => server.sockets.open).toBe(0);
    await say(conversation, engine, "two");
    expect(await shapesOf(conversation)).toEqual([
      "websocket full first-request",
      "websocket chained",
      "websocket full refused",
    ]);
  });
});

describe("where there is no WebSocket", () => {
  test("the rest of the run goes over HTTP, and is recorded so", async () => {
    const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "seen" });
    const script = [{ output: [functionCall("look", "{}")] }, { output: [message("done")] }];
    const server = await startServer({ script });
    server.sockets.refuse(426);
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop, { store: true, config: { tools: [look] } });
    expect(await say(conversation, engine, "go")).toBe("done");
    expect(await shapesOf(conversation)).toEqual([
      "websocket full first-request",
      "sse full first-request",
      "sse chained",
    ]);
    await expectSound(workshop);
    expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toMatchObject([
      { kind: "transport-unavailable", outcome: "rejected", status: 426 },
    ]);
    expect(server.requests.map(({ bodyText }) => bodyText)).toEqual((await rebuiltBodies(conversation)).slice(1));
  });

  test("it is remembered: later runs, of this process and of others, go over HTTP at once", async () => {
    const server = await startServer();
    server.sockets.refuse(426);
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop, { store: true });
    await say(conversation, engine, "one");
    const learned = dataOf(await eventsOf(conversation), "CapabilityLearned");
    expect(learned).toMatchObject([{ capability: "websocket", value: false }]);
    expect(learned[0]?.reason).toMatch(/opens no WebSocket: HTTP 426/);
    await say(conversation, engine, "two");
    await say(workshop.store.conversation("cnv_other"), engine, "of the same engine");
    await say(conversation, engineOn(server, workshop, { store: true }), "of another process");
    expect((await shapesOf(conversation)).slice(2)).toEqual(["sse chained", "sse chained"]);
    expect(server.sockets.open).toBe(0);
    await expectSound(workshop);
  });

  test("unless the caller says that there is one: then each run looks", async () => {
    const server = await startServer();
    server.sockets.refuse(426, 426);
    const workshop = createWorkshop();
    const { conversation } = workshop;
    await say(conversation, engineOn(server, workshop, { store: true }), "one");
    const engine = engineOn(server, workshop, { store: true, capabilities: { websocket: true } });
    await say(conversation, engine, "two");
    await say(conversation, engine, "three");
    expect((await shapesOf(conversation)).slice(2)).toEqual(["websocket chained", "sse chained", "websocket chained"]);
    await expectSound(workshop);
  });

  test("or that there is none: then nobody looks", async () => {
    const server = await startServer();
    const workshop = createWorkshop();
    await say(workshop.conversation, engineOn(server, workshop, { capabilities: { websocket: false } }), "one");
    expect(await shapesOf(workshop.conversation)).toEqual(["sse full first-request"]);
    expect(server.sockets.open).toBe(0);
  });

  test("it is not learnt of a server that cannot be reached at all", async () => {
    const server = await startServer();
    server.sockets.refuse(503, 503, 503);
    server.inject(
      ...Array.from({ length: 3 }, () => ({ kind: "answer", status: 503, body: {}, headers: {} }) as const),
    );
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop);
    await rejectionOf(say(conversation, engine, "one"));
    expect(dataOf(await eventsOf(conversation), "CapabilityLearned")).toEqual([]);
    await say(conversation, engine, "two");
    expect((await shapesOf(conversation)).at(-1)).toBe("websocket full first-request");
  });

  test("nor one after three attempts, HTTP is taken", async () => {
    const server = await startServer();
    server.sockets.refuse(503, 500, 503);
    const workshop = createWorkshop();
    await say(workshop.conversation, engineOn(server, workshop), "go");
    expect(await shapesOf(workshop.conversation)).toEqual([
      "websocket full first-request",
      "websocket full first-request",
      "websocket full first-request",
      "sse full first-request",
    ]);
  });

  test("credentials that are refused are no reason to try another way", async () => {
    const server = await startServer();
    server.sockets.refuse(401);
    const workshop = createWorkshop();
    const failure = await rejectionOf(say(workshop.conversation, engineOn(server, workshop), "go"));
    expect(failure).toMatchObject({ kind: "authentication", cause: { status: 401 } });
  });
});

describe("an answer that does not come to its end", () => {
  const cases = [
    ["is cut off", { kind: "cut", afterBytes: 7_000 }, "stream-cut"],
    ["breaks off in a frame that is no JSON", { kind: "frame", data: '{"type', afterFrames: 6 }, "stream-cut"],
    ["breaks off in a binary frame", { kind: "frame", data: new Uint8Array([1, 2]), afterFrames: 6 }, "stream-cut"],
    [
      "is told to have failed",
      { kind: "stream-error", error: { code: "server_error", message: "no" }, isNested: true },
      "server-error",
    ],
  ] as const;

  test.each(cases)("%s: nobody asks again, and what came is on record", async (_, fault, kind) => {
    const server = await startServer({
      answer: () => ({ output: [reasoning({ summary: "thought" }), message("word ".repeat(400))] }),
    });
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop);
    server.inject(fault);
    expect(await rejectionOf(say(conversation, engine, "go"))).toMatchObject({ code: "run-failed", kind });
    expect(server.requests.length).toBe(1);
    const [failed] = dataOf(await eventsOf(conversation), "InferenceFailed");
    expect(failed).toMatchObject({ kind, outcome: "unknown" });
    await say(conversation, engine, "again");
    expect(server.requests.map(({ status }) => status).at(-1)).toBe(200);
  });

  test("a frame is larger than an answer may be", async () => {
    const server = await startServer({ answer: () => ({ output: [message("long ".repeat(4_000))] }) });
    const workshop = createWorkshop();
    const engine = engineOn(server, workshop, { limits: { bodyBytes: 10_000 } });
    expect(await rejectionOf(say(workshop.conversation, engine, "go"))).toMatchObject({ kind: "body-too-large" });
  });

  test("a server that says nothing more is waited for no longer than a pause may last", async () => {
    const server = await startServer();
    const workshop = createWorkshop();
    const held = Promise.withResolvers();
    onTestFinished(() => held.resolve(null));
    server.inject({ kind: "delay", until: held.promise, afterBytes: 2_000 });
    const engine = engineOn(server, workshop, { limits: { idleMs: 20 } });
    expect(await rejectionOf(say(workshop.conversation, engine, "go"))).toMatchObject({ kind: "answer-stalled" });
  });

  test("a run that is aborted waits for nothing, and its connection is left", async () => {
    const server = await startServer();
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop);
    const held = Promise.withResolvers();
    onTestFinished(() => held.resolve(null));
    server.inject({ kind: "delay", until: held.promise });
    const controller = new AbortController();
    await conversation.append("go");
    const run = conversation.run(engine, { signal: controller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort();
    await rejectionOf(run);
    await say(conversation, engine, "now");
    expect(server.requests.map(({ socket }) => socket)).toEqual([0, 1]);
  });
});

test("a connection that the server ends for its age is left for another, and nobody is told", async () => {
  let now = 0;
  const server = await startServer({ now: () => now });
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  now = 60 * 60_000;
  await say(conversation, engine, "two");
  expect(await shapesOf(conversation)).toEqual([
    "websocket full first-request",
    "websocket chained",
    "websocket full connection-closed",
  ]);
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([
    [0, 200],
    [0, 400],
    [1, 200],
  ]);
});

describe("a connection that grows old", () => {
  const minute = 60_000;

  /** Server and provider on one clock. */
  async function startAt(clock: { now: number }, options: ReferenceServerOptions = {}) {
    const server = await startServer({ now: () => clock.now, ...options });
    const workshop = createWorkshop();
    const settings = {
      model: "m",
      apiKey: "key",
      baseURL: server.baseUrl,
      store: false,
      transport: "websocket",
    } as const;
    const provider = responsesProvider(settings, "authorization", { now: () => clock.now });
    const engine = workshop.engine({ provider });
    onTestFinished(() => engine[Symbol.asyncDispose]());
    return { server, workshop, engine };
  }

  test("is left between two requests before the server ends it, and planned around", async () => {
    const clock = { now: 0 };
    const { server, workshop, engine } = await startAt(clock);
    const { conversation } = workshop;
    await say(conversation, engine, "one");
    // An answer may take ten minutes: what is sent now is answered before the hour is over.
    clock.now = 50 * minute - 1;
    await say(conversation, engine, "two");
    clock.now = 50 * minute;
    await say(conversation, engine, "three");
    await say(conversation, engine, "four");
    expect(await shapesOf(conversation)).toEqual([
      "websocket full first-request",
      "websocket chained",
      "websocket full connection-closed",
      "websocket chained",
    ]);
    expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([
      [0, 200],
      [0, 200],
      [1, 200],
      [1, 200],
    ]);
    await expect.poll(() => server.sockets.open).toBe(1);
    await expectSound(workshop);
  });

  test("is left when the answer that is on its way has come, and not before", async () => {
    const clock = { now: 0 };
    const held = Promise.withResolvers();
    const { server, workshop, engine } = await startAt(clock, {
      async answer({ request }) {
        if (request === 1) await held.promise;
        return { output: [message(`answer ${request}`)] };
      },
    });
    const [one, other] = ["cnv_one", "cnv_other"].map((id) => workshop.store.conversation(id));
    if (one === undefined || other === undefined) throw new Error("there are two");
    await say(one, engine, "one");
    const late = say(one, engine, "two");
    await expect.poll(() => server.requests.length).toBe(2);
    clock.now = 55 * minute;
    await say(other, engine, "meanwhile");
    expect(server.sockets.open).toBe(2);
    held.resolve(null);
    expect(await late).toBe("answer 1");
    await expect.poll(() => server.sockets.open).toBe(1);
    expect(server.requests.map(({ socket }) => socket)).toEqual([0, 0, 1]);
  });
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
  [{ extraBody: { stream_id: "mine" } }, /extraBody\.stream_id is no setting/],
] as const)("refuses what no frame can say: %j", (options, message) => {
  const make = () => openaiResponses({ model: "m", apiKey: "key", transport: "websocket", ...options });
  expect(make).toThrow(message);
});
