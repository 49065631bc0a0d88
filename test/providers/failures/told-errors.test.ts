import { afterEach, expect, test, vi } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { createEngine, openStore, RunFailedError } from "../../../src/index.ts";
import { rehearsedProviders } from "../../../src/testing/rehearsal/rehearsed-providers.ts";

const names = [
  ...(["responses", "chat", "chat-openai", "chat-deepseek", "chat-mistral", "chat-groq", "chat-llama.cpp"] as const),
  ...(["chat-ollama", "ollama", "google", "google-interactions", "anthropic", "anthropic-threads"] as const),
];

afterEach(() => {
  vi.unstubAllGlobals();
});

/** How a run ends whose server answers this under HTTP 200, and how often it asked. */
async function failureOf(name: (typeof names)[number], body: string, type: string) {
  const { server: dialect, provider } = rehearsedProviders[name];
  await using server = await startReferenceServer({ ...dialect, seed: "told" });
  const fetch = vi.fn(async () => new Response(body, { headers: { "content-type": type } }));
  vi.stubGlobal("fetch", fetch);
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("How is the weather?");
  const engine = createEngine({ provider: provider(server.baseUrl, "sse"), retry: { maxRetries: 0 } });
  const error: unknown = await conversation.run(engine).catch((thrown: unknown) => thrown);
  if (!(error instanceof RunFailedError)) throw new Error("the run did not fail", { cause: error });
  return { kind: error.kind, cause: error.cause };
}

const told = { error: { code: 429, message: "Quota is used for now.", status: "RESOURCE_EXHAUSTED" } };
const said = JSON.stringify(told);

test.each(names)("%s: an error under HTTP 200 is what it says, as JSON, as a list, and as an event", async (name) => {
  const streamed = (text: string) => [`data: ${text}\n\n`, "text/event-stream"] as const;
  for (const [body, type] of [[said, "application/json"], streamed(said), streamed(`[${said}]`)] as const) {
    expect(await failureOf(name, body, type)).toMatchObject({
      kind: "rate-limited",
      cause: { message: "Quota is used for now.", status: 429, outcome: "rejected" },
    });
  }
});
