import fc from "fast-check";
import { expect, test } from "vitest";
import { findFolded, foldText } from "../../src/base/fold-text.ts";

test.each([
  ["Hello", "hELLO"],
  ["STRASSE", "straße"],
  ["STRAẞE", "straße"],
  ["ΟΔΟΣ", "οδος"],
  ["e\u0301te\u0301", "ÉTÉ"],
  ["a\n\t b", "A b"],
  ["東京", "東京"],
])("%j and %j fold to the same", (left, right) => {
  expect(foldText(left)).toBe(foldText(right));
});

test("letters with and without an accent stay different", () => {
  expect(foldText("été")).not.toBe(foldText("ete"));
});

test("a folded text is folded already", () => {
  for (let point = 0; point <= 0x10_ff_ff; point += 1) {
    const letter = String.fromCodePoint(point);
    const folded = foldText(letter);
    if (foldText(folded) !== folded) expect(`${point.toString(16)}: ${foldText(folded)}`).toBe(folded);
  }
  const ofMarks = fc.constantFrom(
    "\u0130",
    "\u0149",
    "\u1fb4",
    "\u1f2e",
    "\ufb03",
    "\u03a3",
    "\u030f",
    "\u0331",
    "\u0343",
    "\u0345",
  );
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: ofMarks })), (text) => {
      expect(foldText(foldText(text))).toBe(foldText(text));
    }),
  );
});

test.each([
  ["The Weather", "weather", "Weather"],
  ["große Straße hier", "strasse", "Straße"],
  ["ß ß ß Ende", "ende", "Ende"],
  ["e\u0301 e\u0301 Ende", "ende", "Ende"],
  ["🙂 今天天气", "天气", "天气"],
])("finds the place of a word in %j", (text, folded, found) => {
  const place = findFolded(text, folded);
  expect(place === null ? null : text.slice(place.start, place.end)).toBe(found);
});

test("what is not there is not found", () => {
  expect(findFolded("weather", "train")).toBeNull();
});
