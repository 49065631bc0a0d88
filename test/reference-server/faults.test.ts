import { expect, test } from "vitest";
import {
  type Fault,
  functionCall,
  type JsonObject,
  message,
  type ReferenceServer,
  readItems,
  reasoning,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import {
  accepted,
  create,
  idOf,
  outputOf,
  refusedWith,
  stream,
  textOf,
  user,
} from "../support/reference-server/wire-client.ts";

const isUsable = async (server: ReferenceServer, id: string): Promise<boolean> =>
  (await refusedWith(server, { input: "on", previous_response_id: id })) === "accepted";

test("injected faults hit one request each, in order; undefined lets one pass", async () => {
  await using server = await startReferenceServer();
  const fault = (status: number): Fault => ({
    kind: "answer",
    status,
    body: { error: {} },
    headers: { "retry-after": "1" },
  });
  server.inject(fault(429), undefined, fault(500));
  const statuses = [];
  for (let n = 0; n < 4; n += 1) statuses.push((await create(server, { input: "a" })).status);
  expect(statuses).toEqual([429, 200, 500, 200]);
  expect(server.requests.map(({ hasFaultFired }) => hasFaultFired)).toEqual([true, false, true, false]);
  // Nothing was done for a request that was answered so: the next one is the first for the script.
  expect(server.responseIds()).toHaveLength(2);
});

test("a fault function sees each request", async () => {
  const faults = ({ index }: { readonly index: number }): Fault | undefined =>
    index === 1 ? { kind: "answer", status: 503, body: {} } : undefined;
  await using server = await startReferenceServer({ faults });
  expect((await create(server, { input: "a" })).status).toBe(200);
  expect((await create(server, { input: "a" })).status).toBe(503);
});

test("a stream is cut after every n bytes, until n is its length", { timeout: 60_000 }, async () => {
  await using server = await startReferenceServer({
    seed: "s",
    now: () => 0,
    answer: () => ({ output: [message("hello")] }),
  });
  // The second one: of it, as of those that follow, the usage says that the prompt was cached.
  await stream(server, { input: "a" });
  const { bytes: length } = await stream(server, { input: "a" });
  const cuts = [0, 1, 100, length - 1, length];
  for (const afterBytes of cuts) {
    server.inject({ kind: "cut", afterBytes });
    const { bytes, isBroken } = await stream(server, { input: "a" });
    expect([bytes, isBroken]).toEqual([afterBytes, afterBytes < length]);
  }
  expect(server.requests.slice(2).map(({ hasFaultFired }) => hasFaultFired)).toEqual([true, true, true, true, false]);
});

test("a cut response was never committed, unless the fault says that it was", async () => {
  await using server = await startReferenceServer();
  for (const isActed of [false, true]) {
    server.inject({ kind: "cut", afterBytes: 200, isActed });
    const { frames, isBroken } = await stream(server, { input: "a" });
    expect([isBroken, frames.length]).toEqual([true, 0]);
    const id = server.responseIds().at(-1) ?? "";
    expect(await isUsable(server, id)).toBe(isActed);
  }
});

test("a lost acknowledgement leaves a usable response that the client does not know", async () => {
  await using server = await startReferenceServer();
  server.inject({ kind: "lost-acknowledgement" });
  await expect(create(server, { input: "a" })).rejects.toThrow("fetch failed");
  expect(server.requests[0]).toMatchObject({ status: 0, hasFaultFired: true });
  expect(await isUsable(server, server.requests[0]?.responseId ?? "")).toBe(true);
});

test("a JSON answer can be cut as well", async () => {
  await using server = await startReferenceServer();
  server.inject({ kind: "cut", afterBytes: 10 });
  await expect(create(server, { input: "a" })).rejects.toThrow();
});

test("a delayed request has not been acted on until it goes on", async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  await using server = await startReferenceServer();
  server.inject({ kind: "delay", until: promise });
  const slow = create(server, { input: "slow" });
  const quick = await accepted(server, { input: "quick" });
  expect(server.responseIds()).toEqual([idOf(quick)]);
  resolve(undefined);
  expect((await slow).status).toBe(200);
});

test("an ignored id gives a context-free answer and a null echo", async () => {
  await using server = await startReferenceServer();
  const first = await accepted(server, { input: "a" });
  server.inject({ kind: "ignore-previous" });
  const second = await accepted(server, { input: "b", previous_response_id: idOf(first) });
  expect(second["previous_response_id"]).toBeNull();
  expect(server.reading(idOf(second))?.items).toEqual([user("b")]);
});

