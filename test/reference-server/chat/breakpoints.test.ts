import { expect, test } from "vitest";
import {
  type ChatServerDialect,
  type JsonObject,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";

const explicit = { prompt_cache_breakpoint: { mode: "explicit" } };
const ephemeral = { cache_control: { type: "ephemeral" } };

const said = (mark: JsonObject, role = "user"): JsonObject => ({
  role,
  content: [{ type: "text", text: "Hi.", ...mark }],
});

async function asked(chat: ChatServerDialect, messages: readonly JsonObject[], more: JsonObject = {}) {
  await using server = await startReferenceServer({
    ...{ seed: "marks", chat, caches: { chat: { boundaries: "breakpoints" } } },
  });
  const body = JSON.stringify({ model: "m", messages, ...more });
  const answer = await fetch(`${server.baseUrl}/chat/completions`, { method: "POST", body });
  const { error } = (await answer.json()) as { readonly error?: { readonly message: string; readonly param?: string } };
  return { ...error, cache: server.requests[0]?.cache };
}

test.each<[ChatServerDialect, JsonObject, string]>([
  ["openai", { prompt_cache_breakpoint: { mode: "implicit" } }, "messages[0].content[0].prompt_cache_breakpoint.mode"],
  [
    "openai",
    { prompt_cache_breakpoint: { mode: "explicit", ttl: "1h" } },
    "messages[0].content[0].prompt_cache_breakpoint.ttl",
  ],
  ["openrouter", { cache_control: { type: "forever" } }, "messages[0].content[0].cache_control.type"],
  ["openrouter", { cache_control: { type: "ephemeral", ttl: "30m" } }, "messages[0].content[0].cache_control.ttl"],
])("%s: %j is no breakpoint", async (chat, mark, param) => {
  expect(await asked(chat, [said(mark)])).toMatchObject({ param, cache: undefined });
});

test("a message of the model takes no breakpoint, OpenRouter at most four, and another server ignores them", async () => {
  const ofModel = [said({}), said(explicit, "assistant")];
  expect((await asked("openai", ofModel)).message).toContain("messages[1].content[0].prompt_cache_breakpoint");
  const five = Array.from({ length: 5 }, () => said(ephemeral));
  expect((await asked("openrouter", five)).message).toBe(
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
  );
  expect((await asked("openrouter", five.slice(1))).cache?.tokens.written).toBeGreaterThan(0);
  expect((await asked("vllm", [said(ephemeral)])).cache?.tokens.written).toBe(0);
});

test("a breakpoint is not read: a text and the same text as its only part are one prompt", async () => {
  const sizes = await Promise.all(
    [said(explicit), said({}), { role: "user", content: "Hi." }].map(
      async (each) => (await asked("openai", [each])).cache,
    ),
  );
  const [first, ...others] = sizes.map((cache) => cache?.tokens.prompt);
  expect(others).toEqual([first, first]);
  expect(sizes.map((cache) => cache?.tokens.written)).toEqual([first, 0, 0]);
});

test("a breakpoint of the request as a whole is on its last message", async () => {
  const { cache } = await asked("openrouter", [said({}), said({}, "assistant"), said({})], ephemeral);
  expect(cache?.tokens.written).toBe(cache?.tokens.prompt);
});
