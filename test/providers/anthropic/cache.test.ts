import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import {
  functionCall,
  message,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../../../src/base/json.ts";
import { createEngine, defineMiddleware, openStore, tool, user } from "../../../src/index.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import type { AnthropicOptions } from "../../../src/providers/anthropic/options.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const asked = { model: "claude-test", apiKey: "sk-ant-cache", instructions: "Be brief." };

async function started(answer: (request: number) => ScriptedAnswer = () => ({ output: [message("Yes.")] })) {
  const server = await startReferenceServer({ seed: "cache", answer: ({ request }) => answer(request) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const store = await openStore("memory:");
  onTestFinished(() => store[Symbol.asyncDispose]());
  const provider = (more: Partial<AnthropicOptions> = {}) => anthropic({ ...asked, baseURL: server.url, ...more });
  return { server, conversation: store.conversation(), provider };
}

/** Where the marks of a body stand, as paths. */
function marksOf(value: JsonValue | undefined, path = ""): readonly string[] {
  if (isJsonList(value)) return value.flatMap((each, n) => marksOf(each, `${path}.${n}`));
  if (!isJsonObject(value)) return [];
  const inner = Object.entries(value).flatMap(([name, each]) => marksOf(each, `${path}.${name}`));
  return value["cache_control"] === undefined ? inner : [path.slice(1), ...inner];
}

test("marked are the system prompt, where earlier requests ended and where this one does; the log says where", async () => {
  const { server, conversation, provider } = await started();
  const engine = createEngine({ provider: provider() });
  for (const said of ["One?", "Two?", "Three?", "Four?"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  const ends = [[0], [0, 2], [0, 2, 4], [2, 4, 6]];
  expect(server.requests.map(({ body }) => marksOf(body))).toEqual(
    ends.map((all) => ["system.0", ...all.map((n) => `messages.${n}.content.0`)]),
  );
  const requests = dataOf(await eventsOf(conversation), "InferenceRequested");
  expect(requests.map(({ decision }) => decision.details)).toEqual([
    { cache: [1, 0] },
    { cache: [3, 1, 0] },
    { cache: [5, 3, 1, 0] },
    { cache: [7, 5, 3, 0] },
  ]);
  expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 4 });
});

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({ of: z.number() }),
  execute: ({ of }) => `found ${of}`,
});

test("what was cached is found behind an answer of more blocks than the server looks back over", async () => {
  // A run of calls, or of results, is one position of the lookback, so texts separate the calls.
  const calls = Array.from({ length: 12 }, (_, of) => [
    message(`Now ${of}.`),
    functionCall("look-up", JSON.stringify({ of })),
  ]);
  const cachedBy = async (cache: Partial<AnthropicOptions>) => {
    const { conversation, provider } = await started((request) => ({
      output: request === 0 ? [reasoning({ summary: "Hm." }), ...calls.flat()] : [message("Done.")],
    }));
    await conversation.append("Look all up.");
    return (await conversation.run(createEngine({ provider: provider(cache), tools: [lookUp] }))).usage
      .cachedInputTokens;
  };
  // One mark at the end, as the API sets it by itself, is too far from the one before it.
  expect(await cachedBy({ cache_control: { type: "ephemeral" } })).toBe(0);
  expect(await cachedBy({})).toBeGreaterThan(0);
});

test("behind an edit, the longest beginning that was sent before is read from the cache", async () => {
  const { conversation, provider } = await started();
  const edit = defineMiddleware({ name: "edit", version: "1.0.0" }, (next) => (turn) => {
    const third = turn.blocks.filter(({ kind }) => kind === "user")[2];
    return next(third === undefined ? turn : turn.replace(third, third.withText("Something else?")));
  });
  const cached: number[] = [];
  for (const [said, middleware] of [
    ...[["One?", []] as const, ["Two?", []] as const, ["Three?", []] as const, ["Four?", [edit]] as const],
  ]) {
    await conversation.append(`${said} ${"x".repeat(400)}`);
    const { usage } = await conversation.run(createEngine({ provider: provider(), middleware }));
    cached.push(usage.cachedInputTokens);
  }
  const [, , third = 0, fourth] = cached;
  // Both begin with the first two exchanges and no more.
  expect(fourth).toBe(third);
  expect(third).toBeGreaterThan(100);
});

test("thinking is never marked, and marks that a block came with give way to turnlog's", async () => {
  const { server, conversation, provider } = await started((request) => ({
    output: request === 0 ? [message("Yes."), reasoning({ summary: "Hm." })] : [message("Done.")],
  }));
  const own = { type: "text", text: "One?", cache_control: { type: "ephemeral" } };
  await conversation.append(user([own, own, own, own, own]));
  await conversation.run(createEngine({ provider: provider() }));
  await conversation.append("Two?");
  await conversation.run(createEngine({ provider: provider() }));
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200]);
  expect(server.requests.map(({ body }) => marksOf(body))).toEqual([
    ["system.0", "messages.0.content.4"],
    ["system.0", "messages.0.content.4", "messages.2.content.0"],
  ]);
});

test("cache breakpoints are the caller's if a setting has one, and absent in threads and outside the conversation", async () => {
  const mark = { type: "ephemeral" } as const;
  for (const own of [
    { cache_control: mark },
    { instructions: [{ type: "text", text: "x", cache_control: mark }] },
    { threads: true },
  ]) {
    expect(anthropic({ ...asked, ...own }).settings).not.toHaveProperty("cache");
    expect(() => anthropic({ ...asked, ...own, cache: true })).toThrow(/cache cannot go with/);
  }
  // @ts-expect-error: so long it keeps nothing.
  expect(() => anthropic({ ...asked, cache: { ttl: "2h" } })).toThrow('{ ttl: "5m" } or { ttl: "1h" }');
  const { server, conversation, provider } = await started();
  const aside = defineMiddleware({ name: "aside", version: "1.0.0" }, (next) => async (turn, ctx) => {
    await ctx.infer({ input: turn });
    return next(turn);
  });
  await conversation.append("One?");
  await conversation.run(createEngine({ provider: provider(), middleware: [aside] }));
  expect(server.requests.map(({ body }) => marksOf(body).length)).toEqual([0, 2]);
});
