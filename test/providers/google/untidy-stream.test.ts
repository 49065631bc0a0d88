import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { GeminiStream } from "../../../src/providers/google/gemini-stream.ts";
import { InteractionStream } from "../../../src/providers/google/interaction-stream.ts";

test("what every chunk says of a candidate is kept: sources, citations and probabilities, at any depth", () => {
  const stream = new GeminiStream(() => undefined);
  const said = (text: string, n: number, more: JsonObject = {}): JsonObject => ({
    candidates: [
      {
        content: { role: "model", parts: [{ text }] },
        groundingMetadata: {
          webSearchQueries: [`q${n}`],
          groundingChunks: [{ web: { uri: `https://a.example/${n}` } }],
        },
        citationMetadata: { citationSources: [{ startIndex: n }] },
        logprobsResult: { chosenCandidates: [{ token: text }], topCandidates: [{ candidates: [{ token: text }] }] },
        ...more,
      },
    ],
  });
  stream.take(said("It ", 1));
  stream.take(said("is.", 2, { finishReason: "STOP" }));
  expect(stream.response["candidates"]).toEqual([
    {
      content: { role: "model", parts: [{ text: "It is." }] },
      groundingMetadata: {
        webSearchQueries: ["q1", "q2"],
        groundingChunks: [{ web: { uri: "https://a.example/1" } }, { web: { uri: "https://a.example/2" } }],
      },
      citationMetadata: { citationSources: [{ startIndex: 1 }, { startIndex: 2 }] },
      logprobsResult: {
        chosenCandidates: [{ token: "It " }, { token: "is." }],
        topCandidates: [{ candidates: [{ token: "It " }] }, { candidates: [{ token: "is." }] }],
      },
      finishReason: "STOP",
    },
  ]);
});

test("what a tool of Google's gives in pieces is kept whole", () => {
  const stream = new InteractionStream(() => undefined);
  const delta = (n: number): JsonObject => ({
    ...{ event_type: "step.delta", index: 0 },
    delta: { type: "google_search_result", result: [{ n }], seen: { [n]: true } },
  });
  stream.take(null, { event_type: "step.start", index: 0, step: { type: "google_search_result", call_id: "c" } });
  for (const n of [1, 2]) stream.take(null, delta(n));
  const made = stream.take(null, {
    event_type: "interaction.completed",
    interaction: { id: "int_1", status: "completed" },
  });
  expect(made?.["steps"]).toEqual([
    { type: "google_search_result", call_id: "c", result: [{ n: 1 }, { n: 2 }], seen: { 1: true, 2: true } },
  ]);
});
