import { describe, expect, test } from "vitest";
import { startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { azureResponses, openaiResponses } from "../../src/entries/responses.ts";
import { answerAsAsked } from "../support/live/understanding-model.ts";
import { liveEndpoint } from "./endpoint.ts";
import { scenarios } from "./scenarios.ts";

describe("the reference server", () => {
  test.each(scenarios)("%s", async (_, scenario) => {
    await using server = await startReferenceServer({ answer: answerAsAsked });
    await scenario((options) => openaiResponses({ model: "m", apiKey: "none", baseURL: server.baseUrl, ...options }));
  });
});

describe("the reference server as Azure", () => {
  test.each(scenarios)("%s", async (_, scenario) => {
    await using server = await startReferenceServer({ azure: {}, answer: answerAsAsked });
    await scenario((options) =>
      azureResponses({ model: "m", endpoint: server.baseUrl, apiKey: "any-key", ...options }),
    );
  });
});

const live = liveEndpoint(process.env);
if (live === null) {
  test.skip(`${scenarios.length} scenarios against a real endpoint (skipped: TURNLOG_LIVE_KEY is not set, or this is CI)`, () =>
    undefined);
} else {
  describe(`the endpoint at ${live.name}`, () => {
    test.each(scenarios)("%s", { timeout: 300_000 }, async (_, scenario) => scenario(live.endpoint));
  });
}

test("an endpoint that costs money is asked only with a key that was named for it, and by no CI", () => {
  const key = { TURNLOG_LIVE_KEY: "sk-live" };
  expect([{}, { TURNLOG_LIVE_KEY: "" }, { ...key, CI: "true" }].map(liveEndpoint)).toEqual([null, null, null]);
  expect([key, { ...key, CI: "" }].map((environment) => liveEndpoint(environment)?.name)).toEqual(["OpenAI", "OpenAI"]);
});
