import { expect, test } from "vitest";
import { freezeJson, frozenJson } from "../../src/base/frozen-json.ts";
import { type JsonValue, maxNesting } from "../../src/base/json.ts";

const isFrozenThrough = (value: JsonValue | undefined): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozenThrough));

test("mutable values are copied, immutable ones are kept", () => {
  const inner = { text: "said" };
  const value = { parts: [inner, 1, null], absent: undefined, ["__proto__"]: { own: true } };
  const kept = frozenJson(value, "it");
  inner.text = "changed";
  expect(JSON.stringify(kept)).toBe('{"parts":[{"text":"said"},1,null],"__proto__":{"own":true}}');
  expect(Object.keys(kept)).toEqual(["parts", "__proto__"]);
  expect(isFrozenThrough(kept)).toBe(true);
  expect(frozenJson(kept, "it")).toBe(kept);
  // Frozen at its surface only.
  const shallow = Object.freeze({ inner });
  expect(frozenJson(shallow, "it")).not.toBe(shallow);
});

test("freezing reaches all of it", () => {
  const value = JSON.parse('{"a":[{"b":[[{}]]}],"__proto__":{"c":{}}}') as JsonValue;
  freezeJson(value);
  expect(isFrozenThrough(value)).toBe(true);
});

test.each<[string, unknown, string]>([
  ["a function", { run: () => 1 }, "it.run is not JSON: function"],
  ["a symbol", [Symbol("s")], "it[0] is not JSON: symbol"],
  ["a big integer", { n: 1n }, "it.n is not JSON: bigint"],
  ["a number that is none", { n: [Number.NaN] }, "it.n[0] is not JSON: NaN"],
  ["a date", { at: new Date(0) }, "it.at is not JSON: an object of a class"],
  ["a frozen map", { map: Object.freeze(new Map()) }, "it.map is not JSON: an object of a class"],
  ["a gap in a list", [undefined], "it[0] is not JSON: undefined"],
  ["nothing", undefined, "it is not JSON: undefined"],
])("%s is no JSON", (_what, value, message) => {
  expect(() => frozenJson(value as JsonValue, "it")).toThrow(new TypeError(message));
});

test("a circle is no JSON", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  expect(() => frozenJson(circle as JsonValue, "it")).toThrow(
    new TypeError("it is not JSON: it is nested too deeply or contains itself"),
  );
});

test("what is nested more deeply than can be read again is refused, frozen or not", () => {
  const nested = (levels: number): JsonValue => {
    let value: JsonValue = "inside";
    for (let level = 0; level < levels; level += 1) value = Object.freeze({ value });
    return value;
  };
  const deepest = nested(maxNesting);
  expect(frozenJson(deepest, "it")).toBe(deepest);
  for (const levels of [maxNesting + 1, 5_000, 100_000]) {
    expect(() => frozenJson(nested(levels), "it")).toThrow(TypeError);
    expect(() => frozenJson([nested(levels)], "it")).toThrow("it is nested too deeply");
  }
});
