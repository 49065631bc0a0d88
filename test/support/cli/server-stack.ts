import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";

/** An engine on the server whose address the environment names. */
export const engine = () =>
  createEngine({
    provider: openaiResponses({ model: "m", apiKey: "sk-test", baseURL: process.env["OPENAI_BASE_URL"] }),
  });
