import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, objectOf, objectsOf } from "../../../src/base/json.ts";
import { type Counts, countsSchema } from "../../../src/domain/events/shared.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { cases } from "../../support/cases.ts";
import { googleExchanges, hasGoogleRecordings, needsGoogleRecordings } from "../../support/providers/google-cases.ts";
import { hasRecordings, needsRecordings, recordedExchanges } from "../../support/providers/recorded-cases.ts";

const countsOf = (codec: string, reported: JsonObject, answer: JsonObject = {}): Counts | undefined =>
  codecs.get(codec)?.countsIn?.(reported, answer);

const responses = "openai-responses/1";
const messages = "anthropic-messages/1";

describe("the counts of a usage report", () => {
  test.each<[string, string, JsonObject, JsonObject, Counts]>([
    [
      "of the Responses API, with what was written to a cache by lifetime",
      responses,
      {
        ...{ input_tokens: 4_020, output_tokens: 50, output_tokens_details: { reasoning_tokens: 30 } },
        input_tokens_details: {
          ...{ cached_tokens: 1_000, cache_write_tokens: 3_012 },
          cache_write_tokens_details: { ttl_30m_tokens: 3_000, ttl_12h_tokens: 12 },
        },
      },
      { model: "gpt-5.6-sol-2026-07-09", service_tier: "flex" },
      {
        ...{ input: 4_020, cacheRead: 1_000, cacheWritten: { "30m": 3_000, "12h": 12 }, output: 50, reasoning: 30 },
        ...{ served: "gpt-5.6-sol-2026-07-09", tier: "flex" },
      },
    ],
    [
      "of Chat Completions",
      "chat/1",
      { prompt_tokens: 120, prompt_tokens_details: { cached_tokens: 0 }, completion_tokens: 16 },
      { model: "gpt-5.4" },
      { input: 120, cacheRead: 0, output: 16, served: "gpt-5.4" },
    ],
    [
      "of DeepSeek, whose hits and misses are its prompt",
      "chat-deepseek/1",
      { prompt_cache_hit_tokens: 128, prompt_cache_miss_tokens: 52, completion_tokens: 9 },
      {},
      { input: 180, cacheRead: 128, output: 9 },
    ],
    [
      "of Mistral, under its own name",
      "chat-mistral/1",
      { prompt_tokens: 192, num_cached_tokens: 64, completion_tokens: 3 },
      {},
      { input: 192, cacheRead: 64, output: 3 },
    ],
    [
      "of Mistral, in details of its own",
      "chat-mistral/1",
      { prompt_tokens: 192, prompt_token_details: { cached_tokens: 64 }, completion_tokens: 3 },
      {},
      { input: 192, cacheRead: 64, output: 3 },
    ],
    [
      "of llama.cpp, which counts in its timings",
      "chat-llama.cpp/1",
      { prompt_tokens: 100, completion_tokens: 7 },
      { timings: { cache_n: 90, prompt_n: 10 } },
      { input: 100, cacheRead: 90, output: 7 },
    ],
    [
      "of a server that does not say what it read from a cache: that count is absent",
      "chat-vllm/1",
      { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: null },
      {},
      { input: 100, output: 7 },
    ],
    [
      "of OpenRouter, with its price",
      "chat-openrouter/1",
      { prompt_tokens: 10, completion_tokens: 2, cost: 0.00014, is_byok: false, cost_details: {} },
      {},
      { input: 10, output: 2, usd: "0.00014" },
    ],
    [
      "of OpenRouter with a key of the caller's own: its fee, and what the model's provider charges",
      "chat-openrouter/1",
      { prompt_tokens: 10, cost: 0.000005, is_byok: true, cost_details: { upstream_inference_cost: 0.0001 } },
      {},
      { input: 10, usd: "0.000105" },
    ],
    [
      "of OpenRouter with such a key, if it does not say the rest: no price",
      "chat-openrouter/1",
      { prompt_tokens: 10, cost: 0.000005, is_byok: true, cost_details: { upstream_inference_cost: null } },
      {},
      { input: 10 },
    ],
    [
      "of another server with a member called cost, whose currency is unknown: no price",
      "chat/1",
      { prompt_tokens: 10, cost: 0.5 },
      {},
      { input: 10 },
    ],
    [
      "of Anthropic, whose input excludes the cache",
      messages,
      {
        ...{ input_tokens: 2, cache_read_input_tokens: 1_590, cache_creation_input_tokens: 300, output_tokens: 40 },
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
        ...{ service_tier: "standard", output_tokens_details: { thinking_tokens: 12 } },
      },
      { model: "claude-opus-5-5" },
      {
        ...{ input: 1_892, cacheRead: 1_590, cacheWritten: { "5m": 200, "1h": 100 }, output: 40, reasoning: 12 },
        ...{ served: "claude-opus-5-5", tier: "standard" },
      },
    ],
    [
      "of Bedrock's Claude and others without lifetimes",
      messages,
      { input_tokens: 2, cache_creation_input_tokens: 300, output_tokens: 4 },
      {},
      { input: 302, cacheWritten: { any: 300 }, output: 4 },
    ],
    [
      "of Anthropic with lifetimes that contradict the total, which are not believed",
      messages,
      { input_tokens: 2, cache_creation_input_tokens: 300, cache_creation: { ephemeral_5m_input_tokens: 301 } },
      {},
      { input: 302, cacheWritten: { any: 300 } },
    ],
    [
      "of Anthropic, with a compaction that the totals leave out",
      messages,
      {
        ...{ input_tokens: 10, output_tokens: 5, speed: "fast", inference_geo: "us", service_tier: "priority" },
        iterations: [
          { type: "compaction", input_tokens: 1_000, cache_read_input_tokens: 200, output_tokens: 100 },
          { type: "message", input_tokens: 10, output_tokens: 5 },
        ],
      },
      {},
      {
        ...{ input: 1_210, cacheRead: 200, output: 105, tier: "priority+fast+us" },
        iterations: [
          { type: "compaction", input: 1_200, cacheRead: 200, output: 100 },
          { type: "message", input: 10, output: 5 },
        ],
      },
    ],
    [
      "of Gemini, which says nothing of a miss",
      "google-gemini/1",
      { promptTokenCount: 15, toolUsePromptTokenCount: 288, candidatesTokenCount: 40, thoughtsTokenCount: 257 },
      { modelVersion: "gemini-2.5-flash" },
      { input: 303, cacheRead: 0, output: 297, reasoning: 257, served: "gemini-2.5-flash" },
    ],
    [
      "of Gemini on Vertex AI, whose tier is the kind of traffic",
      "google-gemini/1",
      { promptTokenCount: 345, cachedContentTokenCount: 191, candidatesTokenCount: 80, trafficType: "ON_DEMAND" },
      {},
      { input: 345, cacheRead: 191, output: 80, tier: "ON_DEMAND" },
    ],
    [
      "of an interaction",
      "google-interactions/1",
      { total_input_tokens: 50, total_tool_use_tokens: 10, total_output_tokens: 4, total_thought_tokens: 6 },
      { model: "gemini-3.6-flash" },
      { input: 60, output: 10, reasoning: 6, served: "gemini-3.6-flash" },
    ],
    [
      "of Ollama",
      "ollama/1",
      { prompt_eval_count: 40, prompt_eval_cached_count: 32, eval_count: 8, prompt_eval_duration: 1 },
      { model: "qwen4" },
      { input: 40, cacheRead: 32, output: 8, served: "qwen4" },
    ],
    [
      "of an older Ollama, which does not say what it read from a cache",
      "ollama/1",
      { prompt_eval_count: 40, eval_count: 8 },
      {},
      { input: 40, output: 8 },
    ],
    [
      "of the AI SDK, with lifetimes from the provider's own report if they agree",
      "ai-sdk/1",
      {
        inputTokens: { total: 310, noCache: 2, cacheRead: 8, cacheWrite: 300 },
        outputTokens: { total: 9, text: 4, reasoning: 5 },
        raw: { cache_creation_input_tokens: 300, cache_creation: { ephemeral_1h_input_tokens: 300 } },
      },
      { response: { modelId: "claude-haiku-5-5" } },
      {
        ...{ input: 310, cacheRead: 8, cacheWritten: { "1h": 300 }, output: 9, reasoning: 5 },
        served: "claude-haiku-5-5",
      },
    ],
    [
      "of the AI SDK, with writes that have no lifetime",
      "ai-sdk/1",
      { inputTokens: { total: 310, cacheWrite: 300 }, outputTokens: { total: 9 }, raw: {} },
      {},
      { input: 310, cacheWritten: { any: 300 }, output: 9 },
    ],
    [
      "of the Claude CLI, with its own estimate of the price",
      "claude-cli/1",
      { input_tokens: 2, cache_read_input_tokens: 10, cache_creation_input_tokens: 0, output_tokens: 3 },
      {
        lines: [
          { type: "assistant", message: { model: "claude-opus-5-5" } },
          { type: "assistant", parent_tool_use_id: "toolu_1", message: { model: "claude-haiku-5-5" } },
          { type: "result", total_cost_usd: 0.0123, modelUsage: { "claude-opus-5-5": {}, "claude-haiku-5-5": {} } },
        ],
      },
      {
        ...{ input: 12, cacheRead: 10, cacheWritten: { any: 0 }, output: 3, served: "claude-opus-5-5" },
        usd: "0.0123",
      },
    ],
  ])("%s", (_, codec, reported, answer, expected) => {
    expect(countsOf(codec, reported, answer)).toEqual(expected);
  });

  test("is empty where nothing in it is a count, whatever the server sent", () => {
    fc.assert(
      fc.property(fc.constantFrom(...codecs.keys()), fc.jsonValue(), fc.jsonValue(), (codec, usage, answer) => {
        const counted = countsOf(codec, objectOf(usage), objectOf(answer));
        expect(countsSchema.safeParse(counted).success).toBe(true);
      }),
      { numRuns: cases(200, 20_000) },
    );
  });

  test.each([-1, 1.5, "many", null, true, [], {}])("leaves out a count that is %j", (odd) => {
    expect(countsOf(responses, { input_tokens: odd, output_tokens: 3 })).toEqual({ output: 3 });
  });
});

