import { expect, onTestFinished, test } from "vitest";
import {
  type CacheOptions,
  type JsonObject,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isObject, parseJson } from "../../../packages/reference-server/src/wire.ts";

const minute = 60_000;
const long = (name: string): string => `${name} ${"x".repeat(396)}`;
const mark = (ttl?: "5m" | "1h"): JsonObject => ({
  cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) },
});
const text = (name: string, more: JsonObject = {}): JsonObject => ({ type: "text", text: long(name), ...more });
const image: JsonObject = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const user = (...content: readonly JsonObject[]): JsonObject => ({ role: "user", content });
const model = (...content: readonly JsonObject[]): JsonObject => ({ role: "assistant", content });
/** Marks after the tools, the system prompt and the messages. */
const whole: JsonObject = {
  ...{ model: "claude-test", max_tokens: 9, messages: [user(text("hello", mark()))] },
  tools: [{ name: "look-up", description: long("tool"), input_schema: { type: "object" }, ...mark() }],
  system: [text("system", mark())],
};

async function started(facts: CacheOptions = {}) {
  const clock = { ms: 0 };
  const server = await startReferenceServer({ seed: "cache", now: () => clock.ms, caches: { messages: facts } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const ask = async (more: JsonObject = {}) => {
    const answer = await fetch(`${server.baseUrl}/messages`, {
      method: "POST",
      body: JSON.stringify({ ...whole, ...more }),
    });
    const told = parseJson(await answer.text());
    const usage = isObject(told) && isObject(told["usage"]) ? told["usage"] : expect.fail(JSON.stringify(told));
    const { cache } = server.requests.at(-1) ?? {};
    if (cache === undefined) throw new Error("no verdict");
    return { usage, ...cache };
  };
  return { ask, clock };
}

test.each([
  ["model", { model: "claude-other" }, "setting-changed", undefined],
  ["tools", { tools: [] }, "tools-changed", undefined],
  ["speed", { speed: "fast" }, "setting-changed", "tools.0"],
  ["system prompt", { system: [text("other", mark())] }, "changed", "tools.0"],
  ["system prompt, that is none,", { system: [] }, "changed", "tools.0"],
  ["tool_choice", { tool_choice: { type: "any" } }, "setting-changed", "system.0"],
  ["thinking", { thinking: { type: "enabled", budget_tokens: 1_024 } }, "setting-changed", "system.0"],
  ["effort", { output_config: { effort: "low" } }, "setting-changed", "system.0"],
  ["an image", { messages: [user(text("hello", mark()), image)] }, "setting-changed", "system.0"],
  ["a message", { messages: [user(text("bye", mark()))] }, "changed", "system.0"],
  ["metadata", { metadata: {} }, "read", "messages.0.content.0"],
] as const)("another %s loses the tiers behind it, and keeps those before", async (_, more, reason, entry) => {
  const { ask } = await started();
  await ask();
  const verdict = await ask(more);
  expect([verdict.reason, verdict.entry?.path]).toEqual([reason, entry]);
});

test("a moved mark is no change, and a setting in another order neither", async () => {
  const { ask } = await started();
  await ask();
  const { messages: _, ...others } = whole;
  const moved = await ask({
    messages: [user(text("hello")), model(text("Yes.")), user(text("and", mark()))],
    ...others,
  });
  expect(moved).toMatchObject({ reason: "read", entry: { path: "messages.0.content.0" } });
});

test("without a mark nothing is written or read, and without an earlier mark there is nothing to read", async () => {
  const { ask } = await started();
  const plain = { tools: [], system: long("system"), messages: [user(text("hello"))] };
  const { usage } = await ask(plain);
  expect(usage).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
  expect(await ask(plain)).toMatchObject({ reason: "no-breakpoint", entry: null });
  const marked = { ...plain, messages: [user(text("hello", mark()))] };
  // Compared with a request that had no mark.
  expect(await ask(marked)).toMatchObject({ reason: "no-breakpoint", against: 1 });
  expect(await ask(marked)).toMatchObject({ reason: "read", against: 2 });
});

test("marks under the minimum are dropped silently, each by itself", async () => {
  const { ask } = await started({ minimumTokens: 250 });
  const first = await ask();
  const { input_tokens: uncached, cache_creation_input_tokens: written } = first.usage;
  expect([uncached, written]).toEqual([0, first.tokens.prompt]);
  // Tools and system prompt have fewer tokens: with another message, there is nothing to read.
  const other = await ask({ messages: [user(text("bye", mark()))] });
  expect(other).toMatchObject({ reason: "changed", entry: null });
  const short = { tools: [], system: "Be brief." };
  expect((await ask({ ...short, messages: [user({ type: "text", text: "Hi.", ...mark() })] })).usage).toMatchObject({
    cache_creation_input_tokens: 0,
  });
  expect(await ask({ ...short, messages: [user({ type: "text", text: "Hi.", ...mark() })] })).toMatchObject({
    reason: "below-minimum",
  });
});

test("writes are counted by lifetime: each mark from the one before it", async () => {
  const { ask, clock } = await started();
  const marked = { tools: [], system: [text("system", mark("1h"))], messages: [user(text("hello", mark()))] };
  const { usage, tokens } = await ask(marked);
  const { cache_creation: by, cache_creation_input_tokens: written } = usage;
  expect(written).toBe(tokens.prompt);
  const hour = isObject(by) ? Number(by["ephemeral_1h_input_tokens"]) : 0;
  expect(hour).toBeGreaterThan(100);
  expect(by).toEqual({ ephemeral_1h_input_tokens: hour, ephemeral_5m_input_tokens: tokens.prompt - hour });
  expect((await ask(marked)).usage["cache_creation"]).toEqual({
    ...{ ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
  });
  // After five minutes only the system prompt is left, and reading it refreshes it by its own hour.
  clock.ms += 50 * minute;
  const later = await ask(marked);
  expect(later).toMatchObject({ reason: "expired", entry: { path: "system.0" }, tokens: { read: hour } });
  expect(later.usage["cache_creation"]).toEqual({
    ...{ ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: tokens.prompt - hour },
  });
  // A mark with a shorter lifetime does not shorten it.
  for (let round = 0; round < 3; round += 1) {
    clock.ms += 50 * minute;
    const shorter = { ...marked, system: [text("system", mark("5m"))] };
    expect(await ask(shorter)).toMatchObject({ entry: { path: "system.0", writtenBy: 0 } });
  }
});

const after = async (blocks: readonly JsonObject[], facts: CacheOptions = {}) => {
  const { ask } = await started(facts);
  const plain = { tools: [], system: [] };
  await ask({ ...plain, messages: [user(text("hello", mark()))] });
  const messages = [model(text("Yes.")), user(...blocks)];
  return { verdict: await ask({ ...plain, messages: [user(text("hello")), ...messages] }) };
};
const marked = (blocks: readonly JsonObject[]): readonly JsonObject[] =>
  blocks.map((block, n) => (n === blocks.length - 1 ? { ...block, ...mark() } : block));
const texts = (count: number) => marked(Array.from({ length: count }, (_, n) => ({ type: "text", text: `${n}.` })));

test.each([
  [18, {}, "read", "messages.0.content.0"],
  [19, {}, "out-of-lookback", undefined],
  [1, { lookback: 3 }, "read", "messages.0.content.0"],
  [2, { lookback: 3 }, "out-of-lookback", undefined],
] as const)("a mark %i blocks after an answer, %o: %s", async (count, facts, reason, entry) => {
  const { verdict } = await after(texts(count), facts);
  expect([verdict.reason, verdict.entry?.path]).toEqual([reason, entry]);
});

test.each([
  [18, "read", "system.0"],
  [19, "out-of-lookback", undefined],
] as const)(
  "settings between the system prompt and %i blocks take no position of the lookback",
  async (count, reason, entry) => {
    const { ask } = await started();
    const system = [text("system", mark())];
    await ask({ tools: [], system, messages: [user({ type: "text", text: "Hi." })] });
    const messages = [user({ type: "text", text: "Hi." }), model(text("Yes.")), user(...texts(count - 1))];
    const verdict = await ask({ tools: [], system: [text("system")], messages });
    expect([verdict.reason, verdict.entry?.path]).toEqual([reason, entry]);
  },
);

test("a mark of the request as a whole is that of its last block, and no other", async () => {
  const { ask } = await started();
  const automatic = { tools: [], system: [], ...mark() };
  await ask({ ...automatic, messages: [user(text("hello")), model(text("Yes.")), user(text("and"))] });
  const other = await ask({ ...automatic, messages: [user(text("hello")), model(text("No.")), user(text("and"))] });
  expect(other).toMatchObject({ reason: "changed", differs: { path: "messages.1.content.0" }, entry: null });
});

test("a run of calls is one position of the lookback, and a run of results another", async () => {
  const { ask } = await started();
  const plain = { tools: [], system: [] };
  await ask({ ...plain, messages: [user(text("hello", mark()))] });
  const calls = Array.from({ length: 30 }, (_, n) => ({
    type: "tool_use",
    id: `call_${n}`,
    name: "look-up",
    input: { n },
  }));
  const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "x" }));
  const messages = [user(text("hello")), model(...calls), user(...marked(results))];
  expect(await ask({ ...plain, messages })).toMatchObject({ reason: "read", entry: { path: "messages.0.content.0" } });
});
