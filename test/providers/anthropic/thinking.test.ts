import { expect, onTestFinished, test } from "vitest";
import { message, reasoning, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import type { JsonValue } from "../../../src/base/json.ts";
import { createEngine, defineMiddleware, type Layer, openStore } from "../../../src/index.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import type { AnthropicOptions } from "../../../src/providers/anthropic/options.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

/** A conversation whose answers all begin with a thought, with a server that looks at what thoughts stand behind. */
async function started() {
  const server = await startReferenceServer({
    ...{ seed: "thinking", checksReasoning: "refuses" },
    answer: ({ request }) => ({ output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const store = await openStore("memory:");
  onTestFinished(() => store[Symbol.asyncDispose]());
  const conversation = store.conversation();
  const say = async (text: string, middleware: readonly Layer[] = [], more: Partial<AnthropicOptions> = {}) => {
    const asked = { model: "claude-test", apiKey: "sk-ant-thinking", baseURL: server.url, instructions: "Be brief." };
    await conversation.append(text);
    await conversation.run(createEngine({ provider: anthropic({ ...asked, ...more }), middleware }));
    return thoughtsIn(server.requests.at(-1)?.bodyText ?? "");
  };
  return { server, conversation, say };
}

const thoughtsIn = (bodyText: string): readonly string[] => [...bodyText.matchAll(/thought \d/g)].map(([text]) => text);

const leftOut = async (conversation: Parameters<typeof eventsOf>[0]): Promise<JsonValue> =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision: { repairs } }) =>
    repairs.map(({ rule, index, detail }) => [rule, index, detail["reason"] ?? null]),
  );

/** Says a block of the user otherwise, for the model alone. */
const edit = (place: number): Layer =>
  defineMiddleware({ name: "edit", version: "1.0.0" }, (next) => async (turn) => {
    const block = turn.at(place);
    const edited = block === undefined ? turn : turn.replace(block, block.withText("Otherwise?"));
    return turn.append(...(await next(edited)).after(edited.length));
  });

test("thinking after an edit is left out before the server would reject it, and the rest stays", async () => {
  const { server, conversation, say } = await started();
  expect(await say("One?")).toEqual([]);
  expect(await say("Two?")).toEqual(["thought 0"]);
  // The second question is another: what was thought before it stays.
  expect(await say("Three?", [edit(3)])).toEqual(["thought 0"]);
  // As it was again: what was thought behind the edit goes, and the others are back.
  expect(await say("Four?")).toEqual(["thought 0", "thought 1"]);
  expect(await say("Five?", [], { instructions: "Be kind." })).toEqual([]);
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const broken = (...places: readonly number[]) => places.map((place) => ["omit", place, "broken-prefix"]);
  expect(await leftOut(conversation)).toEqual([[], [], broken(4), broken(7), broken(1, 4, 7, 10)]);
  expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 5 });
  const { blocks } = await conversation.reasoning();
  expect(blocks.map(({ fate, reason, brokenBy }) => [fate, reason, brokenBy[0]?.what])).toEqual(
    [1, 4, 7, 10].map(() => ["left-out", "broken-prefix", "instructions"]),
  );
});

test("without the oldest thinking the later stays, and a fork knows what it was made from", async () => {
  const { server, conversation, say } = await started();
  const withoutOldest = defineMiddleware({ name: "shorter", version: "1.0.0" }, (next) => async (turn) => {
    const [oldest] = turn.blocks.filter(({ kind }) => kind === "reasoning");
    const shorter = oldest === undefined ? turn : turn.remove(oldest);
    return turn.append(...(await next(shorter)).after(shorter.length));
  });
  for (const text of ["One?", "Two?", "Three?"]) await say(text);
  expect(await say("Four?", [withoutOldest])).toEqual(["thought 1", "thought 2"]);
  // The fourth thought knows nothing of the first, which would stand before it now.
  expect(await say("Five?")).toEqual(["thought 0", "thought 1", "thought 2"]);
  const fork = await conversation.fork();
  await fork.append("Six?");
  const provider = anthropic({
    ...{ model: "claude-test", apiKey: "sk-ant-thinking", baseURL: server.url, instructions: "Be brief." },
  });
  await fork.run(createEngine({ provider, middleware: [edit(3)] }));
  expect(thoughtsIn(server.requests.at(-1)?.bodyText ?? "")).toEqual(["thought 0"]);
  expect(server.requests.every(({ status }) => status === 200)).toBe(true);
});

test("a server that looks refuses what it is sent all the same, and the request goes out again without thinking", async () => {
  const { server, conversation, say } = await started();
  const trusting = { capabilities: { reasoningPrefix: "ignore" } } as const;
  await say("One?", [], trusting);
  expect(await say("Two?", [edit(0)], trusting)).toEqual([]);
  expect(server.requests.map(({ status }) => status)).toEqual([200, 400, 200]);
  const [failed] = dataOf(await eventsOf(conversation), "InferenceFailed");
  expect(failed).toMatchObject({ kind: "invalid-encrypted-content", param: "messages.1.content.0" });
});

test.each(["json", "sse"] as const)(
  "where the server is asked to drop it, such thinking is sent, kept from the model, and told (%s)",
  async (transport) => {
    const { server, conversation, say } = await started();
    const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } as const;
    await say("One?", [], { thinking, transport });
    await say("Two?", [], { thinking, transport });
    expect(await say("Three?", [edit(3)], { thinking, transport })).toEqual(["thought 0", "thought 1"]);
    expect(server.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(server.requests[0]?.headers["anthropic-beta"]).toContain("thinking-binding-controls-2026-08-01");
    const { blocks, unknown } = await conversation.reasoning();
    expect(blocks.map(({ fate, withheld, isSurprise }) => [fate, withheld, isSurprise])).toEqual([
      ["accepted", null, false],
      ["withheld", "prefix", false],
    ]);
    expect(unknown).toEqual([]);
    const read = JSON.stringify(server.reading(2)?.items);
    expect([read.includes("thought 0"), read.includes("thought 1")]).toEqual([true, false]);
    expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 3 });
  },
);

test("the binding of thinking cannot be asked for without the header of its beta", async () => {
  const { server } = await started();
  const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
  const body = { model: "claude-test", max_tokens: 10, thinking, messages: [{ role: "user", content: "Go." }] };
  const answer = await fetch(`${server.url}/v1/messages`, { method: "POST", body: JSON.stringify(body) });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("thinking.block_binding: Extra")]);
});
