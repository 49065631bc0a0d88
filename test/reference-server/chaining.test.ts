import { expect, test } from "vitest";
import { functionCall, message, readItems, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import {
  accepted,
  create,
  idOf,
  outputOf,
  refusedWith,
  toolOutput,
  user,
} from "../support/reference-server/wire-client.ts";

test("reads previous input, previous output and new input, in that order", async () => {
  await using server = await startReferenceServer({
    script: [{ output: [message("one")] }, { output: [message("two")] }],
  });
  const first = await accepted(server, { input: "a" });
  const second = await accepted(server, { input: [user("b")], previous_response_id: idOf(first) });
  expect(server.reading(idOf(second))?.items).toEqual([user("a"), ...outputOf(first), user("b")]);
  expect(server.context(idOf(second))).toEqual([user("a"), ...outputOf(first), user("b"), ...outputOf(second)]);
  expect(second["previous_response_id"]).toBe(idOf(first));
});

test("resent items without ids are silently duplicated, as a server that never compares does", async () => {
  await using server = await startReferenceServer();
  const first = await accepted(server, { input: "a" });
  await accepted(server, { input: [user("a"), user("b")], previous_response_id: idOf(first) });
  expect(server.reading(1)?.items.filter((item) => item["content"] === "a")).toHaveLength(2);
});

test("takes one response as the parent of several", async () => {
  await using server = await startReferenceServer();
  const first = await accepted(server, { input: "a" });
  const left = await accepted(server, { input: "left", previous_response_id: idOf(first) });
  const right = await accepted(server, { input: "right", previous_response_id: idOf(first) });
  expect(server.reading(idOf(right))?.items).toEqual([user("a"), ...outputOf(first), user("right")]);
  expect(server.context(idOf(left))).not.toContainEqual(user("right"));
});

test("inherits neither instructions nor tools nor settings", async () => {
  await using server = await startReferenceServer();
  const tools = [{ type: "function", name: "f", parameters: {} }];
  const first = await accepted(server, { input: "a", instructions: "be brief", tools, temperature: 0.5 });
  const second = await accepted(server, { input: "b", previous_response_id: idOf(first) });
  expect(server.reading(0)).toMatchObject({ instructions: "be brief", tools });
  expect(server.reading(1)).toMatchObject({ instructions: null, tools: [] });
  expect([first["temperature"], second["temperature"], second["instructions"]]).toEqual([0.5, 1, null]);
});

test.each([
  ["failed", { output: [message("x")], status: "failed", error: { code: "server_error", message: "no" } }],
] as const)("takes no response as a parent that %s", async (_status, scripted) => {
  await using server = await startReferenceServer({ answer: () => scripted });
  const first = await accepted(server, { input: "a" });
  expect(await refusedWith(server, { input: "b", previous_response_id: idOf(first) })).toMatch(/^Previous response/);
});

test("takes an incomplete response as a parent, unless told otherwise", async () => {
  const answer = () => ({
    output: [message("x")],
    status: "incomplete" as const,
    incompleteDetails: { reason: "max_output_tokens" },
  });
  await using server = await startReferenceServer({ answer });
  await using strict = await startReferenceServer({ answer, chainsFromIncomplete: false });
  for (const [at, status] of [[server, 200] as const, [strict, 400] as const]) {
    const first = await accepted(at, { input: "a" });
    expect(first["incomplete_details"]).toEqual({ reason: "max_output_tokens" });
    expect((await create(at, { input: "b", previous_response_id: idOf(first) })).status).toBe(status);
  }
});

test("forgets what was deleted, expired or not stored, and keeps its descendants", async () => {
  await using server = await startReferenceServer();
  const first = await accepted(server, { input: "a" });
  const second = await accepted(server, { input: "b", previous_response_id: idOf(first) });
  const unstored = await accepted(server, { input: "c", store: false });
  server.forget(idOf(first));
  expect(unstored["store"]).toBe(false);
  for (const id of [idOf(first), idOf(unstored)]) {
    const message = await refusedWith(server, { input: "d", previous_response_id: id });
    expect(message).toBe(`Previous response with id '${id}' not found.`);
  }
  const third = await accepted(server, { input: "d", previous_response_id: idOf(second) });
  expect(server.reading(idOf(third))?.items).toHaveLength(5);
});

test("refuses empty input behind a response, unless told to take it", async () => {
  await using server = await startReferenceServer();
  await using lenient = await startReferenceServer({ acceptsEmptyInput: true });
  for (const [at, status] of [[server, 400] as const, [lenient, 200] as const]) {
    const first = await accepted(at, { input: "a" });
    expect((await create(at, { input: [], previous_response_id: idOf(first) })).status).toBe(status);
    expect((await create(at, { previous_response_id: idOf(first) })).status).toBe(status);
  }
});

test("appends to a conversation once the response completes, and one response at a time", async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  await using server = await startReferenceServer();
  server.adoptConversation("conv_1");
  server.inject({ kind: "delay", until: promise, afterBytes: 1 });
  const first = create(server, { input: "a", conversation: "conv_1" });
  while (server.requests[0]?.status !== 200) await new Promise(setImmediate);
  expect(await refusedWith(server, { input: "b", conversation: { id: "conv_1" } })).toMatch(/^Another process/);
  resolve(undefined);
  expect((await first).body["conversation"]).toEqual({ id: "conv_1" });
  const second = await accepted(server, { input: "b", conversation: "conv_1" });
  expect(server.reading(idOf(second))?.items).toHaveLength(3);
  // Such a response may be continued by id, outside of the conversation.
  const left = await accepted(server, { input: "c", previous_response_id: idOf(second) });
  expect(left["conversation"]).toBeUndefined();
});

