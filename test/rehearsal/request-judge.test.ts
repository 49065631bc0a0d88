import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { system, user } from "../../src/domain/make-block.ts";
import { createEngine } from "../../src/engine/stack/create-engine.ts";
import { defineMiddleware, type Layer } from "../../src/engine/stack/middleware.ts";
import { tool } from "../../src/engine/stack/tool.ts";
import {
  createRequestJudge,
  functionCall,
  message,
  type ReferenceServer,
  type RequestJudge,
  reasoning,
  rehearseChats,
  startReferenceServer,
} from "../../src/entries/testing.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";

const lookUp = tool({ name: "look-up", description: "Looks up.", inputSchema: z.object({}), execute: () => "found" });

const script = [
  { output: [reasoning({ summary: "Hm." }), functionCall("look-up", "{}"), functionCall("look-up", "{}")] },
  { output: [message("It is found.")] },
  { output: [message("Still there.")] },
];

/** Two runs of an agent with these layers, judged. */
async function judged(
  layers: readonly Layer[],
  {
    spoil,
    systemAs = "input",
  }: { readonly spoil?: (server: ReferenceServer) => void; readonly systemAs?: "input" | "instructions" } = {},
): Promise<RequestJudge> {
  await using server = await startReferenceServer({ script });
  await using store = new TurnlogStore(createMemoryStore());
  const judge = createRequestJudge(server, { systemAs });
  const engine = createEngine({
    provider: openaiResponses({ model: "any", apiKey: "none", baseURL: server.baseUrl, systemAs }),
    tools: [lookUp],
    middleware: [...layers, judge.layer],
  });
  const conversation = store.conversation();
  await conversation.append(system("Be brief."));
  for (const question of ["Find it.", "And now?"]) {
    await conversation.append(question);
    await conversation.run(engine);
    spoil?.(server);
  }
  return judge;
}

const noisy = defineMiddleware({ name: "noisy", version: "1.0.0" }, (next) => (turn) => {
  const second = turn.at(1);
  return next(second === undefined ? turn : turn.replace(second, second.withText("Something else.")));
});

test.each(["input", "instructions"] as const)(
  "finds every request of a sound agent coherent, system blocks in the %s",
  async (systemAs) => {
    expect(await judged([noisy], { systemAs })).toMatchObject({ judged: 3, unjudged: 0, incoherences: [] });
  },
);

test("names the request whose model did not read the Turn", async () => {
  const { incoherences } = await judged([], { spoil: (server) => server.inject({ kind: "ignore-previous" }) });
  expect(incoherences).toHaveLength(1);
  expect(incoherences[0]).toMatch(/^request 2: line 0: expected system \| text .*, the model read user \| text/);
});

test("says of how many requests it cannot tell", async () => {
  const phased = defineMiddleware(
    { name: "phased", version: "1.0.0" },
    (next) => (turn) =>
      next(turn.append(user("Well?").withPayload({ role: "assistant", content: [], phase: "commentary" }))),
  );
  expect(await judged([phased])).toMatchObject({ judged: 0, unjudged: 3 });
});

test("recorded chats are rehearsed in one call", async () => {
  const messages = [
    { role: "user" as const, content: "Hello" },
    { role: "assistant" as const, content: "Hi." },
    { role: "user" as const, content: "Bye" },
    { role: "assistant" as const, content: "Bye." },
  ];
  expect(await rehearseChats([{ id: "greeting", messages }])).toMatchObject({
    conversations: 1,
    requests: 2,
    coherent: 2,
  });
});
