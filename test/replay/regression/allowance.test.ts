import { expect, test } from "vitest";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { type Allowance, AllowanceCheck, readAllowance } from "../../../src/replay/regression/allowance.ts";
import type { ConversationRegression } from "../../../src/replay/regression/conversation-result.ts";

/** A conversation in which a culprit changes so many requests. */
const differing = (
  id: string,
  { changed = 1, caches = 0, money = null, culprit = "greet@2.0.0" }: Partial<Differing> = {},
): ConversationRegression => ({
  ...{
    conversation: conversationIdSchema.parse(id),
    differs: true,
    requests: changed,
    compared: changed,
    changed,
    caches,
  },
  ...{ added: 0, ends: 0, chains: 0, reasoning: 0, unpriced: 0, unknown: {}, money, first: null, differences: [] },
  ...{ culprits: [{ name: culprit, requests: changed }], message: null },
});

type Differing = {
  readonly changed: number;
  readonly caches: number;
  readonly money: string | null;
  readonly culprit: string;
};

function verdict(allowance: Partial<Allowance>, results: readonly ConversationRegression[]) {
  const check = new AllowanceCheck({ version: 1, differences: [], ...allowance });
  for (const result of results) check.add(result);
  return check.verdict();
}

const listed = (conversation: string, culprit = "greet") => ({ conversation, culprit, reason: "intended" });

const two = [differing("cnv_a"), differing("cnv_b")];

test("without an allowance nothing may differ", () => {
  expect(verdict({}, [])).toMatchObject({ isWithin: true });
  expect(verdict({}, two)).toMatchObject({ isWithin: false, beyond: { conversations: 2, requests: 2 } });
  expect(verdict({}, [{ ...differing("cnv_a"), differs: false }])).toMatchObject({ isWithin: true });
});

test("a layer is listed with or without its version, for one conversation or for all", () => {
  expect(verdict({ differences: [listed("*")] }, two)).toMatchObject({ isWithin: true, allowed: 2, unused: [] });
  expect(verdict({ differences: [listed("*", "greet@2.0.0")] }, two)).toMatchObject({ isWithin: true });
  const older = verdict({ differences: [listed("*", "greet@1.0.0")] }, two);
  expect(older).toMatchObject({ isWithin: false, unused: [{ conversation: "*", culprit: "greet@1.0.0" }] });
  expect(verdict({ differences: [listed("cnv_a")] }, two)).toMatchObject({ isWithin: false, allowed: 1 });
});

test("a budget is for what is not listed, and each of its limits holds", () => {
  const costly = [differing("cnv_a", { changed: 3, caches: 2, money: "0.5" }), differing("cnv_b", { money: "-0.25" })];
  expect(verdict({ budget: { requests: 4, caches: 2, money: 0.25 } }, costly)).toMatchObject({ isWithin: true });
  expect(verdict({ budget: { requests: 3 } }, costly)).toMatchObject({ isWithin: false });
  expect(verdict({ budget: { caches: 1 } }, costly)).toMatchObject({ isWithin: false });
  expect(verdict({ budget: { money: 0.24 } }, costly)).toMatchObject({ isWithin: false, beyond: { money: "0.25" } });
  expect(verdict({ budget: { requests: 1 }, differences: [listed("cnv_a")] }, costly)).toMatchObject({
    isWithin: true,
  });
});

test("a budget of money holds nothing without prices, and none covers a layer that does not do the same twice", () => {
  expect(verdict({ budget: { money: 100 } }, two)).toMatchObject({ isWithin: false });
  const dicey = [differing("cnv_a", { culprit: "nondeterminism:greet" })];
  expect(verdict({ budget: { requests: 100 } }, dicey)).toMatchObject({ isWithin: false });
  const known = { differences: [listed("cnv_a", "nondeterminism:greet")] };
  expect(verdict(known, dicey)).toMatchObject({ isWithin: true });
});

test("a file that is no allowance is refused with the place", () => {
  expect(() => readAllowance("{", "allow.json")).toThrow(/allow\.json is not JSON/);
  expect(() => readAllowance('{"version":2}', "allow.json")).toThrow(/allow\.json is no allowance at version/);
  const misspelt = JSON.stringify({ version: 1, difference: [] });
  expect(() => readAllowance(misspelt, "allow.json")).toThrow(/difference/);
  expect(readAllowance('{"version":1}', "allow.json")).toEqual({ version: 1, differences: [] });
});