test("another echo changes nothing else", async () => {
  await using server = await startReferenceServer();
  const first = await accepted(server, { input: "a" });
  server.inject({ kind: "echo", previousResponseId: "resp_other" });
  const second = await accepted(server, { input: "b", previous_response_id: idOf(first) });
  expect(second["previous_response_id"]).toBe("resp_other");
  expect(server.reading(idOf(second))?.items).toHaveLength(3);
});

test("a response that is silently not stored says that it is", async () => {
  await using server = await startReferenceServer();
  server.inject({ kind: "unstored" });
  const first = await accepted(server, { input: "a", store: true });
  expect(first["store"]).toBe(true);
  expect(await isUsable(server, idOf(first))).toBe(false);
});

test.each([message("hello"), functionCall("f", "hello")])(
  "a corrupt answer differs from what the server holds",
  async (item) => {
    await using server = await startReferenceServer({ answer: () => ({ output: [item] }) });
    server.inject({ kind: "corrupt" });
    const first = await accepted(server, { input: "a" });
    expect(JSON.stringify(first["output"])).toContain("xello");
    expect(JSON.stringify(server.context(idOf(first)))).toContain("hello");
  },
);

test("a duplicated call has one call id and two items, and both want an output", async () => {
  await using server = await startReferenceServer({
    script: [{ output: [functionCall("f", "{}")] }, { output: [message("ok")] }],
  });
  server.inject({ kind: "duplicate-call" });
  const first = await accepted(server, { input: "a" });
  const calls = outputOf(first);
  expect([calls.length, new Set(calls.map((call) => call["call_id"])).size, new Set(calls.map(idOf)).size]).toEqual([
    2, 1, 2,
  ]);
  const output: JsonObject = { type: "function_call_output", call_id: textOf(calls[0]?.["call_id"]), output: "o" };
  expect(await refusedWith(server, { input: [output], previous_response_id: idOf(first) })).toMatch(/^No tool output/);
  expect(await refusedWith(server, { input: [output, output], previous_response_id: idOf(first) })).toBe("accepted");
});

test("withheld reasoning is not read, and reported", async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [reasoning({ summary: "s" }), message("a")] }),
  });
  const first = await accepted(server, { input: "a" });
  server.inject({ kind: "withhold", reason: "prefix_mismatch" });
  const second = await accepted(server, { input: "b", previous_response_id: idOf(first) });
  expect(second["input_transformations"]).toEqual([
    { type: "reasoning", id: idOf(outputOf(first)[0]), action: "removed", reason: "prefix_mismatch" },
  ]);
  expect(readItems(server.reading(idOf(second))?.items ?? []).some((line) => line.includes("reasoning"))).toBe(false);
});

test.each([
  [false, { type: "error", code: "context_length_exceeded", message: "too long", param: "input" }],
  [true, { type: "error", error: { code: "context_length_exceeded", message: "too long", param: "input" } }],
] as const)("an error inside of a stream comes flat or nested (nested: %s)", async (isNested, expected) => {
  await using server = await startReferenceServer();
  const error = { code: "context_length_exceeded", message: "too long", param: "input" };
  server.inject({ kind: "stream-error", error, isNested });
  const { frames } = await stream(server, { input: "a" });
  expect(frames.at(-1)).toEqual({ ...expected, sequence_number: 2 });
  expect(await isUsable(server, server.responseIds()[0] ?? "")).toBe(false);
});

test("a script that throws or ends is a 500 with the reason, and the server lives on", async () => {
  await using server = await startReferenceServer({ script: [{ output: [message("only")] }] });
  await accepted(server, { input: "a" });
  expect(await refusedWith(server, { input: "b" })).toBe("the script has no answer for request 1");
  expect((await create(server, {})).status).toBe(400);
});

test("the script goes by accepted requests and sees what the model reads", async () => {
  const seen: unknown[] = [];
  await using server = await startReferenceServer({
    answer: ({ request, arrival, reading, body }) => {
      seen.push([request, arrival, reading.items.length, body["input"]]);
      return { output: [message("ok")], usage: { input_tokens: 7 } };
    },
  });
  const first = await accepted(server, { input: "a" });
  await create(server, { input: [] });
  await accepted(server, { input: "b", previous_response_id: idOf(first) });
  expect(seen).toEqual([
    [0, 0, 1, "a"],
    [1, 2, 3, "b"],
  ]);
  expect(first["usage"]).toMatchObject({ input_tokens: 7 });
});
