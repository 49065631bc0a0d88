import { expect } from "vitest";
import * as z from "zod";
import {
  type Conversation,
  createEngine,
  openStore,
  ProviderError,
  RunFailedError,
  type RunResult,
  tool,
} from "../../src/index.ts";
import type { OpenaiResponses, OpenaiResponsesOptions } from "../../src/providers/responses/responses-options.ts";

/** Makes the provider of an endpoint; the model is a small one that follows instructions. */
export type Endpoint = (
  options?: Pick<OpenaiResponsesOptions, "store" | "transport" | "max_output_tokens" | "background">,
) => OpenaiResponses;

/** What any endpoint of the Responses API has to do with turnlog, asked in words that a model answers in one way. */
export const scenarios: readonly (readonly [string, (endpoint: Endpoint) => Promise<void>])[] = [
  ["continues from a response, and the model knows what was said before it", chained],
  ["is sent everything each time, with the model's encrypted reasoning", stateless],
  ["runs tools, and is sent their results alone", tools],
  ["goes on from an older response after a revert", reverted],
  ["is sent everything once where it has lost a response", lost],
  ["refuses what it does not take, in words that are classified", refused],
  ["streams what it then has said", streamed],
  ["remembers over WebSocket what it does not store, and is sent what is new", overSocket],
  ["is warmed up before anybody asks", warmedUp],
  ["answers in the background, and is waited for", inBackground],
  ["holds the conversation in an object, where it has such", inObject],
];

const remember = (word: string): string => `My word is ${word}. Reply with exactly: OK`;
const recall = "What is my word? Reply with exactly that word, or with NONE if I told you none.";

async function chained(endpoint: Endpoint): Promise<void> {
  const [first, second] = await talk(endpoint(), [remember("PINEAPPLE"), recall]);
  expect([first, second].map(strategies)).toEqual([["full"], ["chained"]]);
  expect(second?.text).toContain("PINEAPPLE");
  expect(second?.usage.inputTokens).toBeGreaterThan(first?.usage.inputTokens ?? Number.POSITIVE_INFINITY);
}

async function stateless(endpoint: Endpoint): Promise<void> {
  const provider = endpoint({ store: false });
  const [first, second] = await talk(provider, [remember("PINEAPPLE"), recall], "stateless");
  expect([first, second].map(strategies)).toEqual([["full"], ["full"]]);
  expect(second?.text).toContain("PINEAPPLE");
  // Where the model reasons, its reasoning comes encrypted, and is taken back.
  const reasoning = first?.blocks.filter(({ kind }) => kind === "reasoning") ?? [];
  for (const { wire } of reasoning) expect(wire?.ciphertext ?? "").not.toBe("");
  expect(second?.losses.filter(({ kind }) => kind === "quarantined-reasoning")).toEqual([]);
}

async function tools(endpoint: Endpoint): Promise<void> {
  const weather = tool({
    name: "weather",
    description: "The weather of a city today. It has to be called for every question about weather.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `It rains frogs in ${city}.`,
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Use the tool: what is the weather in Paris? Reply with its words.");
  const result = await conversation.run(createEngine({ provider: endpoint(), tools: [weather] }));
  expect(strategies(result)).toEqual(["full", "chained"]);
  expect(result.text).toMatch(/frogs/i);
}

async function reverted(endpoint: Endpoint): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const engine = createEngine({ provider: endpoint() });
  const say = sayer(conversation, engine);
  await say("Reply with exactly: OK");
  await say(remember("PINEAPPLE"));
  await conversation.revertToExchange(0);
  const result = await say(recall);
  expect(result.steps[0]?.decision).toMatchObject({ strategy: "rebased", back: 1 });
  expect(result.text).toContain("NONE");
}

async function lost(endpoint: Endpoint): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const provider = endpoint();
  const say = sayer(conversation, createEngine({ provider }));
  const first = await say(remember("PINEAPPLE"));
  await provider.delete(first.steps[0]?.responseId ?? "");
  const result = await say(recall);
  expect(strategies(result)).toEqual(["full"]);
  expect(result.text).toContain("PINEAPPLE");
  const failed: string[] = [];
  for await (const { event } of conversation.events())
    if (event.type === "InferenceFailed") failed.push(event.data.kind);
  expect(failed).toEqual(["lost-state"]);
}

