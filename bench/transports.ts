import * as z from "zod";
import { functionCall, message, reasoning, startReferenceServer } from "../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { tool } from "../src/engine/ports/tool.ts";
import { openaiResponses } from "../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import type { BenchRow } from "./row.ts";

const steps = 200;
const resultText = "x".repeat(4 * 1024);
const question = "Read all of it, page by page.";

/**
 * What a long tool loop sends: one call per step, each with a result of 4 KB. New content is the text that the server has not
 * received; the settings are part of every request, because a server keeps none.
 */
export async function benchTransports(): Promise<readonly BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, options] of ways) {
    const { bytes, settingsBytes, requests, milliseconds } = await playLoop(options);
    const least = question.length + steps * resultText.length + requests * settingsBytes;
    rows.push({
      name: `bytes up of ${steps} steps, ${name}`,
      value: bytes / least,
      unit: "of the new content and the settings",
      ...{ bound: 1.1, kind: "at most" },
      note: `${bytes} bytes in ${requests} requests, ${Math.round(milliseconds)} ms`,
    });
  }
  return rows;
}

const ways = [
  ["chained over HTTP", { transport: "json" }],
  ["chained over WebSocket, nothing stored", { transport: "websocket", store: false }],
] as const;

async function playLoop(options: (typeof ways)[number][1]) {
  await using server = await startReferenceServer({
    answer: ({ request }) => ({
      output:
        request < steps
          ? [reasoning({ summary: `page ${request}` }), functionCall("read", `{"page":${request}}`)]
          : [message("That was all of it.")],
    }),
  });
  const read = tool({
    name: "read",
    description: "Reads a page.",
    inputSchema: z.object({ page: z.number() }),
    execute: () => resultText,
  });
  const provider = openaiResponses({ model: "bench", baseURL: server.baseUrl, apiKey: "bench", ...options });
  await using engine = createEngine({ provider, tools: [read], maxSteps: steps + 1 });
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  await conversation.append(question);
  const began = performance.now();
  await conversation.run(engine);
  const milliseconds = performance.now() - began;
  let settingsBytes = 0;
  for await (const { event } of conversation.events())
    if (event.type === "SettingsDeclared") settingsBytes = Buffer.byteLength(JSON.stringify(event.data.settings));
  const bytes = server.requests.reduce((sum, { bodyText }) => sum + Buffer.byteLength(bodyText), 0);
  return { bytes, settingsBytes, requests: server.requests.length, milliseconds };
}
