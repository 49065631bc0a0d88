import { describe, expect, onTestFinished, test } from "vitest";
import {
  type CacheOptions,
  type JsonObject,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isObject, objectsOf, parseJson, stringOf, valueAt } from "../../../packages/reference-server/src/wire.ts";
import { askCached, type CachedTalk, cachedFronts } from "../../support/reference-server/cached-fronts.ts";

const words = ["One?", "Two.", "Three?"].map((text) => `${text} ${"x".repeat(400)}`);
const minute = 60_000;

async function started(name: "responses" | "chat", facts: CacheOptions = {}) {
  const clock = { ms: 0 };
  const server = await startReferenceServer({ seed: "cache", now: () => clock.ms, caches: { [name]: facts } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const front = cachedFronts.find((each) => each.name === name) ?? expect.fail(name);
  return { server, clock, ask: (talk: Partial<CachedTalk> = {}) => askCached(server, front, { said: words, ...talk }) };
}

describe.each(["responses", "chat"] as const)("%s", (name) => {
  test.each(["prompt_cache_key", "service_tier"])("requests with another %s share nothing", async (member) => {
    const { ask } = await started(name);
    const key = (value: string) => ask({ more: { [member]: value } });
    await key("flex");
    expect((await key("default")).verdict).toMatchObject({
      ...{ reason: "other-partition", against: 0, entry: null, tokens: { read: 0 } },
    });
    expect((await key("flex")).verdict).toMatchObject({ reason: "read", against: 0 });
    expect((await key("default")).verdict).toMatchObject({ reason: "read", against: 1 });
  });

  test("a prompt that another key shares more of is compared with that, and reads what its own key has", async () => {
    const { ask } = await started(name);
    const key = (value: string, count: number) =>
      ask({ said: words.slice(0, count), more: { prompt_cache_key: value } });
    const first = await key("a", 1);
    await key("b", 3);
    expect((await key("a", 3)).verdict).toMatchObject({
      ...{ reason: "other-partition", against: 1, differs: null, tokens: { read: first.told.prompt } },
    });
  });

  const settings: Readonly<Record<typeof name, readonly (readonly [string, JsonObject])[]>> = {
    responses: [
      ["parallel_tool_calls", { parallel_tool_calls: false }],
      ["text.format", { text: { format: { type: "json_object" } } }],
      ["text.verbosity", { text: { verbosity: "low" } }],
      ["reasoning.effort", { reasoning: { effort: "low" } }],
      ["context_management", { context_management: [{ type: "compaction", compact_threshold: 100_000 }] }],
    ],
    chat: [
      ["parallel_tool_calls", { parallel_tool_calls: false }],
      ["response_format", { response_format: { type: "json_object" } }],
      ["verbosity", { verbosity: "low" }],
      ["reasoning_effort", { reasoning_effort: "low" }],
    ],
  };
  test.each(settings[name])("another value of %s loses the cache from the start", async (path, more) => {
    const { ask } = await started(name);
    await ask();
    expect((await ask({ more })).verdict).toMatchObject({
      ...{ reason: "setting-changed", differs: { path: `settings.${path}`, kind: "setting" }, tokens: { read: 0 } },
    });
  });

  test("tool_choice and limits of the answer keep the cache", async () => {
    const { ask } = await started(name);
    await ask();
    const more = { tool_choice: "none", temperature: 1, top_p: 1, metadata: { a: "b" } };
    expect((await ask({ more })).verdict).toMatchObject({ reason: "read", differs: null });
  });

  test("settings that a test leaves out are no part of the prefix", async () => {
    const { ask } = await started(name, { settings: [{ path: "model", before: "tool" }] });
    await ask();
    expect((await ask({ more: { parallel_tool_calls: false } })).verdict.reason).toBe("read");
    expect((await ask({ model: "another" })).verdict.reason).toBe("setting-changed");
  });

  test("what was written is reported if the model reports it", async () => {
    const silent = await started(name);
    expect((await silent.ask()).told.written).toBeUndefined();
    const { ask } = await started(name, { reportsWrites: true });
    const first = await ask({ said: words.slice(0, 1) });
    expect(first.told).toEqual({ prompt: first.told.prompt, read: 0, written: first.told.prompt });
    const { told, verdict } = await ask();
    expect(told).toEqual({ prompt: told.prompt, read: first.told.prompt, written: told.prompt - first.told.prompt });
    expect(verdict.tokens).toMatchObject({ read: told.read, written: told.written });
  });

  test("GPT-5.6 caches after the newest message of the user, and looks at earlier ends", async () => {
    const { ask } = await started(name, { boundaries: "message-ends", lookback: 2 });
    const chat = Array.from({ length: 13 }, (_, n) => `${n} ${"x".repeat(100)}`);
    const { verdict: first } = await ask({ said: chat.slice(0, 2) });
    // After the user's message, not after the model's, which ends this prompt.
    expect(first.tokens.written).toBeLessThan(first.tokens.prompt);
    const { verdict: next } = await ask({ said: chat.slice(0, 3) });
    expect(next).toMatchObject({ reason: "read", tokens: { read: first.tokens.written } });
    // The ends looked at are the newest and two before it.
    const { verdict: near } = await ask({ said: chat.slice(0, 7) });
    expect(near).toMatchObject({ reason: "read", tokens: { read: next.tokens.prompt } });
    expect((await ask({ said: chat })).verdict).toMatchObject({ reason: "out-of-lookback", tokens: { read: 0 } });
  });
});

test("GPT-5.6 caches after the last developer message of the beginning, and the last result of a group", async () => {
  const { server } = await started("responses", { boundaries: "message-ends", lookback: 2 });
  const post = async (input: readonly JsonObject[]) => {
    const body = JSON.stringify({ model: "m", input });
    await fetch(`${server.baseUrl}/responses`, { method: "POST", body });
    return server.requests.at(-1)?.cache;
  };
  const call = (callId: string): JsonObject => ({
    type: "function_call",
    call_id: callId,
    name: "look-up",
    arguments: "{}",
  });
  const result = (callId: string): JsonObject => ({
    type: "function_call_output",
    call_id: callId,
    output: "x".repeat(400),
  });
  const user = { role: "user", content: "Look both up." };
  await post([user]);
  // Two calls have one end, so the first message is the second end before the newest.
  const both = [user, call("a"), call("b"), result("a"), result("b")];
  expect(await post([...both, user])).toMatchObject({ reason: "read", entry: { path: "input.0" } });
  const developer = (content: string): JsonObject => ({ role: "developer", content });
  await post([developer("Be brief.")]);
  expect(await post([developer("Be brief."), user])).toMatchObject({ reason: "read", entry: { path: "input.0" } });
  // With a second developer message, the first ends nothing any more.
  const grown = await post([developer("Be brief."), developer("Be exact."), user]);
  expect(grown).toMatchObject({ reason: "boundary-moved", differs: { path: "input.1" }, entry: null });
});

test("writes with a named lifetime are counted by it, and end by it", async () => {
  const lifetimesMs = { default: 5 * minute, "30m": 30 * minute, "12h": 720 * minute };
  const { server, clock, ask } = await started("responses", { lifetimesMs, reportsWrites: true });
  const body = { model: "m", input: "x".repeat(400), prompt_cache_options: { ttl: "12h" } };
  const post = async () => {
    const answer = await fetch(`${server.baseUrl}/responses`, { method: "POST", body: JSON.stringify(body) });
    const told = parseJson(await answer.text());
    return isObject(told) ? valueAt(told, "usage.input_tokens_details") : null;
  };
  const written = {
    cached_tokens: 0,
    cache_write_tokens: 107,
    cache_write_tokens_details: { ttl_30m_tokens: 0, ttl_12h_tokens: 107 },
  };
  expect(await post()).toEqual(written);
  clock.ms += 719 * minute;
  expect(await post()).toMatchObject({ cached_tokens: 107, cache_write_tokens: 0 });
  clock.ms += 721 * minute;
  expect(await post()).toEqual(written);
  await ask({ more: { prompt_cache_retention: "30m" } });
  clock.ms += 31 * minute;
  expect((await ask()).verdict.reason).toBe("expired");
});

test("a chained request reads what the same request in full does, and the answer before it", async () => {
  const { server } = await started("responses");
  const post = async (body: JsonObject) => {
    const answer = await fetch(`${server.baseUrl}/responses`, {
      method: "POST",
      body: JSON.stringify({ model: "m", ...body }),
    });
    const told = parseJson(await answer.text());
    return { answer: isObject(told) ? told : {}, verdict: server.requests.at(-1)?.cache };
  };
  const first = { role: "user", content: words[0] ?? "" };
  const second = { role: "user", content: words[1] ?? "" };
  const { answer } = await post({ input: [first] });
  const chained = await post({ input: [second], previous_response_id: stringOf(answer["id"]) ?? "" });
  expect(chained.verdict).toMatchObject({ reason: "read", entry: { path: "input.1" }, differs: { path: "input.1" } });
  const full = await post({ input: [first, ...objectsOf(answer["output"]), second] });
  expect(full.verdict).toMatchObject({ reason: "read", differs: null, entry: { path: "input.2" } });
  expect(full.verdict?.tokens.prompt).toBe(chained.verdict?.tokens.prompt);
  // New instructions keep the chain, and lose the cache.
  const other = await post({
    input: [second],
    instructions: "Be brief.",
    previous_response_id: stringOf(answer["id"]) ?? "",
  });
  expect(other.verdict).toMatchObject({ reason: "changed", differs: { path: "instructions", kind: "system" } });
});

test("a compaction in an answer begins a new prompt, behind the same tools and instructions", async () => {
  const server = await startReferenceServer({ seed: "cache", compacts: true });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const more = {
    model: "m",
    instructions: "Be brief.",
    context_management: [{ type: "compaction", compact_threshold: 150 }],
  };
  const post = async (body: JsonObject) => {
    const answer = await fetch(`${server.baseUrl}/responses`, {
      method: "POST",
      body: JSON.stringify({ ...more, ...body }),
    });
    const told = parseJson(await answer.text());
    return { id: (isObject(told) ? stringOf(told["id"]) : undefined) ?? "", cache: server.requests.at(-1)?.cache };
  };
  const first = await post({ input: words.join("\n") });
  const second = await post({ input: "And?", previous_response_id: first.id });
  expect(second.cache).toMatchObject({
    ...{ reason: "changed", differs: { path: "input.0" }, entry: { path: "instructions" } },
  });
  expect(second.cache?.tokens.prompt).toBeLessThan(first.cache?.tokens.prompt ?? 0);
  const third = await post({ input: "And then?", previous_response_id: second.id });
  expect(third.cache).toMatchObject({ reason: "read", entry: { path: "input.3" } });
});

test("tools and instructions are cached without any message in common", async () => {
  const { ask } = await started("responses");
  await ask({ said: ["Something."] });
  const { verdict } = await ask({ said: ["Something else."] });
  expect(verdict).toMatchObject({ reason: "changed", differs: { path: "input.0" }, entry: { path: "tools.1" } });
  expect(verdict.tokens.read).toBeGreaterThan(0);
});

test("DeepSeek separates caches by user", async () => {
  const server = await startReferenceServer({ chat: "deepseek" });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const chat = cachedFronts.find(({ name }) => name === "chat") ?? expect.fail("chat");
  const ask = (user: string) => askCached(server, chat, { said: words.slice(0, 1), more: { user_id: user } });
  await ask("a");
  expect([(await ask("b")).verdict.reason, (await ask("a")).verdict.reason]).toEqual(["other-partition", "read"]);
});
