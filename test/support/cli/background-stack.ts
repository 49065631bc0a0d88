import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";

/** A model that answers in the background, at the address and by the transport that the environment names. */
export const engine = (): Engine =>
  createEngine({
    provider: openaiResponses({
      ...{ model: "m", apiKey: "sk-test", baseURL: process.env["BASE_URL"] ?? "" },
      ...{ background: true, store: true, transport: process.env["TRANSPORT"] === "sse" ? "sse" : "json" },
    }),
  });
