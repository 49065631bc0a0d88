import { expect, test } from "vitest";
import type { CachedRequest } from "../../../../src/analysis/costs/prompt-cache/cache-verdict.ts";
import { cachedRequest } from "../../../../src/analysis/costs/prompt-cache/cached-request.ts";
import {
  agreesWith,
  differingRegions,
  plannedRegions,
} from "../../../../src/analysis/costs/prompt-cache/diagnosis-agreement.ts";
import { diagnosisIn } from "../../../../src/analysis/costs/prompt-cache/told-diagnosis.ts";
import type { JsonObject } from "../../../../src/base/json.ts";

const nothing = { reason: null, lostTokens: null, reusableTokens: null };
const family = "openai-responses";

test.each<[JsonObject, ReturnType<typeof diagnosisIn>]>([
  [{}, null],
  [{ prompt_cache_diagnostics: null }, null],
  [{ prompt_cache_diagnostics: { type: "cache_hit" } }, { ...nothing, says: "same" }],
  [
    {
      prompt_cache_diagnostics: {
        ...{ type: "cache_miss", reason: "tools_changed", cache_missed_tokens: 900, comparison_reusable_tokens: 100 },
      },
    },
    { says: "changed", reason: "tools_changed", lostTokens: 900, reusableTokens: 100 },
  ],
  [{ prompt_cache_diagnostics: { type: "comparison_response_not_found" } }, { ...nothing, says: "not-found" }],
  [{ prompt_cache_diagnostics: { type: "something_new" } }, { ...nothing, says: "unavailable" }],
])("what OpenAI says: %j", (answer, expected) => {
  expect(diagnosisIn(family, answer)).toEqual(expected);
});

test.each<[JsonObject, ReturnType<typeof diagnosisIn>]>([
  [{}, null],
  [{ diagnostics: null }, { ...nothing, says: "same" }],
  [{ diagnostics: { cache_miss_reason: null } }, { ...nothing, says: "unavailable" }],
  [
    { diagnostics: { cache_miss_reason: { type: "system_changed", cache_missed_input_tokens: 12 } } },
    { ...nothing, says: "changed", reason: "system_changed", lostTokens: 12 },
  ],
  [{ diagnostics: { cache_miss_reason: { type: "previous_message_not_found" } } }, { ...nothing, says: "not-found" }],
  [{ diagnostics: { cache_miss_reason: { type: "unavailable" } } }, { ...nothing, says: "unavailable" }],
])("what Anthropic says: %j", (answer, expected) => {
  expect(diagnosisIn("anthropic-messages", answer)).toEqual(expected);
  expect(diagnosisIn("chat", answer)).toBeNull();
});

function asked(settings: JsonObject, said: readonly string[]): CachedRequest {
  const input = said.map((content) => ({ role: "user", content }));
  const body = { ...settings, input };
  const request = cachedRequest({ id: "1", at: 0, answerAt: 0, counts: null, family, model: "m", settings, body });
  return request ?? expect.fail("nothing is known of this wire");
}

const differing = (then: CachedRequest, now: CachedRequest) => [...differingRegions(family, then, now)].toSorted();

test("what is appended does not differ, and everything else is named", () => {
  const before = asked({ model: "m", instructions: "Be kind." }, ["one"]);
  expect(differing(before, asked({ model: "m", instructions: "Be kind." }, ["one", "two"]))).toEqual([]);
  expect(differing(before, asked({ model: "m", instructions: "Be kind." }, ["other", "two"]))).toEqual(["block"]);
  expect(differing(before, asked({ model: "m", instructions: "Be kind." }, []))).toEqual(["block"]);
  const now = asked({ model: "n", prompt_cache_key: "k", text: { verbosity: "low" }, temperature: 1 }, ["one"]);
  expect(differing(before, now)).toEqual(["model", "prompt_cache_key", "system", "text.verbosity"]);
});

test("a provider that names something else, or nothing although something changed, is disagreed with", () => {
  const said = (reason: string) => ({ ...nothing, says: "changed", reason }) as const;
  const same = { ...nothing, says: "same" } as const;
  expect(agreesWith(said("tools_changed"), new Set(["tool", "block"]))).toBe(true);
  expect(agreesWith(said("tools_changed"), new Set(["block"]))).toBe(false);
  expect(agreesWith(said("input_changed"), new Set())).toBe(false);
  expect(agreesWith(same, new Set())).toBe(true);
  expect(agreesWith(same, new Set(["system"]))).toBe(false);
  // It has no word for that.
  expect(agreesWith(same, new Set(["parallel_tool_calls"]))).toBeNull();
  expect(agreesWith(said("phase_of_the_moon"), new Set(["block"]))).toBeNull();
  expect(agreesWith({ ...nothing, says: "unavailable" }, new Set())).toBeNull();
});

test("what planning recorded names the same, and settings that no server reads as part of the prompt do not count", () => {
  const of = (settings: readonly string[], unit: string | null = null) =>
    [...plannedRegions(family, { settings: [...settings], unit })].toSorted();
  expect(of(["temperature", "cacheDiagnostics", "include"])).toEqual([]);
  expect(of(["model", "reasoning.effort", "tools", "instructions"])).toEqual([
    ...["model", "reasoning.effort", "system", "tool"],
  ]);
  // The setting was absent before.
  expect(of(["text"])).toEqual(["text.format", "text.verbosity"]);
  expect(of([], "blk_1")).toEqual(["block", "system"]);
});
