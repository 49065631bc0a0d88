import { expect, test } from "vitest";
import { type ReferenceServerOptions, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import type { AnthropicOptions } from "../../../src/providers/anthropic/options.ts";
import { createWorkshop } from "../../support/workshop.ts";

const long = (text: string): string => `${text} ${"word ".repeat(60)}`.trimEnd();

type Asked = Partial<AnthropicOptions>;

async function threaded(asked: Asked, options: ReferenceServerOptions = {}) {
  const workshop = createWorkshop();
  const server = await startReferenceServer({ seed: "threads", now: () => workshop.clock.now, ...options });
  const { conversation, clock } = workshop;
  for (const said of ["one", "two", "three", "four", "five"]) {
    clock.now += 1_000;
    const at = { model: "claude-sonnet-5", apiKey: "none", baseURL: server.url, transport: "json" } as const;
    const provider = anthropic({ ...at, instructions: long("Be kind."), threads: true, ...asked });
    await conversation.append(long(said));
    await conversation.run(workshop.engine({ provider }));
  }
  const requests = server.requests.map(({ body, status, cache }) => ({
    ...{ status, read: cache?.tokens.read, prompt: cache?.tokens.prompt },
    marks: JSON.stringify(body).split('"cache_control"').length - 1,
    thread: isJsonObject(body) && isJsonObject(body["thread"]) ? body["thread"]["type"] : null,
  }));
  return { ...workshop, requests, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("each request of a thread is marked at its end, and reads what the one before it wrote", async () => {
  await using plain = await threaded({}, { takesThreadMarks: true });
  expect(plain.requests.map(({ marks, read }) => [marks, read])).toEqual(Array.from({ length: 5 }, () => [0, 0]));
  await using marked = await threaded({ cacheOnThreads: true }, { takesThreadMarks: true });
  const { requests, conversation } = marked;
  expect(requests.map(({ thread, marks }) => [thread, marks])).toEqual([
    ["create", 2],
    ...Array.from({ length: 4 }, () => ["continue", 1]),
  ]);
  expect(requests.map(({ read }) => read)).toEqual([0, ...requests.slice(0, -1).map(({ prompt }) => prompt)]);
  const { cache, decision } = await conversation.why(undefined, { cacheRules: { minimumTokens: 0 } });
  expect(cache).toMatchObject({ cause: "read", foreseen: "read", foreseenRead: { tokens: requests[3]?.prompt } });
  expect(decision).toMatchObject({ strategy: "chained", details: { cache: [1] } });
});

test("a server that rejects marks on threads is asked without them, and keeps its threads", async () => {
  await using here = await threaded({ cacheOnThreads: true });
  expect(here.requests.map(({ status, thread, marks }) => [status, thread, marks])).toEqual([
    [400, "create", 2],
    [200, "create", 0],
    ...Array.from({ length: 4 }, () => [200, "continue", 0]),
  ]);
  const learned: unknown[] = [];
  for await (const { event } of here.conversation.events())
    if (event.type === "CapabilityLearned") learned.push(event.data);
  expect(learned).toMatchObject([{ capability: "cacheOnThreads", value: false }]);
});

test("marks on threads go with threads, and not without a cache", () => {
  const options = { model: "claude-sonnet-5", apiKey: "none" };
  const wanted = "cacheOnThreads goes with threads: true, and without cache: false";
  expect(() => anthropic({ ...options, cacheOnThreads: true })).toThrow(wanted);
  expect(() => anthropic({ ...options, threads: true, cache: false, cacheOnThreads: true })).toThrow(wanted);
  expect(() => anthropic({ ...options, threads: true, cache: true })).toThrow("cache cannot go with threads");
  const { settings } = anthropic({ ...options, threads: true, cacheOnThreads: true, cache: { ttl: "5m" } });
  expect(settings).toMatchObject({ cacheOnThreads: true, cache: { ttl: "5m" } });
});
