import { expect, test } from "vitest";
import { startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { openStore } from "../../src/conversation/open-store.ts";
import { audio, file, image, text, user } from "../../src/domain/make-block.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import type { Provider } from "../../src/engine/ports/provider.ts";
import { aiSdk } from "../../src/providers/ai-sdk/ai-sdk.ts";
import { azureChat } from "../../src/providers/chat/azure-chat.ts";
import { chatCompletions } from "../../src/providers/chat/chat-completions.ts";
import { type ChatDialectName, chatDialectNames } from "../../src/providers/chat/chat-dialects.ts";
import { replayFolds } from "../../src/replay/fold-replay.ts";
import { dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

const png = "data:image/png;base64,AQID";
const shown = [
  text("Look."),
  image(png),
  image("https://a.example/i.png"),
  file({ name: "a.pdf", data: png }),
  audio("AQID", "wav"),
];

/** Which parts of a message a provider is sent, by their places, and whether the log can be verified. */
async function sent(provider: Provider, parts: readonly JsonObject[] = shown) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append(user(parts));
  await conversation.run(createEngine({ provider }));
  const [request] = dataOf(await eventsOf(conversation), "InferenceRequested");
  const omitted = request?.decision.repairs.find(({ rule }) => rule === "omit-parts")?.detail["parts"];
  const { isSound } = await store.verify();
  expect(isSound).toBe(true);
  expect((await replayFolds(conversation)).difference).toBeNull();
  return parts.map((_, place) => place).filter((place) => !(Array.isArray(omitted) && omitted.includes(place)));
}

test("each dialect is sent the parts that its server takes, and the server refuses none", async () => {
  const taken: Record<ChatDialectName, readonly number[]> = {
    openai: [0, 1, 2, 3, 4],
    deepseek: [0],
    mistral: [0, 1, 2],
    groq: [0, 1, 2],
    openrouter: [0, 1, 2, 3, 4],
    "gemini-openai": [0, 1, 2, 4],
    vllm: [0, 1, 2, 4],
    "llama.cpp": [0, 1, 2, 4],
    ollama: [0, 1, 2],
  };
  for (const dialect of chatDialectNames) {
    await using server = await startReferenceServer({ chat: dialect });
    const provider = chatCompletions({ model: "m", dialect, baseURL: server.baseUrl, apiKey: "sk-test-key" });
    expect([dialect, await sent(provider)]).toEqual([dialect, taken[dialect]]);
  }
});

test("what the caller says of parts holds, whatever the dialect says", async () => {
  await using server = await startReferenceServer({ chat: "groq" });
  const asked = { model: "m", baseURL: server.baseUrl, apiKey: "sk-test-key" };
  expect(await sent(chatCompletions({ ...asked, dialect: "groq", capabilities: { images: false } }))).toEqual([0]);
  expect(await sent(chatCompletions({ ...asked, dialect: "groq", capabilities: { imageUrls: false } }))).toEqual([
    0, 1,
  ]);
  expect(
    await sent(azureChat({ ...azure(server.url), capabilities: { imageUrls: false, files: false, audio: false } })),
  ).toEqual([0, 1]);
  const seeing = chatCompletions({ ...asked, dialect: "deepseek", capabilities: { images: true } });
  expect(seeing).toMatchObject({
    ...{ capabilities: { images: true, files: false, audio: false }, configured: ["images"] },
  });
});

const azure = (endpoint: string) => ({ endpoint, model: "m", apiKey: "sk-test-key" });

test.each([
  [{ image: false }, /capabilities is 'image': .*images/],
  [{ images: "no" }, /capabilities\.images is .*: give true or false/],
])("unknown capabilities are rejected: %j", (capabilities, told) => {
  // @ts-expect-error: what a caller without types may give.
  expect(() => chatCompletions({ model: "m", dialect: "vllm", capabilities })).toThrow(told);
});

test("an error names a message that has nothing else to send", async () => {
  await using store = await openStore("memory:");
  const provider = chatCompletions({ model: "m", dialect: "deepseek", apiKey: "sk-test-key" });
  for (const onUnsendablePart of ["omit", "throw"] as const) {
    const conversation = store.conversation();
    await conversation.append(user([image(png)]));
    const error = await rejectionOf(conversation.run(createEngine({ provider, onUnsendablePart })));
    expect(String(error)).toContain("it takes no images");
  }
});

/** A model that says what it was shown. */
function sdkModel(supportedUrls: unknown) {
  const prompts: JsonObject[] = [];
  const told = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const model = {
    ...{ specificationVersion: "v4", provider: "test", modelId: "m", supportedUrls },
    doGenerate: (options: unknown) => {
      if (isJsonObject(options)) prompts.push(options);
      const content = [{ type: "text", text: "I see." }];
      return Promise.resolve({ content, finishReason: { unified: "stop", raw: "stop" }, usage: told, warnings: [] });
    },
    doStream: () => Promise.reject(new Error("not asked for")),
  };
  return { prompts, provider: aiSdk({ model, transport: "json" }), model };
}

const atAddresses = [text("Look."), image("https://a.example/i.png"), image("https://B.example/i.png"), image(png)];

test("a model of the AI SDK is given the addresses that its server fetches, and no others", async () => {
  const some = { "image/*": [/^https:\/\/b\.example\//], "application/pdf": [/./] };
  expect(await sent(sdkModel(some).provider, atAddresses)).toEqual([0, 2, 3]);
  expect(await sent(sdkModel({}).provider, atAddresses)).toEqual([0, 3]);
  expect(await sent(sdkModel(undefined).provider, atAddresses)).toEqual([0, 1, 2, 3]);
  const { model } = sdkModel({});
  const provider = aiSdk({ model, transport: "json", supportedUrls: { "*/*": [/^https:/] } });
  expect(await sent(provider, atAddresses)).toEqual([0, 1, 2, 3]);
});

test("a model that says only when it is asked what its server fetches is not sent what it would not understand", async () => {
  const { provider, prompts } = sdkModel(Promise.resolve({ "image/*": [/^https:\/\/b\.example\//] }));
  const error = await rejectionOf(sent(provider, atAddresses));
  expect(String(error)).toContain("takes no image at this address");
  expect(prompts).toEqual([]);
  expect(await sent(provider, [text("Look."), image("https://b.example/i.png")])).toEqual([0, 1]);
});

test("invalid patterns are rejected", () => {
  const { model } = sdkModel({});
  // @ts-expect-error: what a caller without types may give.
  expect(() => aiSdk({ model, supportedUrls: { "image/*": "https" } })).toThrow(/supportedUrls is .*: give patterns/);
});
