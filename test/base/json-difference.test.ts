import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../../src/base/json.ts";
import { applyDifference, jsonDifference } from "../../src/base/json-difference.ts";
import { jsonObject, jsonValue, parsed } from "../support/base/arbitrary-json.ts";

const same = (left: JsonValue, right: JsonValue): boolean => canonicalJson(left) === canonicalJson(right);

describe("a difference", () => {
  test("turns any value into any other", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (from, to) => same(applyDifference(from, jsonDifference(from, to)), to)),
      { numRuns: 2000 },
    );
  });

  test("survives being stored as JSON", () => {
    fc.assert(
      fc.property(jsonObject, jsonObject, (from, to) => {
        const stored = jsonDifference(from, to);
        const read = stored === undefined ? undefined : parsed(JSON.stringify(stored));
        return same(applyDifference(from, read), to);
      }),
      { numRuns: 1000 },
    );
  });

  test("is nothing between values that are equal as JSON, whatever the order of their members", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(jsonDifference(value, reversed(value))).toBeUndefined();
      }),
    );
  });

  test("is something between values that differ", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (from, to) => (jsonDifference(from, to) === undefined) === same(from, to)),
    );
  });

  test("says no more than what changed", () => {
    const from = {
      role: "user",
      content: [
        { type: "text", text: "long" },
        { type: "text", text: "same" },
      ],
      gone: 1,
    };
    const to = {
      role: "user",
      content: [
        { type: "text", text: "long", mark: true },
        { type: "text", text: "same" },
      ],
      id: "x",
    };
    expect(jsonDifference(from, to)).toEqual({
      set: { id: "x" },
      drop: ["gone"],
      in: { content: { at: { 0: { set: { mark: true } } } } },
    });
  });

  test("reaches a member called __proto__ without touching a prototype", () => {
    const from = parsed('{"a":{"__proto__":{"x":1}}}');
    const to = parsed('{"a":{"__proto__":{"x":2}},"__proto__":null}');
    const applied = applyDifference(from, jsonDifference(from, to));
    expect(JSON.stringify(applied)).toBe(JSON.stringify(to));
    expect(Object.getPrototypeOf(applied)).toBe(Object.prototype);
  });
});

function reversed(value: JsonValue): JsonValue {
  if (isJsonList(value)) return value.map(reversed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]: [string, JsonValue | undefined]) => [name, reversed(member ?? null)]),
  );
}
