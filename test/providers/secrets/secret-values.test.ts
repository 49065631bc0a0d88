import { describe, expect, test } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { openaiResponses } from "../../../src/entries/responses.ts";
import { Block, createEngine, secret } from "../../../src/index.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { ProviderSettingsError } from "../../../src/providers/settings/settings-error.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { answering, serve } from "../../support/providers/loopback.ts";

const value = "tok-7f3a9c";
const tools = [
  { type: "mcp" as const, server_label: "crm", server_url: "https://crm.example", authorization: secret("CRM") },
];
const secrets = { CRM: value };
const create = (options: Partial<OpenaiResponsesOptions>) => openaiResponses({ model: "m", apiKey: "k", ...options });

test("a secret reaches the server and never the log, although the server echoes it; the chain holds", async () => {
  await using server = await startReferenceServer();
  const events = createMemoryStore();
  await using store = new TurnlogStore(events);
  const conversation = store.conversation();
  const engine = createEngine({ provider: create({ baseURL: server.baseUrl, tools, secrets }) });
  await conversation.append("Who is our largest customer?");
  await conversation.run(engine);
  await conversation.append("And the next one?");
  const { steps } = await conversation.run(engine);

  expect(server.requests[0]?.bodyText).toContain(`"authorization":"${value}"`);
  const stored: string[] = [];
  for await (const envelope of events.readLog()) stored.push(envelope.data);
  expect(stored.join("\n")).not.toContain(value);
  expect(stored.join("\n")).toContain('{"$secret":"CRM"}');
  expect(steps[0]?.decision.strategy).toBe("chained");
});

test("what looks like a secret in the input, or is an object of the caller's own, stays what it is", async () => {
  await using server = await serve(answering({ id: "resp_1", status: "completed", output: [] }));
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const payload = { type: "message", role: "user", content: "hi", note: { $secret: "CRM" } };
  await conversation.append(new Block({ id: null, kind: "user", payload, wire: null }));
  await conversation.append('{"$secret":"CRM"}');
  const extraBody = { mine: { $secret: "CRM" } };
  await conversation.run(createEngine({ provider: create({ baseURL: server.baseURL, tools, secrets, extraBody }) }));
  const sent: unknown = JSON.parse(server.received[0]?.body ?? "");
  expect(sent).toMatchObject({
    tools: [{ authorization: value }],
    ...extraBody,
    input: [{ note: { $secret: "CRM" } }, { content: [{ text: '{"$secret":"CRM"}' }] }],
  });
});

test("a secret in a message is refused, for it would be sent by its name", () => {
  const parts = [{ type: "text", text: secret("CRM") }];
  expect(() => new Block({ id: null, kind: "user", payload: { role: "user", content: parts }, wire: null })).toThrow(
    "a block's payload.content[0].text is a secret: give secrets only in a provider's settings, headers or key",
  );
  expect(() => secret("")).toThrow('secret takes the name of a secret, not an empty text: secret("CRM")');
});

test("key and headers may be secrets too", async () => {
  await using server = await serve(answering({ id: "resp_1", status: "completed", output: [] }));
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  await conversation.append("hi");
  const provider = create({
    baseURL: server.baseURL,
    apiKey: secret("KEY"),
    headers: { "x-team-token": secret("TEAM"), "x-plain": "blue" },
    secrets: { KEY: "sk-live-5581", TEAM: "team-4711" },
  });
  await conversation.run(createEngine({ provider }));
  expect(server.received[0]?.headers).toMatchObject({
    authorization: "Bearer sk-live-5581",
    "x-team-token": "team-4711",
    "x-plain": "blue",
  });
});

describe("refused before anything is sent:", () => {
  const mcp = { type: "mcp" as const, server_label: "crm", server_url: "https://crm.example" };
  test.each<[string, Partial<OpenaiResponsesOptions>, RegExp]>([
    ["a secret without a value", { tools }, /^the secret CRM has no value: give it in secrets, as \{ "CRM": … \}$/],
    [
      "a secret whose environment variable is not set",
      { tools, secrets: { CRM: undefined } },
      /^the secret CRM has no value/,
    ],
    [
      "a secret that is no text",
      { secrets: { X: 12345678 as never } },
      /^the secret X is 12345678: give its value as a text$/,
    ],
    [
      "a header that is none",
      { headers: { "x-a": undefined as never } },
      /^headers\.x-a is undefined: give a text, or secret\("NAME"\)$/,
    ],
    ["a key that is none", { apiKey: 4711 as never }, /^apiKey is 4711: give a text/],
    ["a key without a value", { apiKey: secret("KEY") }, /^the secret KEY has no value/],
    ["a short secret", { tools, secrets: { CRM: "1234567" } }, /^the secret CRM has 7 characters: give at least 8/],
    ["a short secret that nothing names", { secrets: { X: "" } }, /^the secret X has 0 characters/],
    [
      "an open credential of a tool",
      { tools: [mcp, { ...mcp, authorization: "tok", headers: { "x-api-key": "key", "x-plain": "blue" } }] },
      /^tools\[1\]\.authorization and headers\.x-api-key would be recorded: write secret\("NAME"\) instead/,
    ],
    [
      "the value of a secret among the settings",
      { secrets, instructions: `Say ${value}.` },
      /^the settings contain the value of the secret CRM, which would be recorded: write secret\("CRM"\) instead$/,
    ],
  ])("%s", (_, options, message) => {
    expect(() => create(options)).toThrow(ProviderSettingsError);
    expect(() => create(options)).toThrow(message);
  });
});
