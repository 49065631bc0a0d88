import { expect, test } from "vitest";
import { TextIndex } from "../../../src/operations/erasure/text-index.ts";
import { cases, firstSeed } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";

const draws = cases(40, 20_000, 400);

test(`finds in ${draws} drawn contents what a search for each text by itself finds (seed ${firstSeed})`, () => {
  const { below } = createRandom(firstSeed);
  // Few letters, so that many texts begin alike and overlap.
  const letters = (length: number): string => Array.from({ length }, () => "ab\u00e4\ud83d\ude00"[below(5)]).join("");
  const seen = { found: 0, missed: 0, many: 0 };
  for (let n = 0; n < draws; n += 1) {
    const texts = Array.from({ length: 1 + below(80) }, () => letters(6 + below(40)));
    const index = new TextIndex(texts);
    if (new Set(texts).size > 32) seen.many += 1;
    for (let content = 0; content < 20; content += 1) {
      const around = content % 2 === 0 ? (texts[below(texts.length)] ?? "") : "";
      const said = `${letters(below(60))}${around.slice(below(2))}${letters(below(60))}`;
      const isThere = texts.some((text) => said.includes(text));
      expect({ said, isThere: index.isIn(said) }).toEqual({ said, isThere });
      seen[isThere ? "found" : "missed"] += 1;
    }
  }
  expect(Math.min(seen.found, seen.missed, seen.many)).toBeGreaterThan(draws / 4);
});

test("looks texts up only where one begins as the content does, however many begin alike", () => {
  const comparedWith = (count: number): number => {
    const texts = Array.from({ length: count }, (_, n) => `a text of its own: ${String(n).padStart(6, "0")}`);
    const index = new TextIndex(texts);
    for (let n = 0; n < 100; n += 1) {
      expect(index.isIn(`another content of some length, which says ${n}`)).toBe(false);
      expect(index.isIn(`this begins as a text of its own: ${String(n).padStart(5, "0")}!`)).toBe(false);
    }
    expect(index.isIn("and here: a text of its own: 000007!")).toBe(true);
    return index.compared;
  };
  expect([40, 2_000, 20_000].map(comparedWith)).toEqual([101, 101, 101]);
});

test("an empty text is in every content, as for a search of it alone", () => {
  for (const count of [0, 100])
    expect(new TextIndex(["", ...Array.from({ length: count }, (_, n) => `text ${n}`)]).isIn("anything")).toBe(true);
});
