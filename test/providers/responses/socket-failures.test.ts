import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { functionCall, message, reasoning } from "../../../packages/reference-server/src/server.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import {
  engineOn,
  expectSound,
  rebuiltBodies,
  say,
  shapesOf,
  startServer,
} from "../../support/providers/over-socket.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

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
    expect(learned[0]?.reason).toMatch(/did not open a WebSocket: HTTP 426/);
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

  test("or that there is none, and then turnlog does not look", async () => {
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

  test.each(cases)("%s: the request is not sent again, and what came is recorded", async (_, fault, kind) => {
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
