import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import { frozenJson } from "../../src/base/frozen-json.ts";
import { jsonTextOf, parseJson } from "../../src/base/json.ts";
import { applyDifference, jsonDifference } from "../../src/base/json-difference.ts";
import { NumberLiteral } from "../../src/base/number-literal.ts";
import { isTelling } from "../support/cases.ts";

const changed = [
  ...["1e400", "-1e400", "1E+400", "1e-400", "0.0000000001e-400", "-0", "-0.0", "-0e5", "-0.00"],
  ...["9007199254740992", "9007199254740993", "-9007199254740993", "12345678901234567890", "1e22", "1E5000", "1e300"],
  ...["0.1234567890123456789", "3.14159265358979323846", "123456789012345678.5", "1.00000000000000000001"],
];
const held = [
  ...["0", "1", "-1", "10", "1.0", "1e5", "1E-5", "0.1", "-0.31326162815093994", "9007199254740991", "1e15", "0e500"],
  ...["1.5e-300", "5e-324", "0.000000000000000000000001", "100000000000000.0", "-0.05"],
];

/** Where a number may stand. */
const places = [
  (text: string) => text,
  (text: string) => `[${text}]`,
  (text: string) => `{"a":${text}}`,
  (text: string) => `[1,{"a":[null,${text}]},"x"]`,
  (text: string) => ` [ \n${text} , 2 ] `,
];

describe("a number that JavaScript would change", () => {
  test.each(changed)("is kept as it came: %s", (text) => {
    for (const place of places) {
      const json = place(text);
      expect(JSON.stringify(parseJson(json))).toBe(json.replace(/\s/g, ""));
      expect(canonicalJson(parseJson(json))).toBe(json.replace(/\s/g, ""));
    }
    expect(parseJson(text)).toEqual(new NumberLiteral(text));
    expect(Number(parseJson(text))).toBe(Number(text));
  });

  test("makes no difference to itself, and one to another", () => {
    const [from, same, other] = ['{"a":[1e400]}', '{"a":[1e400]}', '{"a":[1e401]}'].map(parseJson);
    if (from === undefined || same === undefined || other === undefined) throw new Error("there are three");
    expect(jsonDifference(from, same)).toBeUndefined();
    const difference = jsonDifference(from, other);
    expect(JSON.stringify(applyDifference(from, difference))).toBe('{"a":[1e401]}');
  });

  test.each([
    [Number.POSITIVE_INFINITY, "x.a[1] is not JSON: Infinity"],
    [
      2 ** 53,
      "x.a[1] is not JSON: 9007199254740992, an integer beyond 2^53, which JavaScript rounds: give it as a text",
    ],
    [-0, "x.a[1] is not JSON: -0, which JavaScript serializes as 0: give 0"],
  ])("is refused from callers by its place: %d", (number, message) => {
    expect(() => frozenJson({ a: [0, number] }, "x")).toThrow(message);
    expect(() => frozenJson(Object.freeze({ a: Object.freeze([0, number]) }), "x")).toThrow(message);
  });

  test("is not written into the text of a value that somebody made", () => {
    expect(() => jsonTextOf({ a: { total: 2 ** 60 } })).toThrow(
      "total is 1152921504606847000, an integer beyond 2^53, which JavaScript rounds: give it as a text",
    );
    expect(() => jsonTextOf(Number.NaN)).toThrow("it is NaN");
    expect(jsonTextOf({ a: parseJson("[1e400]") })).toBe('{"a":[1e400]}');
  });
});

test.each(held)("a number that JavaScript holds is a number: %s", (text) => {
  for (const place of places) expect(parseJson(place(text))).toEqual(JSON.parse(place(text)));
  expect(typeof parseJson(text)).toBe("number");
});

test("every number is read as JSON.parse reads it, or stays as it came", () => {
  const digits = (least: number, most: number) =>
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: least, maxLength: most }).map((list) => list.join(""));
  const whole = fc.oneof(
    fc.constant("0"),
    fc.tuple(fc.integer({ min: 1, max: 9 }), digits(0, 22)).map(([first, rest]) => `${first}${rest}`),
  );
  const number = fc
    .tuple(
      fc.constantFrom("", "-"),
      whole,
      fc.oneof(
        fc.constant(""),
        digits(1, 24).map((text) => `.${text}`),
      ),
      fc.oneof(
        fc.constant(""),
        fc.integer({ min: -400, max: 400 }).map((exponent) => `e${exponent}`),
      ),
    )
    .map((parts) => parts.join(""));
  let kept = 0;
  fc.assert(
    fc.property(number, fc.constantFrom(...places), (text, place) => {
      const json = place(text);
      const value = parseJson(json);
      const written = JSON.stringify(value);
      if (written === json.replace(/\s/g, "")) kept += 1;
      // Read as numbers go, both are the same; and no number is one that JavaScript would not hold.
      expect(JSON.parse(written)).toEqual(JSON.parse(json));
      expect(JSON.stringify(parseJson(written))).toBe(written);
      expect(() => frozenJson(value, "it")).not.toThrow();
    }),
    { numRuns: 2_000 },
  );
  if (isTelling) expect(kept).toBeGreaterThan(500);
});
