import { afterEach, describe, expect, test, vi } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { createEngine, openStore, secret } from "../../../src/index.ts";
import { type AzureChatOptions, azureChat } from "../../../src/providers/chat/azure-chat.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { ask, failureOf } from "../../support/providers/inferences.ts";
import { answering, serve } from "../../support/providers/loopback.ts";

const answer = {
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
};
const azure = (options: Partial<AzureChatOptions>) =>
  azureChat({ model: "my-deployment", apiKey: "azure-key-1", ...options });

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a deployment of Azure is asked with its key as api-key, and a conversation goes on", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output: [message("Hello.")] }) });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const engine = createEngine({ provider: azure({ endpoint: server.baseUrl }) });
  for (const said of ["One?", "Two?"]) {
    await conversation.append(said);
    expect((await conversation.run(engine)).text).toBe("Hello.");
  }
  const [request] = server.requests;
  expect(request?.headers).toMatchObject({ "api-key": "azure-key-1" });
  expect(request?.headers).not.toHaveProperty("authorization");
  expect((await store.verify()).problems).toEqual([]);
});

describe("requests go", () => {
  test.each([
    ["", undefined, "/openai/v1/chat/completions"],
    ["/", undefined, "/openai/v1/chat/completions"],
    ["/openai/v1/", undefined, "/openai/v1/chat/completions"],
    ["/openai/v1/chat/completions", undefined, "/openai/v1/chat/completions"],
    ["/team/openai/v1", undefined, "/team/openai/v1/chat/completions"],
    ["", "preview", "/openai/v1/chat/completions?api-version=preview"],
  ])("from '%s' and the version %s to %s", async (path, apiVersion, expected) => {
    await using server = await serve(answering(answer));
    const endpoint = `${new URL(server.baseURL).origin}${path}`;
    const asked = ask(azure({ endpoint, apiVersion, transport: "json" }));
    expect((await asked).response).toEqual(answer);
    expect(server.received[0]?.url).toBe(expected);
  });

  test("with a token in the place of a key, which is asked for before each", async () => {
    await using server = await serve(answering(answer));
    const token = () => "entra-token-1";
    await ask(azureChat({ model: "m", endpoint: server.baseURL, token, transport: "json" }));
    expect(server.received[0]?.headers).toMatchObject({ authorization: "Bearer entra-token-1" });
    expect(server.received[0]?.headers).not.toHaveProperty("api-key");
  });
});

test("an answer belongs to the resource, for any user, and OpenAI's own endpoint is another one", () => {
  const endpoint = "https://r.openai.azure.com";
  const scopes = [azure({ endpoint }), azure({ endpoint, apiKey: "azure-key-2" })].map(({ scope }) => scope);
  expect(new Set(scopes)).toEqual(
    new Set(["chat https://r.openai.azure.com/openai/v1 organization= project= codec=chat owner=resource"]),
  );
  vi.stubEnv("OPENAI_ORG_ID", "org-of-openai");
  expect(azure({ endpoint }).scope).toBe(scopes[0]);
  expect(chatCompletions({ model: "m", apiKey: "k" }).scope).not.toBe(scopes[0]);
});

test("a key that the server repeats is masked", async () => {
  await using server = await serve(answering({ error: { message: "no azure-key-9 here" } }, 401));
  const provider = azure({ endpoint: server.baseURL, apiKey: secret("KEY"), secrets: { KEY: "azure-key-9" } });
  expect((await failureOf(ask(provider))).message).toBe("no [secret KEY] here");
});

test.each([
  [{}, /^azureChat has no endpoint: set AZURE_OPENAI_ENDPOINT/],
  [{ endpoint: "https://r.example/openai/deployments/m/chat/completions" }, /has a deployment in its endpoint/],
  [{ endpoint: "https://r.example", apiKey: "" }, /^azureChat has no key: set AZURE_OPENAI_API_KEY/],
  [{ endpoint: "https://r.example", token: () => "t" }, /has both an apiKey and a token/],
  [
    { endpoint: "https://r.example", apiVersion: "2024-10-21" },
    /has the apiVersion '2024-10-21', which is older than v1/,
  ],
  [
    { endpoint: "https://r.example", baseURL: "https://x.example" },
    /has no option 'baseURL': give the address as endpoint/,
  ],
  [{ endpoint: "https://r.example", dialect: "groq" }, /has no option 'dialect'/],
] as const)("%j is refused", (options, text) => {
  // As JavaScript may give it.
  expect(() => azure(options as Partial<AzureChatOptions>)).toThrow(text);
});
