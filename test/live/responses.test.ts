import { describe, test } from "vitest";
import { azureResponses, openaiResponses } from "../../src/index.ts";
import {
  functionCall,
  message,
  type Reading,
  reasoning,
  startReferenceServer,
} from "../../src/reference-server/server.ts";
import { type Endpoint, scenarios } from "./scenarios.ts";

/** An endpoint that costs money is asked only by who names it, and never by a CI. */
const { TURNLOG_LIVE_KEY: key, TURNLOG_LIVE_URL: url, TURNLOG_LIVE_MODEL: model = "gpt-5.4-mini", CI } = process.env;
const isLive = key !== undefined && key !== "" && (CI === undefined || CI === "");

describe("the reference server", () => {
  test.each(scenarios)("%s", async (_, scenario) => {
    await using server = await startReferenceServer({ answer: ({ reading }) => ({ output: answerTo(reading) }) });
    await scenario((options) => openaiResponses({ model: "m", apiKey: "none", baseURL: server.baseUrl, ...options }));
  });
});

describe("the reference server as Azure", () => {
  test.each(scenarios)("%s", async (_, scenario) => {
    await using server = await startReferenceServer({
      azure: {},
      answer: ({ reading }) => ({ output: answerTo(reading) }),
    });
    await scenario((options) =>
      azureResponses({ model: "m", endpoint: server.baseUrl, apiKey: "any-key", ...options }),
    );
  });
});

if (isLive) {
  describe(`the endpoint at ${url ?? "OpenAI"}`, () => {
    const isAzure = url?.includes(".azure.com") === true;
    const endpoint: Endpoint = (options) =>
      isAzure
        ? azureResponses({ model, endpoint: url, apiKey: key, ...options })
        : openaiResponses({ model, baseURL: url, apiKey: key, ...options });
    test.each(scenarios)("%s", { timeout: 300_000 }, async (_, scenario) => scenario(endpoint));
  });
} else {
  test.skip(`${scenarios.length} scenarios against a real endpoint (skipped: TURNLOG_LIVE_KEY is not set, or this is CI)`, () =>
    undefined);
}

/** A model that understands what the scenarios ask, and nothing else. */
function answerTo({ items, tools }: Reading) {
  const texts = items.map((item) => JSON.stringify(item["content"] ?? item["output"] ?? ""));
  const asked = texts.at(-1) ?? "";
  const [, exactly] = /with exactly: (\w+)/.exec(asked) ?? [];
  const told = /My word is (\w+)\./.exec(texts.slice(0, -1).join("\n"))?.[1] ?? "NONE";
  const isCalled = items.some(({ type }) => type === "function_call_output");
  if (tools.length > 0 && !isCalled) return [reasoning(), functionCall("weather", '{"city":"Paris"}')];
  return [reasoning(), message(isCalled ? asked : (exactly ?? told))];
}
