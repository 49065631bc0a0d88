import { expect, test } from "vitest";
import { cacheRules } from "../../../../src/analysis/costs/prompt-cache/cache-rules.ts";

const minute = 60_000;
const at = "2026-11-20T00:00:00.000Z";

test.each([
  ["openai-responses", "gpt-5.6-sol", { minimumTokens: 1_024, stepTokens: 1, boundaries: "message-ends" }],
  ["openai-responses", "gpt-6.1", { minimumTokens: 1_024, boundaries: "message-ends" }],
  ["chat", "gpt-5.5", { minimumTokens: 1_024, stepTokens: 128, boundaries: "every-unit" }],
  ["anthropic-messages", "claude-opus-5-5", { minimumTokens: 512, boundaries: "breakpoints" }],
  ["anthropic-messages", "claude-opus-4-8", { minimumTokens: 1_024 }],
  ["anthropic-messages", "claude-opus-4-20250514", { minimumTokens: 1_024 }],
  ["anthropic-messages", "claude-opus-4-7", { minimumTokens: 2_048 }],
  ["anthropic-messages", "claude-haiku-4-5-20251001", { minimumTokens: 4_096 }],
  ["anthropic-messages", "claude-sonnet-4-5", { minimumTokens: 1_024 }],
  ["anthropic-messages", "claude-unheard-of", { minimumTokens: null, boundaries: "breakpoints" }],
  ["chat-openrouter", "anthropic/claude-sonnet-5", { minimumTokens: null, stepTokens: 1, boundaries: "breakpoints" }],
  ["chat-openrouter", "openai/gpt-5.6-sol", { minimumTokens: 1_024, boundaries: "message-ends" }],
  ["chat-mistral", "mistral-large", { minimumTokens: null, stepTokens: 64 }],
] as const)("%s, %s: the rules that its vendor gives, and their source", (family, model, rules) => {
  const known = cacheRules(family, { model, at });
  expect(known).toMatchObject(rules);
  expect(known.source?.readOn).toMatch(/^2026-/);
});

test("unknown stays unknown, and the user's own rules take precedence", () => {
  const nothing = {
    minimumTokens: null,
    stepTokens: null,
    lifetimes: { default: { leastMs: null, mostMs: null } },
    source: null,
  };
  expect(cacheRules("google-gemini", { model: "gemini-3-pro", at })).toMatchObject(nothing);
  expect(cacheRules("google-gemini", { model: "gemini-3-pro", at, own: { minimumTokens: 4_096 } })).toMatchObject({
    ...nothing,
    minimumTokens: 4_096,
  });
});

test("a model has the rules of the day of the request", () => {
  const model = "gpt-5.6";
  expect(cacheRules("chat", { model, at: "2026-07-08T23:59:59.000Z" }).boundaries).toBe("every-unit");
  expect(cacheRules("chat", { model, at: "2026-07-09T00:00:00.000Z" }).boundaries).toBe("message-ends");
});

test("lifetimes have the names that requests use", () => {
  const of = (family: string, model: string) => cacheRules(family, { model, at }).lifetimes;
  expect(of("chat", "gpt-5.4")["in_memory"]).toEqual({ leastMs: 5 * minute, mostMs: 60 * minute });
  expect(of("openai-responses", "gpt-5.6")["12h"]).toEqual({ leastMs: 720 * minute, mostMs: null });
  expect(of("anthropic-messages", "claude-opus-5")["1h"]).toEqual({ leastMs: 60 * minute, mostMs: 60 * minute });
});
