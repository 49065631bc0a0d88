import { expect, onTestFinished, test } from "vitest";
import { hosted, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { createEngine, openStore } from "../../../src/index.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";

async function started(options: Parameters<typeof startReferenceServer>[0] = {}) {
  const server = await startReferenceServer({ seed: "messages", ...options });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const ask = async (messages: readonly unknown[], more: object = {}) => {
    const body = JSON.stringify({ model: "claude-test", max_tokens: 10, messages, ...more });
    const answer = await fetch(`${server.baseUrl}/messages`, { method: "POST", body });
    return { status: answer.status, body: await answer.text() };
  };
  return { server, ask };
}

const call = (id: string) => ({ type: "tool_use", id, name: "look-up", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "sunny" });
const search = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: {} });
const searching = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
const go = { role: "user", content: "Go." };
const said = (...content: readonly object[]) => ({ role: "assistant", content });
const answered = (...content: readonly object[]) => ({ role: "user", content });
const text = (value: string) => ({ type: "text", text: value });
const marked = { ...text("x"), cache_control: { type: "ephemeral" } };
const anHour = { type: "ephemeral", ttl: "1h" };

test.each<[string, readonly unknown[], object]>([
  ["max_tokens: Field required", [go], { max_tokens: undefined }],
  ["temperature: Extra inputs are not permitted", [go], { temperature: 1 }],
  ["at least one message is required", [], {}],
  ["all messages must have non-empty content", [answered(), go], {}],
  ["ids were found without `tool_result` blocks immediately after: a", [go, said(call("a")), go], {}],
  [
    "ids were found without `tool_result` blocks immediately after: b",
    [go, said(call("a"), call("b")), answered(result("a"))],
    {},
  ],
  [
    "unexpected `tool_use_id` found in `tool_result` blocks: b",
    [go, said(call("a")), answered(result("a"), result("b"))],
    {},
  ],
  [
    "unexpected `tool_use_id` found in `tool_result` blocks: a",
    [go, said(call("a")), answered(text("So:"), result("a"))],
    {},
  ],
  ["`tool_use` ids must be unique", [go, said(call("a"), call("a")), answered(result("a"))], {}],
  ["should match pattern '^[a-zA-Z0-9_-]+$'", [go, said(call("a/b")), answered(result("a/b"))], {}],
  [
    "messages.2.content.0.tool_result.content.1: Input tag 'video' found using 'type' does not match any of the expected tags",
    [go, said(call("a")), answered({ ...result("a"), content: [text("See:"), { type: "video" }] })],
    {},
  ],
  [
    "messages.2.content.0.tool_result.content: Input should be a valid array",
    [go, said(call("a")), answered({ ...result("a"), content: { sky: "blue" } })],
    {},
  ],
  ["does not support assistant message prefill", [go, said(text("I"))], {}],
  ["`web_search` tool use with id `a` was found without a corresponding", [go, said(search("a")), go], searching],
  ["but no `web_search` tool was provided", [go, said(search("a"))], {}],
  ["Found 5.", [answered(marked, marked, marked, marked, marked)], {}],
  ["must not come after a ttl='5m'", [answered(marked, { ...marked, cache_control: anHour })], {}],
  ["cache_control: Input should be", [answered({ ...marked, cache_control: { type: "for ever" } })], {}],
  ["cannot be modified", [go, said({ type: "thinking", thinking: "Hm.", signature: "foreign" }, text("I")), go], {}],
  [
    "messages.1.content.0.thinking.signature: Field required",
    [go, said({ type: "thinking", thinking: "Hm." }, text("I")), go],
    {},
  ],
  [
    "messages.1.content.0.redacted_thinking.data: Field required",
    [go, said({ type: "redacted_thinking" }, text("I")), go],
    {},
  ],
  ["a system message must follow a user message", [go, said(text("I")), { role: "system", content: "Now." }, go], {}],
])("what the Messages API refuses is refused: %s", async (message, messages, more) => {
  const { ask } = await started();
  const { status, body } = await ask(messages, more);
  const told: unknown = JSON.parse(body);
  expect([status, told]).toEqual([
    400,
    expect.objectContaining({
      type: "error",
      error: { type: "invalid_request_error", message: expect.stringContaining(message) as unknown },
    }),
  ]);
});

