import { describe, expect, onTestFinished, test } from "vitest";
import { cannedError, functionCall, message } from "../../../packages/reference-server/src/server.ts";
import { messageOf } from "../../../src/base/error-message.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { toolResult } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { engineOn, expectSound, say, startServer } from "../../support/providers/over-socket.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const strategiesOf = async (conversation: Conversation): Promise<readonly string[]> =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.strategy);

test("the first request of a new conversation continues from its settings, and brings what is new", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop, { instructions: "Be brief." });
  expect(await conversation.warmUp(engine)).toMatchObject({ status: "warm", failure: null });
  expect(server.requests.map(({ body }) => body)).toMatchObject([
    { type: "response.create", generate: false, instructions: "Be brief.", input: [] },
  ]);
  await say(conversation, engine, "one");
  const [warmed, asked] = server.requests;
  expect(asked).toMatchObject({ status: 200, socket: 0, body: { previous_response_id: warmed?.responseId } });
  expect(await strategiesOf(conversation)).toEqual(["chained"]);
  await expectSound(workshop);
});

test("what ended with a connection is had again on the next one, before anybody asks", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  const { status, inferenceId } = await conversation.warmUp(engine);
  expect(status).toBe("warm");
  await say(conversation, engine, "two");
  expect(await strategiesOf(conversation)).toEqual(["full", "chained"]);
  const { responseId = "" } = server.requests.at(-1) ?? {};
  expect(server.context(responseId)?.map((item) => item["role"])).toEqual(["user", "assistant", "user", "assistant"]);
  const events = await eventsOf(conversation);
  expect(dataOf(events, "WarmUpRequested")).toMatchObject([
    { inferenceId, input: { blocks: 2 }, decision: { reason: "warm-up" } },
  ]);
  expect(dataOf(events, "WarmUpAnswered")).toMatchObject([{ inferenceId, output: [] }]);
  const at = events.find(({ event }) => event.type === "WarmUpRequested")?.revision ?? -1;
  expect((await conversation.request(at)).bodyText).toBe(server.requests[1]?.bodyText);
  await expectSound(workshop);
});

test("nothing is sent where the next request can continue as it is", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  expect(await conversation.warmUp(engine)).toEqual({ status: "warm", inferenceId: null, failure: null });
  const stored = engineOn(server, workshop, { store: true });
  const other = workshop.store.conversation("cnv_stored");
  await say(other, stored, "one");
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  expect(await other.warmUp(stored)).toMatchObject({ status: "warm", inferenceId: null });
  expect(server.sockets.open).toBe(1);
  expect(server.requests.length).toBe(2);
});

test("what answers a call later is read: nothing is said for it before", async () => {
  const answers = [[functionCall("approve", "{}", { callId: "call_1" })], [message("Thanks.")]];
  const server = await startServer({ answer: ({ request }) => ({ output: answers[request] ?? [] }) });
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await conversation.append("Buy it.");
  expect((await conversation.run(engine)).status).toBe("calls-open");
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  expect(await conversation.warmUp(engine)).toEqual({ status: "connected", inferenceId: null, failure: null });
  expect(server.sockets.open).toBe(1);
  await conversation.append(toolResult({ callId: "call_1", output: "yes" }));
  await conversation.run(engine);
  const { responseId = "" } = server.requests.at(-1) ?? {};
  expect(server.context(responseId)?.map((item) => item["output"] ?? item["type"])).toEqual([
    ...["message", "function_call", "yes", "message"],
  ]);
  await expectSound(workshop);
});

test("a run that sends whole Turns finds its connection open, and nothing else", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop, { config: { mode: "stateless" } });
  const others = ["cnv_one", "cnv_two"].map((id) => workshop.store.conversation(id));
  for (const conversation of others)
    expect(await conversation.warmUp(engine)).toEqual({ status: "connected", inferenceId: null, failure: null });
  expect(server.requests.length).toBe(0);
  expect(server.sockets.open).toBe(1);
  for (const conversation of others) await say(conversation, engine, "one");
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([
    [0, 200],
    [0, 200],
  ]);
});

test("what layers keep from the model is not sent for it", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const redact = defineMiddleware({ name: "redact", version: "1.0.0" }, (next) => async (turn) => {
    const users = turn.blocks.filter(({ kind }) => kind === "user");
    return next(turn.replaceEach(users, (block) => block.withText("a user said something")));
  });
  const engine = engineOn(server, workshop, { config: { middleware: [redact] } });
  await say(conversation, engine, "my secret");
  await conversation.append("another secret");
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  expect(await conversation.warmUp(engine)).toMatchObject({ status: "warm" });
  await conversation.run(engine);
  expect(server.requests.length).toBe(3);
  for (const { bodyText } of server.requests) expect(bodyText).not.toContain("secret");
  expect(await strategiesOf(conversation)).toEqual(["full", "chained"]);
  await expectSound(workshop);
});