test("a chain of 300 steps with tool calls holds each item once", { timeout: 60_000 }, async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [functionCall("f", "{}", { callId: "call_1" })] }),
  });
  let previous = await accepted(server, { input: "go" });
  for (let step = 0; step < 300; step += 1) {
    const input = [toolOutput("call_1", `out ${step}`)];
    previous = await accepted(server, { input, previous_response_id: idOf(previous) });
  }
  const lines = readItems(server.context(idOf(previous)) ?? []);
  expect(lines).toHaveLength(1 + 301 + 300);
  expect(lines.at(-2)).toMatch(/^tool \| result \| - \| - \| call#299 /);
});

test("a server that ignores the id echoes null and reads the input alone", async () => {
  await using server = await startReferenceServer({ noChain: "ignored" });
  const first = await accepted(server, { input: "a" });
  const second = await accepted(server, { input: "b", previous_response_id: idOf(first) });
  expect(second["previous_response_id"]).toBeNull();
  expect(server.reading(1)?.items).toEqual([user("b")]);
});

test("vLLM loses the system messages of earlier turns, and no others", async () => {
  await using server = await startReferenceServer({ dropsSystem: true });
  const system = { role: "system", content: "s" };
  const developer = { role: "developer", content: "d" };
  const first = await accepted(server, { input: [system, developer, user("a")] });
  await accepted(server, { input: [system, user("b")], previous_response_id: idOf(first) });
  expect(server.reading(0)?.items).toEqual([system, developer, user("a")]);
  expect(server.reading(1)?.items).toEqual([developer, user("a"), ...outputOf(first), system, user("b")]);
});

test("vLLM without its store says nothing and forgets", async () => {
  await using server = await startReferenceServer({ neverStores: true, notFound: "vllm" });
  const first = await accepted(server, { input: "a", store: true });
  const { status } = await create(server, { input: "b", previous_response_id: idOf(first) });
  expect(status).toBe(404);
});

test("ids are the same for one seed and differ between servers without one", async () => {
  await using one = await startReferenceServer({ seed: "s", now: () => 5_000 });
  await using same = await startReferenceServer({ seed: "s", now: () => 5_000 });
  await using other = await startReferenceServer();
  const [a, b, c] = await Promise.all([one, same, other].map((server) => accepted(server, { input: "a" })));
  expect(a).toEqual(b);
  expect(a?.["created_at"]).toBe(5);
  expect(idOf(c)).not.toBe(idOf(a));
});
