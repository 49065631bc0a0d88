import { expect, test } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { createEngine, openStore } from "../../../src/index.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import type { ChatCompletionsOptions } from "../../../src/providers/chat/chat-options.ts";

async function bodyWith(options: Partial<ChatCompletionsOptions>): Promise<Record<string, unknown>> {
  await using server = await startReferenceServer({ chat: "vllm", answer: () => ({ output: [message("Hello.")] }) });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Hi?");
  const provider = chatCompletions({ model: "m", dialect: "vllm", baseURL: server.baseUrl, ...options });
  expect((await conversation.run(createEngine({ provider }))).text).toBe("Hello.");
  // The setting is recorded, so that the request is made again byte for byte.
  expect((await store.verify()).problems).toEqual([]);
  return JSON.parse(server.requests[0]?.bodyText ?? "{}") as Record<string, unknown>;
}

test("stream_options ask for the usage, unless they are turned off for servers that refuse them", async () => {
  expect(await bodyWith({})).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  const off = await bodyWith({ stream_options: false, temperature: 0 });
  expect(off).toMatchObject({ stream: true, temperature: 0 });
  expect(off).not.toHaveProperty("stream_options");
});

test("stream_options say more where the caller says more, and nothing where answers are not streamed", async () => {
  const more = await bodyWith({ stream_options: { include_obfuscation: false } });
  expect(more["stream_options"]).toEqual({ include_usage: true, include_obfuscation: false });
  expect(await bodyWith({ stream_options: false, transport: "json" })).not.toHaveProperty("stream_options");
  expect(() => chatCompletions({ model: "m", apiKey: "k", stream_options: "no" as unknown as false })).toThrow(
    /stream_options is a text/,
  );
});
