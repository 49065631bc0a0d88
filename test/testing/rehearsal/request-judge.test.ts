import { expect, test } from "vitest";
import * as z from "zod";
import type { JsonObject } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { file, system, text, user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import {
  createRequestJudge,
  functionCall,
  message,
  type ReferenceServer,
  type RequestJudge,
  reasoning,
  rehearseChats,
  startReferenceServer,
} from "../../../src/entries/testing.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

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

/** A conversation with files under ids, answered at one server and continued at another; each has its judge. */
async function handedOver(shown: readonly JsonObject[], account: { readonly organization?: string } = {}) {
  const answer = () => ({ output: [message("I see.")] });
  await using first = await startReferenceServer({ answer });
  await using second = await startReferenceServer({ answer });
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  await conversation.append(user(shown));
  const judges: RequestJudge[] = [];
  for (const server of [first, second, first]) {
    const judge = createRequestJudge(server);
    judges.push(judge);
    const provider = openaiResponses({ model: "any", apiKey: "none", baseURL: server.baseUrl, ...account });
    await conversation.append("And now?");
    await conversation.run(createEngine({ provider, middleware: [judge.layer] }));
  }
  const read = second.reading(0)?.items.map(({ content }) => JSON.stringify(content)) ?? [];
  return { judges: judges.map(({ judged, unjudged, incoherences }) => ({ judged, unjudged, incoherences })), read };
}

const coherent = { judged: 1, unjudged: 0, incoherences: [] };
const report = file({ fileId: "file-1" });

test("a file that another server keeps is left out, with its message where that says nothing else", async () => {
  const withText = await handedOver([text("Look."), report, { type: "image", fileId: "file-2" }]);
  expect(withText.judges).toEqual([coherent, coherent, coherent]);
  expect(withText.read.join()).not.toContain("file-");
  const alone = await handedOver([report]);
  expect(alone.judges).toEqual([coherent, coherent, coherent]);
  expect(alone.read).toHaveLength(3);
});

test("of a file that another account at the same address may keep it cannot tell", async () => {
  const { judges } = await handedOver([text("Look."), report], { organization: "org-1" });
  const untold = { judged: 0, unjudged: 1, incoherences: [] };
  expect(judges).toEqual([coherent, coherent, untold]);
});

test("what the Responses API has no form for is left out", async () => {
  const { judges } = await handedOver([text("Look."), { type: "refusal", refusal: "No." }]);
  expect(judges).toEqual([coherent, coherent, coherent]);
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
