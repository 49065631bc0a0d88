import { expect, test } from "vitest";
import { nearestName } from "../../src/base/nearest-name.ts";
import { checkChoice, checkOptions, kindOf } from "../../src/base/options.ts";

const names = ["provider", "tools", "middleware", "baseURL", "apiKey", "key"];

test.each([
  ["midleware", "middleware"],
  ["provdier", "provider"],
  ["tool", "tools"],
  ["apikey", "apiKey"],
  ["api_key", "apiKey"],
  ["base-url", "baseURL"],
  ["baseUrl", "baseURL"],
  ["kye", "key"],
  ["k", null],
  ["abcdef", null],
  ["", null],
  ["x".repeat(100_000), null],
])("of a mistyped '%.20s' the nearest name is %s", (typed, meant) => {
  expect(nearestName(typed, names)).toBe(meant);
});

test("a swap of two letters is one mistake, so it is nearer than two others", () => {
  expect(nearestName("forward", ["foxxard", "fowrard"])).toBe("fowrard");
});

test("options that a function has are taken, whatever their value", () => {
  expect(() => checkOptions("run", { key: undefined, tools: null }, { key: true, tools: true })).not.toThrow();
});

test.each([
  [{ kye: 1 }, "run has no option 'kye': did you mean 'key'?"],
  [{ other: 1 }, "run has no option 'other': give 'key' or 'tools'"],
  [{ toString: 1 }, "run has no option 'toString': give 'key' or 'tools'"],
  [[], "run takes an object of options, not a list"],
  ["key", "run takes an object of options, not a text"],
  [null, "run takes an object of options, not null"],
])("%j as options is refused in one sentence", (given, message) => {
  expect(() => checkOptions("run", given, { key: true, tools: true })).toThrow(new TypeError(message));
});

test.each([
  ["atuo", "chain is 'atuo': did you mean 'auto'?"],
  ["always", "chain is 'always': give 'auto' or 'never'"],
  [true, "chain is a boolean: give 'auto' or 'never'"],
])("%j as one of a few words is refused with them", (given, message) => {
  expect(() => checkChoice("chain", given, ["auto", "never"])).toThrow(new TypeError(message));
});

test.each([
  [undefined, "undefined"],
  [Number.NaN, "NaN"],
  ["", "an empty text"],
  ["secret", "a text"],
  [[], "a list"],
  [{}, "an object"],
  [Promise.resolve(), "a promise"],
  [() => undefined, "a function"],
  [Symbol("s"), "a symbol"],
])("what %s is, in words that tell no content", (value, kind) => {
  expect(kindOf(value)).toBe(kind);
});