describe.skipIf(!hasRecordings)(`recorded usages${needsRecordings}`, () => {
  const exchanges = hasRecordings ? recordedExchanges() : [];

  test("of the Responses API add up to their totals", () => {
    const all = exchanges.filter(({ response }) => isJsonObject(response["usage"]) && "object" in response);
    expect(all.length).toBeGreaterThan(100);
    for (const { response } of all) {
      const usage = objectOf(response["usage"]);
      const counts = countsOf(responses, usage, response);
      expect((counts?.input ?? Number.NaN) + (counts?.output ?? Number.NaN)).toBe(usage["total_tokens"]);
      expect(counts?.served).toBe(response["model"]);
    }
  });

  test("of OpenRouter have the price that it asked for", () => {
    const prices = exchanges
      .filter(({ provider }) => provider === "openrouter")
      .map(({ response }) => countsOf(responses, objectOf(response["usage"]), response)?.usd)
      .filter((usd) => usd !== undefined);
    expect(prices).toEqual(["0.025265", "0.002196"]);
  });

  test("of Anthropic have in their total what each class and each listed call counts", () => {
    const all = recordedExchanges("anthropic").filter(
      ({ isStream, path, response }) => !isStream && path.includes("/messages") && isJsonObject(response["usage"]),
    );
    expect(all.length).toBeGreaterThan(80);
    for (const { response } of all) {
      const usage = objectOf(response["usage"]);
      const counts = countsOf(messages, usage, response);
      const listed = objectsOf(usage["iterations"]);
      const told = listed.length > 0 ? listed : [usage];
      const sumOf = (...names: readonly string[]): number =>
        told.flatMap((each) => names.map((name) => Number(each[name] ?? 0))).reduce((sum, count) => sum + count, 0);
      expect(counts?.input).toBe(sumOf("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"));
      expect(counts?.output).toBe(sumOf("output_tokens"));
      const written = Object.values(counts?.cacheWritten ?? {}).reduce((sum, count) => sum + count, 0);
      expect(written).toBe(sumOf("cache_creation_input_tokens"));
    }
  });
});

test.skipIf(!hasGoogleRecordings)(`recorded usages of Gemini add up to their totals${needsGoogleRecordings}`, () => {
  const all = googleExchanges().flatMap(({ responses }) =>
    responses.slice(-1).filter(({ usageMetadata }) => isJsonObject(usageMetadata)),
  );
  expect(all.length).toBeGreaterThan(100);
  for (const response of all) {
    const usage = objectOf(response["usageMetadata"]);
    const counts = countsOf("google-gemini/1", usage, response);
    expect((counts?.input ?? Number.NaN) + (counts?.output ?? 0)).toBe(usage["totalTokenCount"]);
  }
});
