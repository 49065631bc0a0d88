import { expect, test } from "vitest";
import { usage, usageByDay } from "../../src/projections/usage.ts";
import {
  fold,
  inferenceId,
  received,
  requested,
  runCompleted,
  runStarted,
  settingsDeclared,
} from "../support/projections/recorded-events.ts";

const tokens = {
  inputTokens: 100,
  cachedInputTokens: 40,
  outputTokens: 20,
  reasoningTokens: 5,
  reported: null,
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
  expect(rows).toEqual([
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
  expect(rows).toMatchObject([{ day: "2026-03-01", model: "unknown", requests: 1, inputTokens: 100 }]);
});

test("counts the bytes of a refused request, and no unreported tokens", () => {
  const { rows } = fold(usage, [[requested("1")], [received("1", [])]]);
  expect(rows).toMatchObject([{ requests: 1, requestBytes: 1_000, inputTokens: 0, outputTokens: 0 }]);
});

test("keeps no request whose run has ended, because no answer will come", () => {
  const { open, rows } = fold(usage, [[runStarted], [requested("1")], [runCompleted], [requested("2")]]);
  expect(open).toMatchObject([{ inferenceId: inferenceId("2") }]);
  expect(rows).toMatchObject([{ requests: 2 }]);
});

test("counts a fork for itself only", () => {
  expect(usage.lineage).toBe("own");
});

test("sums conversations by day and model, in the order of both", () => {
  const asked = (model: string, day: string) =>
    fold(usage, [
      [settingsDeclared({ model }), { at: `${day}T10:00:00.000Z` }],
      [requested("1", { requestBytes: 10 }), { at: `${day}T10:00:00.000Z` }],
      [received("1", [], { usage: tokens }), { at: `${day}T10:00:01.000Z` }],
    ]);
  const views = [
    asked("m-2", "2026-03-02"),
    asked("m-1", "2026-03-02"),
    asked("m-2", "2026-03-01"),
    asked("m-1", "2026-03-02"),
  ];
  const rows = usageByDay(views);
  expect(
    rows.map(({ day, model, requests, requestBytes, inputTokens }) => [
      day,
      model,
      requests,
      requestBytes,
      inputTokens,
    ]),
  ).toEqual([
    ["2026-03-01", "m-2", 1, 10, 100],
    ["2026-03-02", "m-1", 2, 20, 200],
    ["2026-03-02", "m-2", 1, 10, 100],
  ]);
  expect(usageByDay([])).toEqual([]);
});

test("a view is JSON: saved and read again it is the same", () => {
  const view = fold(usage, [[settingsDeclared({ model: "m-1" })], [requested("1")]]);
  expect(JSON.parse(JSON.stringify(view))).toEqual(view);
});
