import { expect, test } from "vitest";
import { excerpt, printable } from "../../src/base/printable.ts";
import { seeds } from "../support/cases.ts";

test("cuts an excerpt between characters and says that it was cut", () => {
  expect(excerpt("one  two\nthree", 40)).toBe("one two three");
  expect(excerpt("🚆🚆🚆🚆", 3)).toBe("🚆🚆…");
  expect(excerpt("x".repeat(1_000), 5)).toBe("xxxx…");
});

test("an excerpt is the beginning of the whole text on one line, whatever the text begins with", () => {
  const pieces = ["a", "word", "x".repeat(30), " ", "  ", "\n", "\t", "…", "é", "🚆", "\u0007", "\u202e", "“", ", "];
  for (const seed of seeds(200, 2_000, 50)) {
    let state = seed;
    const next = (most: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % most;
    };
    const text = Array.from({ length: next(40) }, () => pieces[next(pieces.length)] ?? "").join("");
    const line = Array.from(printable(text).replace(/\s+/gu, " ").trim());
    for (const length of [1, 2, 5, 40, 400]) {
      // A text of more than four times the length is only looked at so far.
      if (text.length > length * 4) continue;
      const expected = line.length <= length ? line.join("") : `${line.slice(0, length - 1).join("")}…`;
      expect(excerpt(text, length), JSON.stringify({ text, length })).toBe(expected);
    }
  }
});
