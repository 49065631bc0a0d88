import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  functionCall,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

async function startServer(options: ReferenceServerOptions = {}): Promise<ReferenceServer> {
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)] }),
    ...options,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function talkTo(server: ReferenceServer, config: Partial<EngineConfig> = {}) {
  const workshop = createWorkshop();
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" });
  const engine = workshop.engine({ provider, mode: "conversation", sleep: async () => undefined, ...config });
  const say = async (text: string, to = workshop.conversation) => {
    await to.append(text);
    return (await to.run(engine)).text;
  };
  return { ...workshop, asks: engine, provider, say };
}

/** What the server was asked, in a word each: `POST responses`, `DELETE item`. */
const callsOf = ({ requests }: ReferenceServer, from = 0): readonly string[] =>
  requests.slice(from).map(({ method, path, status }) => {
    const [, , what, , items, item] = path.split("?")[0]?.split("/") ?? [];
    const name = item !== undefined ? "item" : (items ?? what);
    return `${method} ${name}${status === 200 ? "" : ` ${status}`}`;
  });

const inputs = ({ requests }: ReferenceServer): readonly number[] =>
  requests.flatMap(({ path, body }) =>
    path === "/v1/responses" && isJsonObject(body) && Array.isArray(body["input"]) ? [body["input"].length] : [],
  );

const objectIn = ({ requests }: ReferenceServer): string => {
  const body = requests.findLast(({ path }) => path === "/v1/responses")?.body;
  return isJsonObject(body) && typeof body["conversation"] === "string" ? body["conversation"] : "";
};

test("an object is made once, and each request adds to it what is new", async () => {
  const server = await startServer();
  const { say, conversation, store } = talkTo(server);
  for (const text of ["one", "two", "three"]) await say(text);
  expect(callsOf(server)).toEqual(["POST conversations", "POST responses", "POST responses", "POST responses"]);
  expect(inputs(server)).toEqual([1, 1, 1]);
  expect(server.conversation(objectIn(server))).toHaveLength(9);
  expect(server.reading(3)?.items).toHaveLength(7);
  const decided = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision);
  expect(decided.map(({ strategy, anchor }) => [strategy, anchor?.kind, anchor?.length])).toEqual([
    ["full", "conversation", 0],
    ["chained", "conversation", 3],
    ["chained", "conversation", 6],
  ]);
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("a tool's result is added with the next request", async () => {
  const server = await startServer({
    script: [{ output: [functionCall("look", "{}", { callId: "call_1" })] }, { output: [message("seen")] }],
  });
  const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "nothing" });
  const { say } = talkTo(server, { tools: [look] });
  expect(await say("look")).toBe("seen");
  expect(callsOf(server)).toEqual(["POST conversations", "POST responses", "POST responses"]);
  expect(inputs(server)).toEqual([1, 1]);
});

