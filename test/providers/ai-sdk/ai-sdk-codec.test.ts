import { describe, expect, test } from "vitest";
import { aiSdkCodec } from "../../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { codecChecks } from "../../../src/testing/rehearsal/codec-checks.ts";

const finishReason = { unified: "stop", raw: "end_turn" };
const usage = { inputTokens: { total: 3, cacheRead: 1 }, outputTokens: { total: 2, reasoning: 1 }, raw: { a: 1 } };
const response = { id: "msg_1", modelId: "m", timestamp: "2026-11-23T00:00:00.000Z" };

describe("the codec of the AI SDK", () => {
  const answers = [
    {
      content: [
        { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "c2ln" } } },
        { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: "cmVk" } } },
        { type: "text", text: "Hello.", citations: [{ a: 1 }], providerMetadata: { openai: { itemId: "msg_2" } } },
        { type: "text", text: "" },
        { type: "tool-call", toolCallId: "call_1", toolName: "add", input: "{}", dynamic: true },
        { type: "tool-call", toolCallId: "call_2", toolName: "add", input: '{"a":1.0}' },
      ],
      ...{ finishReason: { unified: "tool-calls", raw: "tool_use" }, usage, response, warnings: [] },
    },
    {
      content: [
        { type: "tool-call", toolCallId: "srv_1", toolName: "search", input: "{}", providerExecuted: true },
        { type: "tool-result", toolCallId: "srv_1", toolName: "search", result: [], isError: true },
        { type: "source", sourceType: "url", id: "s", url: "https://example.org" },
        { type: "custom", kind: "openai.compaction", providerMetadata: { openai: { encryptedContent: "eA" } } },
        { type: "tool-approval-request", approvalId: "a", toolCallId: "srv_1" },
        { nothing: "known" },
      ],
      ...{
        finishReason: { ...finishReason, later: true },
        usage,
        providerMetadata: { anthropic: { container: null } },
      },
    },
    { content: "strange", finishReason: "stop" },
    { content: [1, { type: "text", text: "a" }], finishReason },
    { finishReason: { unified: "other" }, wire: [{ url: "https://a/b", request: "{}", status: 200, response: "{}" }] },
    {},
  ];
  for (const { name, run } of codecChecks(aiSdkCodec, { answers })) test(name, run);
});

test("tokens are counted, those of a cache and of thoughts among them", () => {
  const result = { content: [], finishReason: { unified: "stop", raw: "stop" }, usage };
  const asked = { inferenceId: "inf_0000000000000001", settings: {}, capabilities: {} };
  const counted = { inputTokens: 3, cachedInputTokens: 1, outputTokens: 2, reasoningTokens: 1 };
  expect(aiSdkCodec.readAnswer(result, asked).usage).toMatchObject(counted);
});
