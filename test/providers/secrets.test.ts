import { expect, test } from "vitest";
import { TurnlogStore } from "../../src/engine/turnlog-store.ts";
import { createEngine, openaiResponses, secret } from "../../src/index.ts";
import { startReferenceServer } from "../../src/reference-server/server.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";

const value = "tok-7f3a9c";
const tools = [{ type: "mcp", server_label: "crm", server_url: "https://crm.example", authorization: secret("CRM") }];

test("a secret reaches the server and never the log, although the server echoes it", async () => {
  await using server = await startReferenceServer();
  const events = createMemoryStore();
  await using store = new TurnlogStore(events);
  const conversation = store.conversation();
  await conversation.append("Who is our largest customer?");
  const provider = openaiResponses({
    model: "m",
    baseURL: server.baseUrl,
    apiKey: "k",
    tools,
    secrets: { CRM: value },
  });
  await conversation.run(createEngine({ provider }));

  expect(server.requests[0]?.bodyText).toContain(`"authorization":"${value}"`);
  const stored: string[] = [];
  for await (const envelope of events.readLog()) stored.push(envelope.data);
  expect(stored.join("\n")).not.toContain(value);
  expect(stored.join("\n")).toContain('{"$secret":"CRM"}');
});

test("a secret without a value is refused before anything is sent", () => {
  expect(() => openaiResponses({ model: "m", apiKey: "k", tools })).toThrow("the secret CRM has no value");
});