test("a paused answer is continued unchanged, with the container that its code runs in", async () => {
  const runs = { type: "server_tool_use", id: "srvtoolu_1", name: "bash_code_execution", input: {} };
  const { server } = await started({
    answer: () => ({ output: [hosted(runs)], status: "incomplete", incompleteDetails: { reason: "pause_turn" } }),
  });
  const tools = [{ type: "code_execution_20250825", name: "code_execution" }];
  const ask = async (messages: readonly unknown[], more: object = {}): Promise<JsonObject> => {
    const body = JSON.stringify({ model: "claude-test", max_tokens: 10, messages, tools, ...more });
    const answer: unknown = await (await fetch(`${server.baseUrl}/messages`, { method: "POST", body })).json();
    return isJsonObject(answer) ? answer : {};
  };
  const { stop_reason: stopped, container, content } = await ask([go]);
  expect([stopped, content]).toEqual(["pause_turn", [runs]]);
  const { id } = isJsonObject(container) ? container : {};
  expect(await ask([go, said(runs)])).toMatchObject({
    error: {
      message: "container_id is required when there are pending tool uses generated by code execution with tools.",
    },
  });
  for (const named of [id, { id, skills: [] }])
    expect(await ask([go, said(runs)], { container: named })).toMatchObject({ stop_reason: "pause_turn", container });
});

test("an id of a call may come again in a later turn", async () => {
  const { ask } = await started();
  const asked = [go, said(call("a")), answered(result("a")), said(call("a")), answered(result("a"))];
  expect(await ask(asked)).toMatchObject({ status: 200 });
});

test("thoughts that another server sealed are taken where seals are not verified", async () => {
  const foreign = [go, said({ type: "thinking", thinking: "Hm.", signature: "foreign" }, text("I")), go];
  for (const [verifiesCiphertexts, status] of [
    [true, 400],
    [false, 200],
  ] as const) {
    const { ask } = await started({ verifiesCiphertexts });
    expect(await ask(foreign)).toMatchObject({ status });
  }
});

test("unknown models, prompts that are too long, and bodies that are too large are refused", async () => {
  const { ask } = await started({ models: ["claude-test"], maxContextTokens: 20, maxBodyBytes: 1_000 });
  const unknown = await ask([go], { model: "claude-none" });
  const large = await ask([{ role: "user", content: "x".repeat(1_000) }]);
  for (const [{ status, body }, ...told] of [
    [unknown, 404, "not_found_error", "model: claude-none"],
    [large, 413, "request_too_large", "Request exceeds the maximum size"],
  ] as const) {
    const [expected, type, message] = told;
    expect([status, JSON.parse(body)]).toEqual([expected, expect.objectContaining({ error: { type, message } })]);
  }
  expect((await ask([{ role: "user", content: "x".repeat(200) }])).body).toContain("prompt is too long: ");
  expect(await ask([go])).toMatchObject({ status: 200 });
});

test("behind two requests of a conversation that asks for its cache, tokens are read from there", async () => {
  const { server } = await started();
  const baseURL = server.url;
  const asked = { model: "claude-test", apiKey: "messages", baseURL, instructions: "Be brief." };
  const cachedTokens = async (cache: object): Promise<readonly number[]> => {
    server.clear();
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    const engine = createEngine({ provider: anthropic({ ...asked, ...cache }) });
    const cached: number[] = [];
    for (const said of ["One?", "Two?", "Three?"]) {
      await conversation.append(said);
      cached.push((await conversation.run(engine)).usage.cachedInputTokens);
    }
    expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 3 });
    return cached;
  };
  for (const cache of [{}, { cache: { ttl: "1h" } }, { cache_control: { type: "ephemeral" } }]) {
    const [first, second, third] = await cachedTokens(cache);
    expect(first).toBe(0);
    expect(second).toBeGreaterThan(0);
    expect(third).toBeGreaterThan(second ?? 0);
  }
  expect(await cachedTokens({ cache: false })).toEqual([0, 0, 0]);
});

test("a mark finds what was marked within 20 blocks before it, by the same model, for as long as that was to last", async () => {
  const clock = { ms: 0 };
  const { ask } = await started({ now: () => clock.ms });
  const cached = async (blocks: number, more: { model?: string; ttl?: "1h" } = {}): Promise<unknown> => {
    const { ttl, ...other } = more;
    const content = Array.from({ length: blocks }, (_, n) => text(`block ${n} ${"x".repeat(20)}`));
    const mark = { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
    const { body } = await ask([answered(...content.slice(0, -1), { ...content.at(-1), cache_control: mark })], other);
    return JSON.parse(body) as unknown;
  };
  const use = (read: unknown, written: unknown) =>
    expect.objectContaining({
      usage: expect.objectContaining({
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
      }) as unknown,
    }) as unknown;
  const some: unknown = expect.toSatisfy((tokens: number) => tokens > 0);
  expect(await cached(2)).toEqual(use(0, some));
  expect(await cached(2)).toEqual(use(some, 0));
  expect(await cached(2, { model: "claude-other" })).toEqual(use(0, some));
  expect(await cached(21)).toEqual(use(some, some));
  expect(await cached(41)).toEqual(use(0, some));
  clock.ms += 5 * 60_000;
  expect(await cached(41)).toEqual(use(some, 0));
  clock.ms += 5 * 60_000 + 1;
  expect(await cached(41, { ttl: "1h" })).toEqual(use(0, some));
  clock.ms += 5 * 60_000 + 1;
  expect(await cached(41, { ttl: "1h" })).toEqual(use(some, 0));
});
