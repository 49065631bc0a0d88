import * as fc from "fast-check";
import { expect, test } from "vitest";
import { textDifference } from "../../../src/apps/studio/text-difference.ts";
import { cases } from "../../support/cases.ts";

const pieces = (before: string, after: string): string =>
  textDifference(before, after)
    .pieces.map(
      ({ op, text, more }) => `${{ same: "", del: "-", ins: "+" }[op]}${text}${more === null ? "" : `(${more.lines})`}`,
    )
    .join("|");

test("a changed word is one change, with what both sides share outside of it", () => {
  expect(pieces("I am ada@example.org. Find me a train.", "I am [email]. Find me a train.")).toBe(
    "I am |-ada@example.org|+[email]|. Find me a train.",
  );
  expect(pieces("from 99 euros", "from 99 eur [shortened]")).toBe("from 99 eur|-os|+ [shortened]");
});

test("texts that share too little are shown whole, the old and the new one", () => {
  expect(textDifference("You plan journeys.", "Réponds en français.")).toMatchObject({
    isWhole: true,
    pieces: [{ op: "del" }, { op: "ins" }],
  });
});

test("unchanged text is cut between changes, and a long change folds with all of its text", () => {
  const middle = "word ".repeat(100);
  expect(pieces(`old ${middle}end`, `new ${middle}end`)).toMatch(/^-old\|\+new\| word.*…$/);
  const gone = Array.from({ length: 40 }, (_, line) => `line ${line} of the old text`).join("\n");
  const { pieces: shown } = textDifference(`kept ${"same ".repeat(200)}${gone}`, `kept ${"same ".repeat(200)}`);
  const [del] = shown.filter(({ op }) => op === "del");
  expect((del?.text ?? "") + (del?.more?.text ?? "")).toBe(gone);
  expect(del?.more?.lines).toBe(40);
});

test("what is not cut gives both texts back, with what is folded away", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c.", " ", "\n", "dd"), { maxLength: 12 })
    .map((words) => words.join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { pieces: all } = textDifference(before, after);
      const without = (op: "del" | "ins"): string =>
        all
          .filter((piece) => piece.op !== op)
          .map(({ text, more }) => `${text}${more?.text ?? ""}`)
          .join("");
      expect([without("ins"), without("del")]).toEqual([before, after]);
    }),
    { numRuns: cases(200, 20_000, 2_000) },
  );
});

test("texts that differ in hundreds of places are shown whole, so that a difference stays below 40 kB", () => {
  const words = Array.from({ length: 1_500 }, (_, n) => `語${n}`);
  const [before, after] = [words.join(" "), words.map((word, n) => (n % 8 === 0 ? `本${n}` : word)).join(" ")];
  const difference = textDifference(before, after);
  expect(difference.isWhole).toBe(true);
  expect(Buffer.byteLength(JSON.stringify(difference))).toBeLessThan(40_000);
  const few = textDifference(before, before.replace("語7 ", "本7 "));
  expect(few).toMatchObject({ isWhole: false });
});