test("a fork is warmed up with what it has inherited, and what both have recorded verifies", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation, store } = workshop;
  const engine = engineOn(server, workshop);
  await conversation.warmUp(engine);
  await say(conversation, engine, "one");
  const fork = await conversation.fork();
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  expect(await fork.warmUp(engine)).toMatchObject({ status: "warm" });
  await say(fork, engine, "two");
  expect(await strategiesOf(fork)).toEqual(["chained"]);
  expect(await verification(store.events, { codecs: store.codecs })).toMatchObject({
    ...{ isSound: true, streams: 2, requests: 4, problems: [] },
  });
});

test("a warm-up is no answer whose prompt the next request could give up, also in a process that begins with a snapshot", async () => {
  const server = await startServer();
  const events = createMemoryStore();
  const workshop = createWorkshop({ events });
  const { id } = workshop.conversation;
  await workshop.conversation.warmUp(engineOn(server, workshop));
  await takeSnapshots(events, `conversation-${id}`, { events: 1, edits: 1 });
  const conversation = new TurnlogStore(events).conversation(id);
  await say(conversation, engineOn(server, workshop, { instructions: "Be brief." }), "one");
  const [request] = dataOf(await eventsOf(conversation), "InferenceRequested");
  expect(request?.decision.cache ?? null).toBeNull();
  expect((await replayFolds(conversation)).difference).toBeNull();
});

test("an edit behind it has everything sent, as behind every other context", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  await say(conversation, engine, "two");
  await conversation.revertToExchange(0);
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  await conversation.warmUp(engine);
  await say(conversation, engine, "three");
  expect((await strategiesOf(conversation)).at(-1)).toBe("full");
  const { responseId = "" } = server.requests.at(-1) ?? {};
  expect(JSON.stringify(server.context(responseId))).not.toContain("two");
  await expectSound(workshop);
});

describe("a warm-up that fails", () => {
  test("is reported and recorded, and the next run does without", async () => {
    const server = await startServer();
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop);
    server.inject(cannedError("rate-limit"));
    expect(await conversation.warmUp(engine)).toMatchObject({
      status: "unavailable",
      failure: { kind: "rate-limited" },
    });
    await say(conversation, engine, "one");
    expect(dataOf(await eventsOf(conversation), "WarmUpFailed")).toMatchObject([{ kind: "rate-limited", status: 429 }]);
    expect(await strategiesOf(conversation)).toEqual(["full"]);
    await expectSound(workshop);
  });

  test("for the want of WebSockets says so", async () => {
    const server = await startServer({ webSocket: { refused: 426 } });
    const workshop = createWorkshop();
    const told = await workshop.conversation.warmUp(engineOn(server, workshop));
    expect(told).toMatchObject({
      status: "unavailable",
      inferenceId: null,
      failure: { kind: "transport-unavailable" },
    });
  });

  test("for the name of its lane is sent once more, without it", async () => {
    const server = await startServer({ webSocket: { lanes: "none" } });
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const engine = engineOn(server, workshop);
    expect(await conversation.warmUp(engine)).toMatchObject({ status: "warm" });
    await say(conversation, engine, "one");
    expect(server.requests.map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(await strategiesOf(conversation)).toEqual(["chained"]);
    await expectSound(workshop);
  });

  test("is aborted like a run", async () => {
    const server = await startServer();
    const workshop = createWorkshop();
    const held = Promise.withResolvers();
    onTestFinished(() => held.resolve(null));
    server.inject({ kind: "delay", until: held.promise });
    const controller = new AbortController();
    const warming = workshop.conversation.warmUp(engineOn(server, workshop), { signal: controller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort();
    expect(await warming).toMatchObject({ status: "unavailable", failure: { kind: "aborted" } });
  });
});

test("an endpoint that answers it all the same is not continued from there", async () => {
  const server = await startServer({ webSocket: { generates: "always" } });
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  server.sockets.cut();
  await expect.poll(() => server.sockets.open).toBe(0);
  expect(await conversation.warmUp(engine)).toMatchObject({ status: "connected", failure: null });
  await say(conversation, engine, "two");
  expect(await strategiesOf(conversation)).toEqual(["full", "full"]);
  const { responseId = "" } = server.requests.at(-1) ?? {};
  expect(server.context(responseId)?.length).toBe(4);
  await expectSound(workshop);
});

test("what it costs counts as what the conversation has used", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop, { instructions: "Be brief. ".repeat(100) });
  await conversation.warmUp(engine);
  const [answered] = dataOf(await eventsOf(conversation), "WarmUpAnswered");
  expect(answered?.usage?.inputTokens).toBeGreaterThan(0);
  await conversation.append("one");
  const failure = await rejectionOf(conversation.run(engine, { budget: { maxTotalTokens: 10 } }));
  expect(failure).toMatchObject({ code: "run-failed", kind: "budget-exceeded" });
  expect(server.requests.length).toBe(1);
});

test("is refused where there is nothing to warm", async () => {
  const server = await startServer();
  const workshop = createWorkshop();
  const engine = engineOn(server, workshop, { transport: "sse" });
  const refusal = await rejectionOf(workshop.conversation.warmUp(engine));
  expect(messageOf(refusal)).toMatch(/the provider openai-responses does not keep connections.*transport: "websocket"/);
});
