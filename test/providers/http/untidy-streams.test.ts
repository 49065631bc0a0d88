import { afterEach, expect, test, vi } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { createEngine, openStore } from "../../../src/index.ts";
import { rehearsedProviders } from "../../../src/testing/rehearsal/rehearsed-providers.ts";

/** Every dialect that is read out of an event stream, but for those that bring a reader of their own. */
const streamed = [
  ...(["responses", "chat", "chat-openai", "chat-deepseek", "chat-mistral", "chat-groq", "chat-llama.cpp"] as const),
  ...(["chat-ollama", "google", "google-interactions", "anthropic", "anthropic-threads"] as const),
];

/** What servers, and proxies before them, say between events to keep a connection open. */
const fillers = {
  "an event without data": "event: ping\n\n",
  "an event whose data is empty": "data:\n\n",
  "an event whose data is blank": "event: ping\ndata:  \n\n",
  "a comment": ": OPENROUTER PROCESSING\n\n",
  "an id and a time to reconnect": "id: 7\nretry: 1000\n\n",
  "a ping with data that is no JSON": "event: ping\ndata: 2026-11-23 19:00:00\n\n",
};

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Answers of the reference server, as a server says them that is less tidy. */
function untidy(change: (stream: string) => string): void {
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (...given: Parameters<typeof fetch>) => {
    const answer = await fetch(...given);
    if (!/event-stream/.test(answer.headers.get("content-type") ?? "")) return answer;
    return new Response(change(await answer.text()), { status: answer.status, headers: answer.headers });
  });
}

async function answerOf(name: (typeof streamed)[number]): Promise<string> {
  const { server: dialect, provider } = rehearsedProviders[name];
  const said = "It is sunny, and stays so.";
  await using server = await startReferenceServer({
    ...{ ...dialect, seed: "untidy", deltaLength: 4 },
    answer: () => ({ output: [message(said)] }),
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("How is the weather?");
  const engine = createEngine({ provider: provider(server.baseUrl, "sse"), retry: { maxRetries: 0 } });
  const { text } = await conversation.run(engine);
  expect(server.requests).toHaveLength(1);
  return text;
}

test.each(streamed.flatMap((name) => Object.entries(fillers).map(([what, filler]) => [name, what, filler] as const)))(
  "%s: %s between the events of a stream is passed over",
  async (name, _, filler) => {
    const filled = vi.fn((stream: string) => filler + stream.replaceAll("\n\n", `\n\n${filler}`));
    untidy(filled);
    expect(await answerOf(name)).toBe("It is sunny, and stays so.");
    expect(filled).toHaveBeenCalled();
  },
);

test.each(streamed)("%s: a stream ends with [DONE], with any blanks around it", async (name) => {
  untidy((stream) => `${stream.replace(/data: \[DONE\]\n\n$/, "")}data:  [DONE] \n\ndata: no JSON\n\n`);
  expect(await answerOf(name)).toBe("It is sunny, and stays so.");
});