async function refused(endpoint: Endpoint): Promise<void> {
  const failure = await talk(endpoint({ max_output_tokens: 1 }), ["Hello."]).then(
    () => null,
    (error: unknown) => (error instanceof RunFailedError ? error.cause : error),
  );
  expect(failure).toBeInstanceOf(ProviderError);
  expect(failure).toMatchObject({ kind: "invalid-request", outcome: "rejected", param: "max_output_tokens" });
}

async function streamed(endpoint: Endpoint): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append(remember("PINEAPPLE"));
  let said = "";
  let text = "";
  for await (const part of conversation.stream(createEngine({ provider: endpoint({ transport: "sse" }) }))) {
    if (part.type === "text-delta") said += part.text;
    if (part.type === "run-end") text = part.result.text;
  }
  expect(said).toBe(text);
  expect(said).not.toBe("");
}

async function overSocket(endpoint: Endpoint): Promise<void> {
  const provider = endpoint({ transport: "websocket", store: false });
  const [first, second] = await talk(provider, [remember("PINEAPPLE"), recall]);
  expect([first, second].map(strategies)).toEqual([["full"], ["chained"]]);
  const decisions = [first, second].flatMap((result) => result?.steps ?? []).map(({ decision }) => decision);
  expect(decisions.map(({ transport }) => transport)).toEqual(["websocket", "websocket"]);
  expect(second?.text).toContain("PINEAPPLE");
}

async function warmedUp(endpoint: Endpoint): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await using engine = createEngine({ provider: endpoint({ transport: "websocket", store: false }) });
  expect(await conversation.warmUp(engine)).toMatchObject({ status: "warm", failure: null });
  await conversation.append("Reply with exactly: OK");
  expect(strategies(await conversation.run(engine))).toEqual(["chained"]);
}

async function inBackground(endpoint: Endpoint): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const engine = createEngine({ provider: endpoint({ background: true, store: true, transport: "sse" }) });
  const result = await sayer(conversation, engine)("Reply with exactly: PINEAPPLE");
  expect(result.text).toContain("PINEAPPLE");
  const started: string[] = [];
  for await (const { event } of conversation.events())
    if (event.type === "ResponseStarted") started.push(event.data.responseId);
  expect(started).toEqual([result.steps[0]?.responseId]);
}

/** Not every endpoint has them: one that turns out to have none is sent whole Turns, and remembered as such. */
async function inObject(endpoint: Endpoint): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const provider = endpoint({ store: true });
  const say = sayer(conversation, createEngine({ provider, mode: "conversation" }));
  await say(remember("PINEAPPLE"));
  const result = await say(recall);
  expect(result.text).toContain("PINEAPPLE");
  const objects = new Set<string>();
  let isLacking = false;
  for await (const { event } of conversation.events()) {
    if (event.type === "ServerConversationChanged") objects.add(event.data.anchor.id);
    isLacking ||= event.type === "CapabilityLearned" && event.data.capability === "conversations";
  }
  expect(objects.size).toBe(isLacking ? 0 : 1);
  expect(strategies(result)).toEqual([isLacking ? "full" : "chained"]);
  for (const id of objects) await provider.deleteConversation(id);
}

/** The results of a conversation of these messages. */
async function talk(
  provider: OpenaiResponses,
  messages: readonly string[],
  mode?: "stateless",
): Promise<readonly RunResult[]> {
  await using store = await openStore("memory:");
  await using engine = createEngine({ provider, ...(mode === undefined ? {} : { mode }) });
  const say = sayer(store.conversation(), engine);
  const results: RunResult[] = [];
  for (const message of messages) results.push(await say(message));
  return results;
}

const sayer =
  (conversation: Conversation, engine: ReturnType<typeof createEngine>) =>
  async (text: string): Promise<RunResult> => {
    await conversation.append(text);
    return conversation.run(engine);
  };

const strategies = (result: RunResult | undefined): readonly string[] =>
  (result?.steps ?? []).map(({ decision }) => decision.strategy);