test("what an edit made useless is deleted, the newest first, durable before the first call", async () => {
  const server = await startServer();
  let hidden = "";
  const hide = defineMiddleware(
    { name: "hide", version: "1.0.0" },
    (next) => (turn) => next(turn.filter(({ text }) => text !== hidden)),
  );
  const { say, conversation, store, watched } = talkTo(server, { middleware: [hide] });
  for (const text of ["one", "two", "three"]) await say(text);
  const before = server.requests.length;
  const object = objectIn(server);
  const items = server.conversation(object)?.map(({ id }) => id) ?? [];
  hidden = "two";
  await say("four");
  expect(callsOf(server, before)).toEqual([
    "GET items",
    ...Array.from({ length: 6 }, () => "DELETE item"),
    "POST responses",
  ]);
  expect(objectIn(server)).toBe(object);
  const [cut] = dataOf(await eventsOf(conversation), "ServerConversationChanged").slice(1);
  expect(cut).toMatchObject({ change: "cut", keeps: 1, items: items.slice(3).toReversed() });
  const deleted = server.requests.slice(before).filter(({ method }) => method === "DELETE");
  expect(deleted.map(({ path }) => path.split("/").at(-1))).toEqual(items.slice(3).toReversed());
  expect(watched.written).toContainEqual(["EffectFinished", "ServerConversationChanged", "EffectStarted"]);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(3 + 2 + 3 + 1);
  const last = dataOf(await eventsOf(conversation), "InferenceRequested").at(-1)?.decision;
  expect(last).toMatchObject({ strategy: "rebased", rejected: { divergence: { change: "removed" } } });
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("where more than twenty calls would be needed, a new object is made", async () => {
  const server = await startServer();
  let isShort = false;
  const shorten = defineMiddleware(
    { name: "shorten", version: "1.0.0" },
    (next) => (turn) => next(isShort ? turn.remove(...turn.blocks.slice(3, -1)) : turn),
  );
  const { say } = talkTo(server, { middleware: [shorten] });
  for (let n = 0; n < 9; n += 1) await say(`text ${n}`);
  const [before, object] = [server.requests.length, objectIn(server)];
  isShort = true;
  await say("last");
  expect(callsOf(server, before)).toEqual(["GET items", "POST conversations", "POST responses"]);
  expect(objectIn(server)).not.toBe(object);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(4);
});

test("after an answer that was lost the items are listed, and what came of it is deleted", async () => {
  const server = await startServer();
  const { say, conversation, store } = talkTo(server);
  await say("one");
  server.inject({ kind: "lost-acknowledgement" });
  await rejectionOf(say("two"));
  const before = server.requests.length;
  await say("three");
  expect(callsOf(server, before)).toEqual(["GET items", "DELETE item", "DELETE item", "DELETE item", "POST responses"]);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(5);
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("an answer that was lost and is not there yet may still come: a new object is made", async () => {
  const server = await startServer();
  const { say, conversation, store } = talkTo(server);
  await say("one");
  const [before, object] = [server.requests.length, objectIn(server)];
  server.inject({ kind: "cut", afterBytes: 0 });
  await rejectionOf(say("two"));
  await say("three");
  expect(callsOf(server, before + 1)).toEqual(["GET items", "POST conversations", "POST responses"]);
  expect(objectIn(server)).not.toBe(object);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(5);
  await say("four");
  expect(callsOf(server).at(-1)).toBe("POST responses");
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("so it is where the first answer of an object was lost, although the object holds nothing yet", async () => {
  const server = await startServer();
  const { say } = talkTo(server);
  server.inject({ kind: "cut", afterBytes: 0 });
  await rejectionOf(say("one"));
  const [before, object] = [server.requests.length, objectIn(server)];
  await say("two");
  expect(callsOf(server, before)).toEqual(["GET items", "POST conversations", "POST responses"]);
  expect(objectIn(server)).not.toBe(object);
});

test("a fork makes an object of its own", async () => {
  const server = await startServer();
  const { say, conversation } = talkTo(server);
  await say("one");
  const parents = objectIn(server);
  const fork = await conversation.fork();
  await say("two", fork);
  expect(objectIn(server)).not.toBe(parents);
  expect(server.conversation(parents)).toHaveLength(3);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(4);
  await say("three");
  expect(objectIn(server)).toBe(parents);
});

test("an object that is busy is waited for, and one that is gone is made anew", async () => {
  const server = await startServer();
  const { say, conversation } = talkTo(server);
  await say("one");
  const locked = {
    message: "Another process is currently operating on this conversation.",
    code: "conversation_locked",
  };
  const error = { type: "invalid_request_error", param: "conversation", ...locked };
  server.inject({ kind: "answer", status: 400, body: { error } });
  await say("two");
  const first = objectIn(server);
  expect(callsOf(server).slice(-2)).toEqual(["POST responses 400", "POST responses"]);
  await fetch(`${server.baseUrl}/conversations/${first}`, { method: "DELETE" });
  const before = server.requests.length;
  await say("three");
  expect(callsOf(server, before)).toEqual(["POST responses 404", "POST conversations", "POST responses"]);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(7);
  expect(dataOf(await eventsOf(conversation), "AnchorInvalidated")).toMatchObject([{ anchor: { id: first } }]);
});

test("a busy item is retried as often as the policy says, and the next run continues from what is there", async () => {
  const server = await startServer();
  let [hidden, isBusy, refused] = ["", false, 0];
  const hide = defineMiddleware(
    { name: "hide", version: "1.0.0" },
    (next) => (turn) => next(turn.filter(({ text }) => text !== hidden)),
  );
  const body = { error: { type: "invalid_request_error", code: "conversation_locked", param: null, message: "busy" } };
  const provider = openaiResponses({
    ...{ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" },
    fetch: async (address, init) => {
      if (!isBusy || init?.method?.toUpperCase() !== "DELETE") return fetch(address, init);
      refused += 1;
      return Response.json(body, { status: 400 });
    },
  });
  const { say } = talkTo(server, { provider, middleware: [hide], retry: { maxRetries: 2 } });
  await say("one");
  await say("two");
  const object = objectIn(server);
  [hidden, isBusy] = ["two", true];
  expect(await rejectionOf(say("three"))).toMatchObject({ cause: { kind: "conversation-locked" } });
  expect(refused).toBe(3);
  isBusy = false;
  await say("four");
  expect(objectIn(server)).toBe(object);
});

test("modes change in mid-conversation, and each continues from what it can", async () => {
  const server = await startServer();
  const { conversation, asks, store } = talkTo(server);
  const modes = ["conversation", "chained", "conversation", "stateless", "conversation"] as const;
  for (const mode of modes) {
    await conversation.append(mode);
    await conversation.run(asks, { mode });
  }
  const decided = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision);
  expect(decided.map(({ strategy, anchor }) => [strategy, anchor?.kind ?? null])).toEqual([
    ["full", "conversation"],
    ["chained", "response"],
    ["rebased", "conversation"],
    ["full", null],
    ["rebased", "conversation"],
  ]);
  for (const [index, request] of server.requests.filter(({ path }) => path === "/v1/responses").entries())
    expect(server.reading(request.index)?.items).toHaveLength(3 * index + 1);
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("an endpoint without conversations is sent whole Turns, and remembered", async () => {
  const server = await startServer({ hasConversations: false });
  const { say, conversation } = talkTo(server);
  await say("one");
  await say("two");
  expect(callsOf(server)).toEqual(["POST conversations 404", "POST responses", "POST responses"]);
  expect(dataOf(await eventsOf(conversation), "CapabilityLearned")).toMatchObject([
    { capability: "conversations", value: false },
  ]);
});

test("an endpoint that does as if it did not see the object is found out, and sent whole Turns from then on", async () => {
  const server = await startServer();
  const blind: typeof fetch = async (address, init) =>
    typeof init?.body === "string"
      ? fetch(address, { ...init, body: init.body.replace(/"conversation":"\w+",?/, "") })
      : fetch(address, init);
  const provider = openaiResponses({
    ...{ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" },
    fetch: blind,
  });
  const { say, conversation } = talkTo(server, { provider });
  await say("one");
  expect(dataOf(await eventsOf(conversation), "CapabilityLearned")).toMatchObject([
    { capability: "conversations", value: false },
  ]);
  await say("two");
  expect(callsOf(server)).toEqual(["POST conversations", "POST responses", "POST responses"]);
  expect(inputs(server)).toEqual([1, 4]);
});

test.each<readonly [string, Partial<EngineConfig>]>([
  ["says that there are conversations", {}],
  ["wants no other way", { chain: { onRefused: "throw" } }],
])("a caller who %s gets an error that the endpoint has none, and nothing is learnt", async (_, config) => {
  const server = await startServer({ hasConversations: false });
  const capabilities = config.chain === undefined ? { conversations: true } : {};
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", capabilities });
  const { say, conversation } = talkTo(server, { provider, ...config });
  expect(await rejectionOf(say("one"))).toMatchObject({ code: "run-failed", cause: { status: 404 } });
  expect(callsOf(server)).toEqual(["POST conversations 404"]);
  expect(dataOf(await eventsOf(conversation), "CapabilityLearned")).toEqual([]);
});

test("conversation objects are refused where there are none, and where nothing is stored", () => {
  const { engine } = createWorkshop();
  const made = { model: "m", apiKey: "key" };
  for (const provider of [
    openaiResponses({ ...made, store: false }),
    openaiResponses({ ...made, capabilities: { conversations: false } }),
  ])
    expect(() => engine({ provider, mode: "conversation" })).toThrow(
      expect.objectContaining({ code: "mode-unsupported" }),
    );
});
