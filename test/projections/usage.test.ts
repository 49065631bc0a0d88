import { expect, test } from "vitest";
import { usage } from "../../src/projections/usage.ts";
import { fold, received, requested, settingsDeclared } from "./recorded-events.ts";

const tokens = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
};

test("sums requests, bytes and tokens by day and model", () => {
  const { rows } = fold(usage, [
    [settingsDeclared({ model: "m-1" })],
    [requested("1", { requestBytes: 700 })],
    [received("1", [], { usage: tokens })],
    [requested("2", { requestBytes: 300 })],
    [received("2", [], { usage: tokens })],
    [requested("3"), { at: "2026-03-02T00:00:00.000Z" }],
  ]);
  const day = { model: "m-1", inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  expect([...rows.values()]).toEqual([
    {
      ...day,
      day: "2026-03-01",
      requests: 2,
      requestBytes: 1_000,
      inputTokens: 200,
      cachedInputTokens: 80,
      outputTokens: 40,
      reasoningTokens: 10,
    },
    { ...day, day: "2026-03-02", requests: 1, requestBytes: 1_000 },
  ]);
});

test("counts an answer on the day it was asked for", () => {
  const { rows } = fold(usage, [
    [requested("1"), { at: "2026-03-01T23:59:59.999Z" }],
    [received("1", [], { usage: tokens }), { at: "2026-03-02T00:00:01.000Z" }],
  ]);
  expect([...rows.values()]).toMatchObject([{ day: "2026-03-01", model: "unknown", requests: 1, inputTokens: 100 }]);
});

test("counts the bytes of a refused request, and no tokens that nobody told", () => {
  const { rows } = fold(usage, [[requested("1")], [received("1", [], { usage: "free" })]]);
  expect([...rows.values()]).toMatchObject([{ requests: 1, requestBytes: 1_000, inputTokens: 0, outputTokens: 0 }]);
});

test("counts a fork for itself only", () => {
  expect(usage.lineage).toBe("own");
});
